package record_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

// queues are records whose keys do not say all captures.
const queues = `keywright: 1
vars: {g: "/[0-9]{3,20}/", c: "/[0-9]{3,20}/"}
keys:
  guilds: {key: guilds, type: set, member: g, ttl: none}
  waiting: {key: "w:{g}:{c}", type: hash, field: text, value: json, ttl: none}
  order: {key: "w:{g}:{c}:order", type: zset, member: text, score: unix_ms, ttl: none}
  seen: {key: "s:{g}", type: zset, member: text, score: unix_s, ttl: none}
  channels: {key: "c:{g}", type: hash, field: text, value: c, ttl: none}
migrations:
  files:
    sources: {news: {file: news.json}}
    parts:
      all:
        moves:
          - {from: "news:/{g}", to: guilds, except: {g: [global, test]}, member: "{g}"}
          - {from: "news:/{g}/waiting/{c}/{feed}/[]", to: waiting, except: {g: [global, test]}, field: .id, value: ., kept: {feed: .feed}}
          - {from: "news:/{g}/waiting/{c}/{feed}/[]", to: order, except: {g: [global, test]}, member: .id, score: unix_ms(.at)}
          - {from: "news:/{g}/seen/[]", to: seen, except: {g: [global, test]}, member: ., score: place()}
          - {from: "news:/{g}/channels/{topic}", to: channels, except: {g: [global, test]}, field: "{topic}", value: id(.)}
`

const news = `{
  "global": {"waiting": {"9": {"x": [{"id": 1}]}}},
  "123": {
    "waiting": {"456": {"San Diego": [{"id": "a", "feed": "San Diego", "at": 5}]}},
    "seen": ["x", "y"],
    "channels": {"war": 1183090215447142410, "sport": "1183090215447142411"}
  },
  "124": {}
}
`

// TestCapturesThatTheKeyDoesNotSay: what is left out, what only captures make,
// places as scores, ids in both forms.
func TestCapturesThatTheKeyDoesNotSay(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, queues)
	s := m.Sources[0]
	got, err := read(t, s, "news.json", news, record.Options{MaxRecord: 1000})
	want := []string{
		`all.waiting w:123:456 a = {"id":"a","feed":"San Diego","at":5}`, `all.order w:123:456:order a at 5`,
		`all.seen s:123 x at 0`, `all.seen s:123 y at 1`,
		`all.channels c:123 war = 1183090215447142410`, `all.channels c:123 sport = 1183090215447142411`,
		`all.guilds guilds 123`, `all.guilds guilds 124`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, c := range []struct {
		name     string
		old, new string
		edits    []record.Edit
	}{
		{"a story of a feed that is not there", `"at": 5}]}}`, `"at": 5}], "Rom": [{"id": "b", "feed": "Rom", "at": 7}]}}`,
			[]record.Edit{
				set(m, "all.order", record.Record{Key: "w:123:456:order", Sub: "b", Score: "7"}),
				set(m, "all.waiting", record.Record{Key: "w:123:456", Sub: "b", Value: []byte(`{"id":"b","feed":"Rom","at":7}`)})}},
		{"a score that the file has not", `["x", "y"]`, `["x", "y", "z"]`,
			[]record.Edit{set(m, "all.seen", record.Record{Key: "s:123", Sub: "y", Score: "1795168800"}),
				set(m, "all.seen", record.Record{Key: "s:123", Sub: "z", Score: "1795168801"})}},
		{"an id", `142411"`, `142412"`,
			[]record.Edit{set(m, "all.channels",
				record.Record{Key: "c:123", Sub: "sport", Value: []byte("1183090215447142412")}),
				set(m, "all.channels", record.Record{Key: "c:123", Sub: "war", Value: []byte("1183090215447142410")})}},
		{"a guild that holds others", "", "", []record.Edit{deletion(m, "all.guilds", record.Record{Key: "guilds", Sub: "123"})}},
		{"an empty guild", ",\n  \"124\": {}", "",
			[]record.Edit{deletion(m, "all.guilds", record.Record{Key: "guilds", Sub: "124"})}},
		{"a new guild", "\"124\": {}", "\"124\": {},\n  \"125\": {}",
			[]record.Edit{set(m, "all.guilds", record.Record{Key: "guilds", Sub: "125"})}},
	} {
		got, _, err := rewrite(t, s, "news.json", news, nil, c.edits...)
		if diff := cmp.Diff(strings.Replace(news, c.old, c.new, 1), got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", c.name, diff, err)
		}
	}
	a := &record.Record{Move: m.Move("all.seen"), Key: "s:123", Sub: "x", Score: "1"}
	b := &record.Record{Move: a.Move, Key: "s:123", Sub: "x", Score: "1795168800"}
	if d := a.Move.Compare(a, b, today, 0); len(d) > 0 || a.Digest() != b.Digest() {
		t.Errorf("a place is compared with a time: %v", d)
	}
}

// TestCapturesAloneAreNotHeld: a match of captures alone may be larger than any
// record.
func TestCapturesAloneAreNotHeld(t *testing.T) {
	t.Parallel()
	s := declared.Map(t, queues).Sources[0]
	doc := `{"123": {"other": [` + strings.Repeat(`"0123456789",`, 100000) + `1]}}`
	got, err := read(t, s, "news.json", doc, record.Options{MaxRecord: 4096})
	if err != nil || len(got) != 1 || got[0] != "all.guilds guilds 123" {
		t.Error(got, err)
	}
	var out bytes.Buffer
	if _, err := s.Rewrite(&out, strings.NewReader(doc), "news.json", nil, nil, record.Options{}); err != nil ||
		out.String() != doc {
		t.Error(err)
	}
}
