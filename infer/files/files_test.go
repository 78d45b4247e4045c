package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/infer/files"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/migrate/record"
)

func loaded(text []byte) (*keyspace.Keyspace, []finding.Finding) {
	return load.File(fstest.MapFS{"k.yaml": {Data: text}}, "k.yaml")
}

func texts(of map[string]string) (out []files.File) {
	for name, text := range of {
		out = append(out, files.File{Name: name, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}})
	}
	return out
}

// draft drafts, and holds that the draft loads, that lint finds nothing in it, and that every
// record of the files can be moved.
func draft(t *testing.T, of map[string]string, known string) string {
	t.Helper()
	o := files.Options{Load: loaded, File: "k.yaml"}
	if known != "" {
		ks, findings := loaded([]byte(known))
		if finding.Count(findings).Errors > 0 {
			t.Fatal(findings)
		}
		o.Known, o.Original = ks, []byte(known)
	}
	d, err := files.Build(context.Background(), texts(of), o)
	if err != nil {
		t.Fatal(err)
	}
	out := d.YAML()
	ks, findings := loaded(out)
	if finding.Count(findings).Errors == 0 {
		findings = lint.Run(ks)
	}
	for _, f := range findings {
		if f.Severity != finding.Note && f.Code != "KW351" {
			t.Errorf("%d: %s %s\n%s", f.Pos.Line, f.Code, f.Message, out)
		}
	}
	if t.Failed() || len(ks.Migrations) == 0 {
		return string(out)
	}
	m, err := record.Compile(ks.Migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range of {
		for _, s := range m.Sources {
			if _, ok := s.Match(name); ok {
				comesBack(t, s, name, text)
			}
		}
	}
	return string(out)
}

// comesBack makes each record of a file, and the file of the records again.
func comesBack(t *testing.T, s *record.Source, name, text string) {
	t.Helper()
	var edits []record.Edit
	_, err := s.Read(strings.NewReader(text), name, record.Options{}, func(m *record.Match) error {
		for _, mv := range m.Moves {
			r, err := mv.Record(m)
			if err != nil {
				t.Errorf("%v", err)
			} else if r != nil {
				edits = append(edits, record.Edit{Record: r})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var again strings.Builder
	if _, err := s.Rewrite(&again, strings.NewReader(text), name, edits, nil, record.Options{}); err != nil {
		t.Errorf("%s: %v", name, err)
	} else if again.String() != text {
		t.Errorf("%s is written back as\n%s", name, again.String())
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (%v); KEYWRIGHT_UPDATE=1 writes it:\n%s", path, err, got)
	}
}

// bot returns files with what makes a draft hard: ids and titles as names, one name that is a word
// beside ids, ids that are numbers in one place and texts in another, times of three kinds, members
// that say again what they are in, arrays, lines, and a folder of files.
func bot() map[string]string {
	out := map[string]string{
		"app_state.json": `{"global": {"default_persona": "kind"},
 "800000000000000001": {"default_persona": "dry", "rss_feeds": {"San Diego": {"url": "u", "channel_id": 900000000000000007}},
  "rss_seen": {"san_diego": {"https://n.example/1": 1795000000}}, "topics": ["storm"],
  "trivia_games": {"game-1": {"question": "q", "channel_id": 900000000000000007, "started_at": 1795000000, "ends_at": 1795000600,
   "submissions": {"700000000000000001": {"answer": "a"}}}}},
 "800000000000000002": {"rss_feeds": {"BBC World": {"url": "v", "channel_id": 900000000000000008}},
  "rss_seen": {"bbc_world": {"https://n.example/2": 1795000500}}, "topics": ["storm", "quake"],
  "trivia_games": {"game-2": {"question": "q", "channel_id": 900000000000000008, "started_at": 1795000000, "ends_at": 1795000700,
   "submissions": {}}}}}
`,
		"pending_news.json": `{"800000000000000001": {"900000000000000007": {"BBC World": [
  {"id": "ab12", "feed": "BBC World", "queued_at": "2026-11-20T10:00:00.5Z"},
  {"id": "cd34", "feed": "BBC World", "queued_at": "2026-11-20T11:00:00Z"}]}}}
`,
		"story_history.json": `{"800000000000000001": {"stories": {
  "9f3c27ab00112233": {"title": "t", "posted_at": "2026-11-20T10:00:00Z"},
  "aabbccdd00112233": {"title": "u", "posted_at": "2026-11-20T11:00:00Z"}}}}
`,
		"settings.json": `{"retries": 3, "name": "bot", "debug": false}
`,
		"sessions.json": `{"s-1": {"user": "u1", "created_at": 1795000000, "expires_at": 1795003600},
 "s-2": {"user": "u2", "created_at": 1795000100, "expires_at": 1795003000}}
`,
		"log.jsonl": "{\"at\": \"2026-11-20T10:00:00Z\", \"what\": \"begun\"}\n{\"at\": \"2026-11-20T10:00:01Z\", " +
			"\"what\": null}\n",
	}
	for i := range 3 {
		out[fmt.Sprintf("guilds/80000000000000000%d.json", i)] = fmt.Sprintf(
			"{\"words\": [\"b\", \"a\", \"b\"], \"n\": %d.50}\n", i)
	}
	return out
}

func TestEntriesAreDrafted(t *testing.T) {
	got := draft(t, bot(), "")
	golden(t, "own.yaml", got)
	if again := draft(t, bot(), ""); again != got {
		t.Error("the same files give another draft")
	}
}

const declaredKeys = `keywright: 1
package: bot
owner: bot
vars: {guild_id: "/(global|[0-9]{17,20})/", channel_id: "/[0-9]{6,20}/", user_id: "/[0-9]{6,20}/", feed_name: slug}
keys:
  guild_persona: {key: "guild:{guild_id}:config:default_persona", type: string, value: text, ttl: none}
  rss_feeds: {key: "rss:{guild_id}:feeds", type: hash, field: text max 100, value: json, ttl: none}
  rss_seen: {key: "rss:{guild_id}:feed:{feed_name}:seen", type: zset, member: text, score: unix_s, ttl: none}
  rss_pending: {key: "rss:{guild_id}:pending:{channel_id}", type: hash, field: slug, value: json, ttl: 2d}
  rss_pending_order:
    {key: "rss:{guild_id}:pending:{channel_id}:order", type: zset, member: slug, score: unix_ms, ttl: 2d}
  topics: {key: "breaking:{guild_id}:topics", type: set, member: text, ttl: none}
  trivia_game:
    key: trivia:{guild_id}:game:{game_id}
    type: hash
    fields: {question: text, channel_id: channel_id, started_at: unix_s, message_id: text optional}
    ttl: 24h
  trivia_submissions: {key: "trivia:{guild_id}:game:{game_id}:submissions", type: hash, field: user_id, value: json, ttl: 24h}
  trivia_active: {key: "trivia:{guild_id}:games:active", type: zset, member: slug, score: unix_s, ttl: 2d}
  trivia_played: {key: "trivia:{guild_id}:games:played", type: zset, member: slug, score: unix_s, ttl: 30d}
  history_story: {key: "history:{guild_id}:story:{story_hash}", type: string, value: json, ttl: 24h}
  daily_posted: {key: "daily:{guild_id}:posted:{day}", type: hash, field: text, value: text, ttl: 3d}
`

func TestMovesToDeclaredEntries(t *testing.T) {
	golden(t, "declared.yaml", draft(t, bot(), declaredKeys))
}

func TestWhatCannotBeRead(t *testing.T) {
	for text, at := range map[string]string{
		`{"a": 1, "a": 2}`:       "x.json:1:10",
		"{\"a\": \n [1, }":       "x.json:2:6",
		strings.Repeat("[", 600): "x.json:1:513",
		`{"a": 1e400}`:           "x.json:1:7",
		"{\"a\": \"\xff\"}":      "x.json:1:8",
	} {
		_, err := files.Build(t.Context(), texts(map[string]string{"x.json": text}),
			files.Options{Load: loaded, File: "k.yaml"})
		var bad *record.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), at) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// An object of many names, and documents of many places, are drafted in bounded memory.
func TestManyNames(t *testing.T) {
	var many, deep strings.Builder
	many.WriteString(`{"users": {`)
	for i := range 3000 {
		fmt.Fprintf(&many, `"user%d": {"name": "n%d"},`, i, i)
	}
	many.WriteString(`"last": {"name": "x"}}}`)
	deep.WriteString(`{`)
	for i := range 400 {
		fmt.Fprintf(&deep, `"f%d": {`, i)
		for k := range 60 {
			fmt.Fprintf(&deep, `"m%d": {"x%d": [1], "y": "t"},`, k, i)
		}
		deep.WriteString(`"z": 1},`)
	}
	deep.WriteString(`"z": 1}`)
	got := draft(t, map[string]string{"many.json": many.String()}, "")
	if !strings.Contains(got, "many:/users/{") || strings.Contains(got, "user17") {
		t.Error(got)
	}
	if got := draft(t, map[string]string{"deep.json": deep.String()}, ""); !strings.Contains(got,
		"more places than a draft remembers") {
		t.Error(got[:min(len(got), 3000)])
	}
}

// TestMorePlacesThanAreRemembered: arrays in arrays of which nothing is remembered are none that a
// draft falls over, and that some places are not in it is said.
func TestMorePlacesThanAreRemembered(t *testing.T) {
	word := func(n int) string { return "w" + string(rune('a'+n/26)) + string(rune('a'+n%26)) }
	document := func(deep int, last string) string {
		var out strings.Builder
		out.WriteString("{")
		for group := range 8 {
			fmt.Fprintf(&out, `"%s": {"note": "text"`, word(group))
			for n := range 200 {
				text := strings.Repeat("[", deep) + strings.Repeat("]", deep)
				if n >= 190 {
					text = last
				}
				fmt.Fprintf(&out, `, "%s": %s`, word(n), text)
			}
			out.WriteString("}, ")
		}
		return strings.TrimSuffix(out.String(), ", ") + "}"
	}
	d, err := files.Build(t.Context(), texts(map[string]string{"guilds/1.json": document(1, "[]"),
		"guilds/2.json": document(40, "[[]"+strings.Repeat(", []", 32)+"]")}), files.Options{Load: loaded, File: "k.yaml"})
	if err != nil || !strings.Contains(fmt.Sprint(d.Left), "more places than a draft remembers") {
		t.Errorf("%v %v", d, err)
	}
}

// TestWhatIsNotDraftedIsIgnored: what no move of a draft reads is ignored in it by its path, so that a plan of the
// same files finds nothing else, and finds what comes later.
func TestWhatIsNotDraftedIsIgnored(t *testing.T) {
	const (
		known = "keywright: 1\nkeys:\n  persona: {key: \"persona:{guild}\", type: string, value: text, ttl: none}\n"
		app   = `{"persona": {"123456": "x", "654321": "y"}, "reminders": {"123456": [{"at": 1}]}, "version": 3}`
	)
	ks, _ := loaded([]byte(known))
	d, err := files.Build(t.Context(), texts(map[string]string{"app.json": app}),
		files.Options{Load: loaded, File: "k.yaml", Known: ks, Original: []byte(known)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{from: "app:/reminders", reason: `, `{from: "app:/version", reason: `} {
		if !strings.Contains(string(d.YAML()), want) {
			t.Fatalf("no %s in\n%s", want, d.YAML())
		}
	}
	drafted, findings := loaded(d.YAML())
	if finding.Count(findings).Errors > 0 {
		t.Fatal(findings)
	}
	m, err := record.Compile(drafted.Migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int64{app: 0, strings.Replace(app, `{"persona"`, `{"later": 1, "persona"`, 1): 1} {
		c := record.Coverages{}.Of("app")
		_, err := m.Source("app").Read(strings.NewReader(text), "app.json", record.Options{Coverage: c},
			func(*record.Match) error { return nil })
		if err != nil || c.Unread.Values != want || c.Misshapen > 0 {
			t.Errorf("%s: %+v %v", text, c, err)
		}
	}
}
