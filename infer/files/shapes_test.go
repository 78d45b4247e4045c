package files_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/migrate/record"
)

// shapes are forms that files of public bots and scripts have; ids and texts are made up.
var shapes = map[string]string{
	"a prefix for each guild": `{"800000000000000001": "!", "800000000000000002": "??", "800000000000000003": "$"}`,
	"warnings of users in guilds": `{"800000000000000001": {"700000000000000001": [
  {"reason": "spam", "moderator": 700000000000000009, "time": "2026-11-20T10:00:00+00:00"}],
  "700000000000000002": []}, "800000000000000002": {"700000000000000001": [{"reason": "caf\u00e9", "moderator": 1,
  "time": "2026-11-20T11:00:00+00:00"}]}}`,
	"levels": `{"800000000000000001": {"700000000000000001": {"xp": 1250, "level": 7, "last": 1795000000.25},
  "700000000000000002": {"xp": 0, "level": 1, "last": 1795000100.5}},
  "800000000000000002": {"700000000000000003": {"xp": 3, "level": 1, "last": 1795000200.125}}}`,
	"roles by a message and an emoji": `{"900000000000000001": {"👍": 600000000000000001, "<:ok:123456789012345678>":
  600000000000000002}, "900000000000000002": {"🎮": 600000000000000003}}`,
	"a list of reminders": `[
  {"id": 1, "user": 700000000000000001, "channel": 900000000000000001, "when": 1795000000, "text": "tea"},
  {"id": 2, "user": 700000000000000002, "channel": 900000000000000001, "when": 1795003600, "text": ""}
]`,
	"a shop with accounts": `{"users": [{"id": "700000000000000001", "balance": 100, "inventory":
  [{"item": "sword", "n": 1}]}, {"id": "700000000000000002", "balance": 0, "inventory": []}],
  "items": {"sword": {"price": 50}, "shield": {"price": 70}}}`,
	"chats with negative ids": `{"last_update_id": 123456, "chats": {"-1001234567890": {"lang": "en", "admins": [1, 2]},
  "-1009876543210": {"lang": "de", "admins": []}, "42": {"lang": "fr", "admins": [3]}}}`,
	"settings": `{"version": 2, "features": {"music": true, "levels": false}, "blacklist": ["a", "b"], "owner": null,
  "rates": {"hour": 1.50, "day": 1e3}}`,
	"feeds with what was seen": `{"feeds": [{"url": "https://n.example/a.rss", "etag": null, "seen": ["g1", "g2"]},
  {"url": "https://n.example/b.rss", "etag": "\"x\"", "seen": []}]}`,
	"tables of numbered documents": `{"_default": {"1": {"name": "x", "n": 1}, "2": {"name": "y", "n": 2}},
  "tags": {"1": {"tag": "faq", "text": "read it"}}}`,
	"posts and a profile": `{"posts": [{"id": 1, "title": "one"}, {"id": 2, "title": "two"}],
  "comments": [{"id": 1, "post": 1, "body": "b"}], "profile": {"name": "me"}}`,
	"polls and timers": `{"timers": {"daily": "08:30", "weekly": "Mon 09:00"}, "polls": [{"question": "q", "options":
  {"yes": ["u1"], "no": []}, "closed": false}]}`,
}

// TestPublicShapes: of each form a draft loads, lint has nothing against it, each record comes back into the file as it
// was, and the moves and what is ignored are all there is.
func TestPublicShapes(t *testing.T) {
	for name, text := range shapes {
		t.Run(name, func(t *testing.T) {
			for spelt, text := range map[string]string{"as it is": text + "\n",
				"in one line": strings.ReplaceAll(text, "\n", "") + "\n",
				"with tabs":   strings.ReplaceAll(text, "\n  ", "\n\t") + "\n"} {
				out := draft(t, map[string]string{"data.json": text}, "")
				if t.Failed() {
					t.Fatalf("%s:\n%s", spelt, out)
				}
				ks, findings := loaded([]byte(out))
				if finding.Count(findings).Errors > 0 || len(ks.Migrations) == 0 {
					t.Fatalf("%s: nothing is moved\n%s", spelt, out)
				}
				m, err := record.Compile(ks.Migrations[0])
				if err != nil {
					t.Fatal(err)
				}
				records := 0
				for _, s := range m.Sources {
					c := record.Coverages{}.Of(s.Name)
					_, err := s.Read(strings.NewReader(text), "data.json", record.Options{Coverage: c},
						func(m *record.Match) error { records += len(m.Moves); return nil })
					if err != nil || c.Unread.Values > 0 || c.Misshapen > 0 {
						t.Errorf("%s: %v, %v not read: %s\n%s", spelt, err, c.Unread, fmt.Sprint(c.Places), out)
					}
				}
				if records == 0 {
					t.Errorf("%s: no record is moved\n%s", spelt, out)
				}
			}
		})
	}
}
