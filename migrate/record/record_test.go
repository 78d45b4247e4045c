package record_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/migrate/record"
)

// bot is the declaration of most tests: every kind of record.
const bot = `keywright: 1
vars: {g: "/(global|[0-9]{3,20})/", c: int, feed: slug, u: "/[0-9]{3,20}/"}
keys:
  persona: {key: "p:{g}", type: string, value: text, ttl: none}
  feeds: {key: "f:{g}", type: hash, field: text, value: json, ttl: none}
  seen: {key: "s:{g}:{feed}", type: set, member: text, ttl: none}
  stories: {key: "h:{g}:{c}", type: zset, member: text, score: unix_s, ttl: none}
  story: {key: "h:{g}:story:{hash}", type: string, value: json, ttl: 2d}
  game: {key: "t:{g}:{game}", type: entity, ttl: 1d, fields: {q: text, ends: unix_s, n: int optional, open: bool optional, options: json}}
  answers: {key: "t:{g}:{game}:answers", type: hash, field: u, value: json, ttl: 1d}
  jobs: {key: "b:{g}", type: queue, value: json, ttl: none}
  words: {key: "w:{g}", type: list, member: text, ttl: none}
  schedule: {key: "d:{g}", type: zset, member: text, score: int 0..1439, ttl: none}
  log: {key: "log:{g}", type: stream, fields: {at: unix_ms, what: text}, maxlen: 1000, ttl: none}
migrations:
  files:
    sources:
      state: {file: state.json}
      guild: {file: "guilds/{g}.json"}
      log: {file: log.jsonl, format: lines}
    parts:
      history:
        moves:
          - from: state:/history/{g}/{c}/stories/[]
            to: stories
            member: .hash
            score: iso8601(.at)
          - from: state:/history/{g}/{c}/stories/[]
            to: story
            with: {hash: .hash}
            value: .
            ttl: {from: iso8601(.at), over: skip}
      settings:
        moves:
          - {from: "state:/guilds/{guild}/persona", to: persona, with: {g: "rename({guild}, None=global)"}, value: .}
          - {from: "state:/guilds/{guild}/feeds/{name}", to: feeds, with: {g: "rename({guild}, None=global)"}, field: "{name}", value: .}
          - {from: "state:/guilds/{guild}/feeds/{name}/seen/[]", to: seen, with: {g: "rename({guild}, None=global)", feed: "slug({name})"}, member: ., kept: {name: feeds}}
          - {from: "guild:/games/{game}", to: game, fields: {ends: unix_s(.ends_at)}}
          - {from: "guild:/games/{game}/answers/{u}", to: answers, field: "{u}", value: .}
          - {from: "guild:/words/[]", to: words, member: .}
          - {from: "guild:/daily/{name}", to: schedule, member: "{name}", score: "minutes(.hour, .minute)"}
          - {from: "guild:/jobs/[]", to: jobs, value: .article, tries: "default(.tries, 0)"}
          - {from: "log:/[]", to: log, with: {g: .guild}}
    compare:
      - {entry: story, field: .tags, as: set}
      - {entry: story, field: .seen, as: ignore, owner: bots, until: 2027-01-01}
      - {entry: story, field: .at, as: instant}
`

// show returns a record in one line.
func show(r *record.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Move.Name, r.Key)
	if r.Sub != "" {
		fmt.Fprintf(&b, " %s", r.Sub)
	}
	if r.Score != "" {
		fmt.Fprintf(&b, " at %s", r.Score)
	}
	if r.Value != nil {
		fmt.Fprintf(&b, " = %s", r.Value)
	}
	for _, f := range r.Fields {
		fmt.Fprintf(&b, " %s=%s", f.Name, f.Value)
	}
	if r.Tries > 0 {
		fmt.Fprintf(&b, " tried %d", r.Tries)
	}
	if !r.Ends.IsZero() {
		fmt.Fprintf(&b, " until %s", r.Ends.UTC().Format("2006-01-02T15:04:05Z"))
	}
	return b.String()
}

// read gives the records of a document, and its rejects.
func read(t testing.TB, s *record.Source, file, doc string, opt record.Options) (out []string, err error) {
	t.Helper()
	_, err = s.Read(strings.NewReader(doc), file, opt, func(m *record.Match) error {
		for _, mv := range m.Moves {
			r, err := mv.Record(m)
			var reject *record.Reject
			if errors.As(err, &reject) {
				out = append(out, "! "+reject.Error()+" at "+reject.Path)
				continue
			}
			if err != nil {
				return err
			}
			out = append(out, show(r))
		}
		return nil
	})
	return out, err
}

const state = `{
  "history": {"123": {"77": {"stories": [
    {"hash": "ab", "at": "2026-11-20T10:00:00Z", "id": 9007199254740993, "x": null},
    {"hash": "cd", "at": "2026-11-20T10:00:00.5+01:00"},
    {"at": 3}
  ]}}},
  "guilds": {
    "None": {"persona": "caf\u00e9"},
    "456": {"persona": 7, "feeds": {"San Diego": {"url": "u", "seen": ["x", "y"]}}},
    "global": {"persona": "x"}
  },
  "other": [1, {"a": []}]
}`

func TestRecords(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, bot)
	got, err := read(t, m.Source("state"), "state.json", state, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`history.stories h:123:77 ab at 1795168800`,
		`history.story h:123:story:ab = {"hash":"ab","at":"2026-11-20T10:00:00Z","id":9007199254740993,"x":null} until 2026-11-22T10:00:00Z`,
		`history.stories h:123:77 cd at 1795165200`,
		`history.story h:123:story:cd = {"hash":"cd","at":"2026-11-20T10:00:00.5+01:00"} until 2026-11-22T09:00:00Z`,
		`! state.json:5:5: history.stories: member (.hash) is not there at /history/123/77/stories/2`,
		`! state.json:5:5: history.story: hash (.hash) is not there at /history/123/77/stories/2`,
		`settings.persona p:global = café`,
		`! state.json:9:24: settings.persona: value (.) is a number, and text is a text; number(…) takes its digits at /guilds/456/persona`,
		`settings.seen s:456:san_diego x`,
		`settings.seen s:456:san_diego y`,
		`settings.feeds f:456 San Diego = {"url":"u","seen":["x","y"]}`,
		`! state.json:10:27: settings.persona: g (rename({guild}, None=global)) is a word that another one is renamed to at /guilds/global/persona`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecordsOfOtherKinds(t *testing.T) {
	t.Parallel()
	m := declared.Map(t, bot)
	doc := `{"games": {"g1": {"q": "?", "ends_at": 1795168800.75, "options": ["a"], "open": true, "answers": {"900": {"t": 1}}}, "g2": {"q": "?"}},
 "words": ["one", "two"], "daily": {"wordle": {"hour": 9, "minute": 30}}, "jobs": [{"article": {"a": 1.0}, "tries": 2}, {"article": 1}]}`
	got, err := read(t, m.Source("guild"), "guilds/123.json", doc, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`settings.answers t:123:g1:answers 900 = {"t":1}`,
		`settings.game t:123:g1 q=? ends=1795168800 open=true options=["a"]`,
		`! guilds/123.json:1:124: settings.game: ends (unix_s(.ends_at)) is not there, and the field is not optional at /games/g2`,
		`settings.words w:123 = one`, `settings.words w:123 = two`,
		`settings.schedule d:123 wordle at 570`,
		`settings.jobs b:123 = {"a":1.0} tried 2`, `settings.jobs b:123 = 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = read(t, m.Source("log"), "log.jsonl",
		"{\"guild\": \"123\", \"at\": 1, \"what\": \"x\"}\n\n{\"guild\": \"123\", \"at\": 2, \"what\": \"y\"}",
		record.Options{})
	if diff := cmp.Diff([]string{`settings.log log:123 at=1 what=x`, `settings.log log:123 at=2 what=y`},
		got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
