package migrate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/declared"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

const bot = `keywright: 1
vars: {g: "/[0-9]{3,20}/", c: int}
keys:
  persona: {key: "p:{g}", type: string, value: text, ttl: none}
  feeds: {key: "f:{g}", type: hash, field: text, value: json, ttl: none}
  stories: {key: "h:{g}:{c}", type: zset, member: text, score: unix_s, ttl: none}
  story: {key: "h:{g}:story:{hash}", type: string, value: json, ttl: 2d}
  words: {key: "w:{g}", type: list, member: text, ttl: none}
  schedule: {key: "d:{g}", type: zset, member: text, score: int 0..1439, ttl: none}
migrations:
  files:
    sources:
      state: {file: state.json}
      guild: {file: "guilds/{g}.json"}
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
          - {from: "state:/guilds/{g}/persona", to: persona, value: .}
          - {from: "state:/guilds/{g}/feeds/{name}", to: feeds, field: "{name}", value: .}
          - {from: "guild:/words/[]", to: words, member: .}
          - {from: "guild:/daily/{name}", to: schedule, member: "{name}", score: "minutes(.hour, .minute)"}
    ignore: [{from: "state:/other", reason: it is of another program}]
`

var declaredMap = declared.Map

func openDeclared(t testing.TB, root, url string, m *record.Map) *migrate.Migration {
	t.Helper()
	out, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: m, Client: dial(t, url),
		Lease: 2 * time.Second, Wait: 5 * time.Second,
		Shadow: migrate.ShadowConfig{Settle: 20 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	return out
}

func writeFile(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A declared migration goes the whole way with the documents of its declaration: parts in
// their order, bytes that no change touches kept, a time that TTLs count from.
func TestDeclaredMigration(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always"))
	c := dial(t, server.URL())
	root := t.TempDir()
	now := time.Now().UTC().Truncate(time.Second)
	story := func(hash string, at time.Time) string {
		return fmt.Sprintf(`{"hash": %q, "at": %q, "id": 9007199254740993}`, hash, at.Format(time.RFC3339))
	}
	state := `{"history": {"123": {"77": {"stories": [` + story("ab", now.Add(-time.Hour)) + `, ` + story("old",
		now.Add(-72*time.Hour)) + `]}}},
  "guilds": {"456": {"persona": "caf\u00e9", "feeds": {"San Diego": {"url":  "u", "n": 1.0}}}}, "other": [1,
	{"a": []}]}
`
	writeFile(t, root, "state.json", state)
	writeFile(t, root, "guilds/456.json", `{"words": ["b", "a", "b"], "daily": {"news": {"hour": 7, "minute": 30}}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	all := func(do func(part string)) { do("history"); do("settings") }
	all(func(part string) {
		p, err := m.Plan(t.Context(), part)
		if err != nil || !p.RoundTrip || p.Rejected > 0 || p.Faulty > 0 {
			t.Fatalf("%s: %+v %v", part, p, err)
		}
	})
	if _, err := m.Advance(t.Context(), "settings", migrate.ChangeOptions{}); err == nil ||
		!strings.Contains(err.Error(), "comes first") {
		t.Errorf("the parts are out of order: %v", err)
	}
	for range 2 {
		all(func(part string) {
			if _, err := m.Advance(t.Context(), part, migrate.ChangeOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	all(func(part string) {
		for n := range 2 {
			r, err := m.Import(t.Context(), part, migrate.ImportOptions{})
			if err != nil || r.Rejected > 0 || n == 1 && r.Written > 0 {
				t.Fatalf("%s: %+v %v", part, r, err)
			}
		}
		Run(t, m, part)
	})
	status, err := m.Status(t.Context())
	if err != nil || len(status) != 2 || status[0].Part != "history" || status[1].State.Phase != phase.Backfill ||
		len(status[1].Processes) != 1 {
		t.Errorf("%+v %v", status, err)
	}
	all(func(part string) { to(t, m, part, phase.Shadow) })
	var closed *migrate.GateError
	if _, err := m.Advance(t.Context(), "history", migrate.ChangeOptions{}); !errors.As(err,
		&closed) || len(closed.Closed) < 3 {
		t.Errorf("the declared gates are open: %v", err)
	}
	{
		all(func(part string) {
			to(t, m, part, phaseOf(t, m, part)+1)
			Run(t, m, part)
		})
	}
	ttl, err := c.Raw().Do(t.Context(), c.Raw().B().Pexpiretime().Key("h:123:story:ab").Build()).AsInt64()
	if want := now.Add(47 * time.Hour).UnixMilli(); err != nil || ttl != want {
		t.Errorf("the story ends at %d, want %d (%v)", ttl, want, err)
	}
	after, err := os.ReadFile(filepath.Join(root, "state.json"))
	if err != nil || string(after) != state {
		t.Errorf("the file has changed: %v\n%s", err, after)
	}
	id := record.ID{Move: "settings.persona", Key: "p:456"}
	read, err := m.Read(t.Context(), id)
	if err != nil || len(read) != 1 || string(read[0].Value) != "café" {
		t.Fatalf("%v %v", read, err)
	}
	read[0].Value = []byte("another")
	if err := m.Write(t.Context(), migrate.Change{ID: id, Records: read}); err != nil {
		t.Fatal(err)
	}
	after, _ = os.ReadFile(filepath.Join(root, "state.json"))
	if want := strings.Replace(state, `"caf\u00e9"`, `"another"`, 1); string(after) != want {
		t.Errorf("the file is\n%s\nwant\n%s", after, want)
	}
	all(func(part string) { to(t, m, part, phase.Complete) })
	for _, part := range []string{"settings", "history"} {
		to(t, m, part, phase.Off)
	}
}

func Run(t *testing.T, m *migrate.Migration, part string) {
	t.Helper()
	r, err := m.Verify(t.Context(), part, migrate.VerifyOptions{})
	if err != nil || !r.Whole() {
		t.Fatalf("%s: %+v %v", part, r, err)
	}
}

func phaseOf(t *testing.T, m *migrate.Migration, part string) phase.Phase {
	t.Helper()
	is, err := m.Phase(part)
	if err != nil {
		t.Fatal(err)
	}
	return is.Phase
}

// What is wrong with a document is said with its line and column, and opens no gate.
func TestDamagedDocuments(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	for name, text := range map[string]string{
		"cut off":        `{"guilds": {"456": {"persona": "x"`,
		"a member twice": "{\n \"guilds\": {\"456\": {\"persona\": \"x\", \"persona\": \"y\"}}}",
		"no UTF-8":       "{\"guilds\": {\"456\": {\"persona\": \"\xff\"}}}",
		"1e400":          `{"guilds": {"456": {"persona": "x", "feeds": {"a": 1e400}}}}`,
		"nested":         `{"other": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		"no number":      `{"guilds": {"456": {"persona": 7}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			writeFile(t, root, "state.json", text)
			m := openDeclared(t, root, server.URL(), declaredMap(t, strings.Replace(bot, "  files:\n",
				fmt.Sprintf("  f%d:\n", len(name)+len(text)), 1)))
			p, err := m.Plan(t.Context(), "settings")
			said := fmt.Sprint(p.Faults, p.Rejects)
			if err != nil || p.RoundTrip || p.Faulty+p.Rejected == 0 || !strings.Contains(said, "state.json:") {
				t.Errorf("%+v %v", p, err)
			}
			for _, part := range []string{"history", "history", "settings", "settings"} {
				if _, err := m.Advance(t.Context(), part, migrate.ChangeOptions{Force: true}); err != nil {
					t.Fatal(err)
				}
			}
			r, err := m.Import(t.Context(), "settings", migrate.ImportOptions{})
			f, failed := m.Facts(t.Context(), "settings")
			if err == nil && r.Rejected == 0 || failed != nil || f.Imported {
				t.Errorf("imported: %+v %v %+v", r, err, f)
			}
		})
	}
}

// A list that is in a document in two pieces is one in Redis: a plan finds it. Names that a hash
// keeps, and the names of files too, are asked of the files where there is no server.
func TestPlansWithoutAServer(t *testing.T) {
	t.Parallel()
	const text = `keywright: 1
vars: {g: slug, n: slug}
keys:
  words: {key: "w:{g}", type: list, member: json, ttl: none}
  named: {key: "names", type: hash, field: text, value: text, ttl: none}
  seen: {key: "s:{n}", type: set, member: text, ttl: none}
migrations:
  files:
    sources: {state: {file: state.json}, each: {file: "each/{name}.json"}, names: {file: names.json}}
    parts:
      all:
        moves:
          - {from: "state:/{of}/[]", to: words, with: {g: "slug({of})"}, member: ., kept: {of: .of}}
          - {from: "names:/{name}", to: named, field: "{name}", value: .}
          - {from: "each:/[]", to: seen, with: {n: "slug({name})"}, member: ., kept: {name: named}}
`
	for state, faulty := range map[string]int64{
		`{"a b": [{"of": "a b"}], "c": [{"of": "c"}], "d": [{"of": "d"}]}`:     0,
		`{"a b": [{"of": "a b"}], "c": [{"of": "c"}], "a-b": [{"of": "a-b"}]}`: 1,
	} {
		root := t.TempDir()
		writeFile(t, root, "state.json", state)
		writeFile(t, root, "names.json", `{"San Diego": "x"}`)
		writeFile(t, root, "each/San Diego.json", `["x", "y"]`)
		m, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: declaredMap(t, text), Look: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Plan(t.Context(), "all")
		if err != nil || p.Faulty != faulty || p.RoundTrip != (faulty == 0) {
			t.Errorf("%s: %+v %v", state, p, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
