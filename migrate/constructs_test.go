package migrate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/value/seal"
)

// way represents a declared migration of one part that goes the whole way.
type way struct {
	t    *testing.T
	root string
	c    *keywright.Client
	m    *migrate.Migration
	part string
}

func newRing(t testing.TB) *seal.Ring {
	t.Helper()
	text, _, err := seal.Generate()
	if err != nil {
		t.Fatal(err)
	}
	ring, err := seal.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// begin writes the files and opens a migration of them, in a namespace if there is one.
func begin(t *testing.T, url, declaration, namespace string, files map[string]string) *way {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		writeFile(t, root, name, text)
	}
	c := servertest.Open(t, url, keywright.Options{NoCache: true, Attempts: 2, Sealer: newRing(t)})
	return beginWith(t, c, root, declaration, namespace)
}

func beginWith(t *testing.T, c *keywright.Client, root, declaration, namespace string) *way {
	t.Helper()
	names := map[string]string{}
	if namespace != "" {
		names["shop"] = namespace
	}
	ks, findings := load.In(fstest.MapFS{"k.yaml": {Data: []byte(declaration)}}, "k.yaml", names)
	if finding.Count(findings).Errors > 0 {
		t.Fatal(findings)
	}
	declared, err := record.Compile(ks.Migrations[0])
	if err != nil {
		t.Fatal(err)
	}
	m, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: declared, Client: c,
		Shadow: migrate.ShadowConfig{Settle: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return &way{t, root, c, m, declared.Migration.Parts[0].Name}
}

// imported plans and imports the part; the second import changes nothing.
func (w *way) imported(records int64) {
	w.t.Helper()
	p, err := w.m.Plan(w.t.Context(), w.part)
	if err != nil || !p.RoundTrip || p.Records != records {
		w.t.Fatalf("%+v %v %v", p, p.Faults, err)
	}
	to(w.t, w.m, w.part, phase.Backfill)
	for n := range 2 {
		r, err := w.m.Import(w.t.Context(), w.part, migrate.ImportOptions{})
		if err != nil || r.Rejected > 0 || r.Written == 0 != (n == 1) {
			w.t.Fatalf("import %d: %+v %v %v", n, r, r.Rejects, err)
		}
	}
	Run(w.t, w.m, w.part)
}

// back goes to the end and back to the beginning: the files have the bytes that they had.
func (w *way) back(files map[string]string) {
	w.t.Helper()
	for _, at := range []phase.Phase{phase.Live, phase.Complete, phase.Off} {
		to(w.t, w.m, w.part, at)
	}
	for name, want := range files {
		if got := w.file(name); got != want {
			w.t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
}

func (w *way) file(name string) string {
	text, err := os.ReadFile(filepath.Join(w.root, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *way) do(words ...string) any {
	w.t.Helper()
	v, err := w.c.Raw().Do(w.t.Context(), w.c.Raw().B().Arbitrary(words...).Build()).ToAny()
	if err != nil {
		w.t.Fatalf("%v: %v", words, err)
	}
	return v
}

const hidden = `keywright: 1
package: bot
keys:
  token: {key: "token:{id}", type: string, value: text encrypted, ttl: none}
  card: {key: "card:{id}", type: string, value: {name: text, phone: text encrypted}, ttl: none}
  phones: {key: "phones", type: hash, field: text, value: text encrypted, ttl: none}
  person: {key: "person:{id}", type: hash, fields: {name: text, mail: text encrypted optional}, ttl: none}
  notes: {key: "notes:{id}", type: list, member: text encrypted, ttl: none}
  log: {key: "log:{id}", type: stream, fields: {at: int, what: text encrypted}, ttl: none}
migrations:
  files:
    sources: {state: {file: state.json}}
    parts:
      all:
        moves:
          - {from: "state:/token/{id}", to: token, value: .}
          - {from: "state:/card/{id}", to: card, value: .}
          - {from: "state:/phones/{name}", to: phones, field: "{name}", value: .}
          - {from: "state:/person/{id}", to: person}
          - {from: "state:/notes/{id}/[]", to: notes, member: .}
          - {from: "state:/log/{id}/[]", to: log}
vars: {id: slug}
`

// What is declared encrypted is plain text in the files and in no key of Redis, opens where
// the generated code opens it, and is not sealed again by a second import.
func TestEncryptedRecords(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, kt.Brands()) {
		server := kt.Start(t, brand, kt.Config("appendonly", "yes"))
		files := map[string]string{
			"state.json": `{"token": {"a": "hush-1"}, "card": {"b": {"name": "Ann", "phone":  "hush-2"}},
 "phones": {"ann": "hush-3"}, "person": {"c": {"name": "Cid", "mail": "hush-4"}, "d": {"name": "Dan"}},
 "notes": {"e": ["hush-5", "hush-6"]}, "log": {"f": [{"at": 1, "what": "hush-7"}, {"at": 2, "what": "hush-8"}]}}
`}
		w := begin(t, server.URL(), hidden, "", files)
		w.imported(9)
		for _, read := range [][]string{{"GET", "token:a"}, {"GET", "card:b"}, {"HGETALL", "phones"}, {"HGETALL", "person:c"},
			{"LRANGE", "notes:e", "0", "-1"}, {"XRANGE", "log:f", "-", "+"}} {
			if has := fmt.Sprint(w.do(read...)); strings.Contains(has, "hush") || len(has) < 20 {
				t.Errorf("%v has %s", read, has)
			}
		}
		entry := &keywright.Entry{Name: "person", Schema: "bot"}
		mail, err := w.c.Raw().Do(t.Context(), w.c.Raw().B().Hget().Key("person:c").Field("mail").Build()).ToString()
		if plain, failed := w.c.Unseal(entry, "person:c", "mail", mail); err != nil || failed != nil || plain != "hush-4" {
			t.Errorf("%q %v %v", plain, err, failed)
		}
		to(t, w.m, "all", phase.Live)
		id := record.ID{Move: "all.person", Key: "person:c"}
		err = w.m.Update(t.Context(), id, func(old []*record.Record) ([]*record.Record, error) {
			if len(old) != 1 || len(old[0].Fields) != 2 {
				t.Errorf("read: %+v", old)
			}
			r := *old[0]
			r.Fields = []record.Field{{Name: "name", Value: "Cid"}, {Name: "mail", Value: "hush-9"}}
			return []*record.Record{&r}, nil
		})
		if has := fmt.Sprint(w.do("HGETALL", "person:c")); err != nil || strings.Contains(has, "hush") {
			t.Errorf("%s %v", has, err)
		}
		if !strings.Contains(w.file("state.json"), "hush-9") {
			t.Error(w.file("state.json"))
		}
		Run(t, w.m, "all")
		files["state.json"] = strings.Replace(files["state.json"], "hush-4", "hush-9", 1)
		w.back(files)
		bare := beginWith(t, dial(t, server.URL()), w.root, strings.Replace(hidden, "files:\n", "other:\n", 1), "")
		to(t, bare.m, "all", phase.DualWrite)
		if r, err := bare.m.Import(t.Context(), "all", migrate.ImportOptions{}); err == nil || r.Written > 0 {
			t.Errorf("without a key ring: %+v %v", r, err)
		}
	}
}

const keeps = `keywright: 1
vars: {g: "/[0-9]{3,20}/", feed: slug}
keys:
  rss_feeds: {key: "rss:{g}:feeds", type: hash, field: text, value: json, ttl: none}
  rss_seen: {key: "rss:{g}:feed:{feed}:seen", type: set, member: text, ttl: none}
migrations:
  files:
    sources: {state: {file: state.json}}
    parts:
      feeds:
        moves:
          - {from: "state:/{g}/feeds/{name}", to: rss_feeds, field: "{name}", value: .config}
          - from: state:/{g}/feeds/{name}/seen/[]
            to: rss_seen
            with: {feed: "slug({name})"}
            member: .
            kept: {name: rss_feeds}
`

// A record whose place in the file its key does not say is written back to where the hash
// that keeps the name says.
func TestKeptNames(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"))
	files := map[string]string{"state.json": `{"123": {"feeds": {"San Diego": {"config": {"u": 1}, "seen": ["a", "b"]}}}}
`}
	w := begin(t, server.URL(), keeps, "", files)
	w.imported(3)
	to(t, w.m, "feeds", phase.Live)
	move := func(name string) *record.Move {
		ks, _ := load.File(fstest.MapFS{"k.yaml": {Data: []byte(keeps)}}, "k.yaml")
		declared, err := record.Compile(ks.Migrations[0])
		if err != nil {
			t.Fatal(err)
		}
		return declared.Move(name)
	}
	seen := record.ID{Move: "feeds.rss_seen", Key: "rss:123:feed:new_york:seen", Sub: "x"}
	feed := record.ID{Move: "feeds.rss_feeds", Key: "rss:123:feeds", Sub: "New York"}
	// What is seen comes before its feed: the file follows when the name is known.
	if err := w.m.Write(t.Context(), migrate.Change{ID: seen, Records: []*record.Record{{Move: move(seen.Move),
		Key: seen.Key, Sub: seen.Sub}}}); err != nil {
		t.Fatal(err)
	}
	if f, err := w.m.Facts(t.Context(), "feeds"); err != nil || f.Marks != 1 {
		t.Errorf("a record that no name is known of has %d marks, %v", f.Marks, err)
	}
	if err := w.m.Write(t.Context(), migrate.Change{ID: feed, Records: []*record.Record{{Move: move(feed.Move),
		Key: feed.Key, Sub: feed.Sub, Value: []byte(`{"u":2}`)}}}); err != nil {
		t.Fatal(err)
	}
	if _, left, err := w.m.Replay(t.Context()); err != nil || left > 0 {
		t.Errorf("%d left, %v", left, err)
	}
	var has map[string]map[string]map[string]any
	if err := json.Unmarshal([]byte(w.file("state.json")), &has); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"config": map[string]any{"u": 2.0}, "seen": []any{"x"}} // which is first may be either
	if got := has["123"]["feeds"]["New York"]; !reflect.DeepEqual(got, want) {
		t.Error(w.file("state.json"))
	}
	Run(t, w.m, "feeds")
	for _, id := range []record.ID{seen, feed} {
		if err := w.m.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if _, left, err := w.m.Replay(t.Context()); err != nil || left > 0 {
		t.Errorf("%d left, %v", left, err)
	}
	Run(t, w.m, "feeds")
}

const named = `keywright: 1
namespace: {default: shop, names: test|prod}
vars: {id: slug}
keys:
  persona: {key: "shop:p:{id}", type: string, value: text, ttl: none}
migrations:
  files:
    sources: {state: {file: state.json}}
    parts: {all: {moves: [{from: "state:/{id}", to: persona, value: .}]}}
`

// Two namespaces of one server have keys, phases and epochs of their own.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"))
	files := map[string]string{"state.json": `{"a": "x"}`}
	w := begin(t, server.URL(), named, "", files)
	prod := beginWith(t, w.c, w.root, named, "prod")
	w.imported(1)
	if p := phaseOf(t, prod.m, "all"); p != phase.Off {
		t.Errorf("the phase of prod is %s", p)
	}
	if n := w.do("EXISTS", "shop:p:a", "prod:p:a"); n != int64(1) {
		t.Errorf("%v keys", n)
	}
	prod.imported(1)
	if n := w.do("EXISTS", "shop:p:a", "prod:p:a", "keywright:migrate:files",
		"keywright:migrate:prod.files"); n != int64(4) {
		t.Errorf("%v keys", n)
	}
	prod.back(files)
	w.back(files)
}
