package migrate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// A record that a file has and that cannot be read is not one that is not there: a read says
// what is wrong with it, an update does not write over it, and neither a write of the whole nor a
// verification takes the good one from Redis.
func TestARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id        record.ID
		good, bad string
		redis     []string // asks for what Redis has
	}{
		"a value": {record.ID{Move: "settings.persona", Key: "p:456"}, `{"guilds": {"456": {"persona": "x"}}}`,
			`{"guilds": {"456": {"persona": 7}}}`, []string{"GET", "p:456"}},
		"a key": {record.ID{Move: "history.story", Key: "h:123:story:ab"},
			`{"history": {"123": {"77": {"stories": [{"hash": "ab", "at": "2099-01-01T00:00:00Z"}]}}}}`,
			`{"history": {"123": {"77": {"stories": [{"hash": null, "at": "2099-01-01T00:00:00Z"}]}}}}`,
			[]string{"GET", "h:123:story:ab"}},
		"a member": {record.ID{Move: "history.stories", Key: "h:123:77", Sub: "ab"},
			`{"history": {"123": {"77": {"stories": [{"hash": "ab", "at": "2099-01-01T00:00:00Z"}]}}}}`,
			`{"history": {"123": {"77": {"stories": [{"hash": null, "at": "2099-01-01T00:00:00Z"}]}}}}`,
			[]string{"ZSCORE", "h:123:77", "ab"}},
		"an element": {record.ID{Move: "settings.words", Key: "w:456"}, `{"words": ["a", "b"]}`,
			`{"words": ["a", 7]}`, []string{"LINDEX", "w:456", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			server, root := kt.Start(t, kt.Redis), t.TempDir()
			part, _, _ := strings.Cut(c.id.Move, ".")
			file := map[bool]string{true: "guilds/456.json", false: "state.json"}[name == "an element"]
			writeFile(t, root, file, c.good)
			m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
			toBackfill(t, m)
			if _, err := m.Import(t.Context(), part, migrate.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			writeFile(t, root, file, c.bad)
			raw := dial(t, server.URL()).Raw()
			has := func(when string) {
				t.Helper()
				if err := raw.Do(t.Context(), raw.B().Arbitrary(c.redis...).Build()).Error(); err != nil {
					t.Errorf("%s, Redis has lost it: %v", when, err)
				}
			}
			var bad *record.Reject
			if got, err := m.Read(t.Context(), c.id); !errors.As(err, &bad) {
				t.Errorf("read: %v, %v", got, err)
			}
			if got, err := m.List(t.Context(), c.id.Move, c.id.Key); !errors.As(err, &bad) {
				t.Errorf("listed: %v, %v", got, err)
			}
			err := m.Update(t.Context(), c.id, func(old []*record.Record) ([]*record.Record, error) {
				t.Errorf("an update was given %v", old)
				return old, nil
			})
			if class, _ := keywright.ClassOf(err); !errors.As(err, &bad) || class != keywright.Invalid {
				t.Errorf("updated: %v", err)
			}
			if err := migrate.Sync(m, part, c.id); !errors.As(err, &bad) {
				t.Errorf("brought to Redis: %v", err)
			}
			has("after a replay")
			r, err := m.Verify(t.Context(), part, migrate.VerifyOptions{Repair: true})
			if err != nil || r.Rejected == 0 || r.Extra+r.Missing+r.Unequal+r.Repaired != 0 || r.Whole() {
				t.Errorf("%+v %v", r, err)
			}
			has("after a verification that repairs")
			writeFile(t, root, file, c.good)
			if r, err := m.Verify(t.Context(), part, migrate.VerifyOptions{}); err != nil || !r.Whole() {
				t.Errorf("mended: %+v %v", r, err)
			}
		})
	}
}

// A record that cannot be read holds up no other one of its file.
func TestARecordThatCannotBeReadIsAlone(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	writeFile(t, root, "state.json", `{"guilds": {"456": {"persona": 7}, "457": {"persona": "y"}}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	toBackfill(t, m)
	i := record.ID{Move: "settings.persona", Key: "p:457"}
	got, err := m.Read(t.Context(), i)
	if err != nil || len(got) != 1 || string(got[0].Value) != "y" {
		t.Errorf("%v %v", got, err)
	}
	if err := migrate.Sync(m, "settings", i); err != nil {
		t.Error(err)
	}
	if err := m.Delete(t.Context(), i); err != nil {
		t.Error(err)
	}
	if err := m.Delete(t.Context(), record.ID{Move: "settings.persona", Key: "p:456"}); err != nil {
		t.Errorf("the one that cannot be read is not taken away: %v", err)
	}
	if r, err := m.Verify(t.Context(), "settings", migrate.VerifyOptions{}); err != nil || !r.Whole() {
		t.Errorf("%+v %v", r, err)
	}
}

// Files below a folder that is a link are sources like others, as they are when one is opened by
// its name. A link to a folder that it is in leads to nothing new.
func TestLinkedFolders(t *testing.T) {
	t.Parallel()
	server, root, other := kt.Start(t, kt.Redis), t.TempDir(), t.TempDir()
	writeFile(t, other, "456.json", `{"words": ["a"]}`)
	writeFile(t, other, "deep/457.json", `{"words": ["b"]}`)
	for name, to := range map[string]string{"guilds": other, "round": root, "again": root} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nothing", filepath.Join(root, "broken")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("itself", filepath.Join(root, "itself")); err != nil {
		t.Fatal(err)
	}
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	toBackfill(t, m)
	r, err := m.Import(t.Context(), "settings", migrate.ImportOptions{})
	if err != nil || r.Files != 1 || r.Records != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if v, err := m.Verify(t.Context(), "settings", migrate.VerifyOptions{}); err != nil || v.Records != 1 || !v.Whole() {
		t.Errorf("%+v %v", v, err)
	}
}

// A record counts once in a verification, and by what both sides have of it, not by its first
// difference: a list with one element more is in both.
func TestVerifyCountsRecords(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	c := dial(t, server.URL())
	m := open(t, root, server.URL(), oneOfEach, nil)
	to(t, m, "a", phase.Backfill)
	for n := range 4 {
		if err := m.Write(t.Context(), change(id(fmt.Sprint("list:a:", n)), "x", "y")); err != nil {
			t.Fatal(err)
		}
	}
	redis(t, c, "RPUSH", "list:a:0", "z")
	redis(t, c, "RPOP", "list:a:1")
	redis(t, c, "DEL", "list:a:2")
	redis(t, c, "RPUSH", "list:a:9", "z", "z")
	r, err := m.Verify(t.Context(), "a", migrate.VerifyOptions{})
	if err != nil || r.Unequal != 2 || r.Missing != 1 || r.Extra != 1 || r.Equal != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// What SCAN gives again is one record.
func TestOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{10, 5000} {
		firsts, err := migrate.Firsts(n, 1000)
		if err != nil || !slices.Equal(firsts, []uint64{n, 0}) {
			t.Errorf("of %d, asked about twice: %v %v", n, firsts, err)
		}
	}
}

// An export that is made again has what Redis has by then, and one of a part that shares its files
// with others is not made from what these have left.
func TestExportAgain(t *testing.T) {
	t.Parallel()
	server, root, folder := kt.Start(t, kt.Redis), t.TempDir(), t.TempDir()
	c := dial(t, server.URL())
	writeFile(t, root, "state.json", `{"history": {}, "guilds": {"456": {"persona": "x"}}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	toBackfill(t, m)
	if _, err := m.Import(t.Context(), "settings", migrate.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"y", "x"} { // the second is what the sources have
		redis(t, c, "SET", "p:456", value)
		if _, err := m.Export(t.Context(), "settings", folder); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "state.json"))
		if err != nil || !strings.Contains(string(text), `{"persona": "`+value+`"}`) {
			t.Errorf("with %s in Redis: %s %v", value, text, err)
		}
	}
	if _, err := m.Export(t.Context(), "history", folder); err != nil {
		t.Error(err)
	}
	if _, err := m.Export(t.Context(), "settings", folder); !errors.Is(err, migrate.ErrExported) {
		t.Errorf("over what another part has left: %v", err)
	}
	if _, err := m.Export(t.Context(), "settings", t.TempDir()); err != nil {
		t.Error(err)
	}
}

// An export says how many matches of the sources are no records.
func TestExportCountsRejects(t *testing.T) {
	t.Parallel()
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	writeFile(t, root, "state.json", `{"guilds": {"456": {"persona": 7}, "457": {"persona": "y"}}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	toBackfill(t, m)
	r, err := m.Export(t.Context(), "settings", t.TempDir())
	if err != nil || r.Rejected != 1 || len(r.Rejects) != 1 || r.Records != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// A list is not given without an element of which it is not known whose it is.
func TestAnElementOfAnUnknownList(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	writeFile(t, root, "a.json", `[{"of": "a", "text": "x"}, {"of": null, "text": "y"}]`)
	m, err := migrate.Open(t.Context(), migrate.Config{Root: root, Look: true, Map: declaredMap(t, `keywright: 1
keys: {words: {key: "w:{of}", type: list, member: text, ttl: none}}
migrations:
  files:
    sources: {a: {file: a.json}}
    parts: {all: {moves: [{from: "a:/[]", to: words, with: {of: .of}, member: .text}]}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	got, err := m.Read(t.Context(), record.ID{Move: "all.words", Key: "w:a"})
	if !errors.As(err, new(*record.Reject)) {
		t.Errorf("%v %v", got, err)
	}
}

// The names of files are read again when a folder has changed, and not for each record.
func TestFilesAreListedOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	long := time.Now().Add(-time.Hour)
	file := func(name string, at time.Time) {
		writeFile(t, root, name, `["x"]`)
		for _, folder := range []string{"each", "."} {
			if err := os.Chtimes(filepath.Join(root, folder), at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := migrate.Open(t.Context(), migrate.Config{Root: root, Look: true, Map: declaredMap(t, `keywright: 1
vars: {n: slug}
keys:
  named: {key: "names", type: hash, field: text, value: text, ttl: none}
  seen: {key: "s:{n}", type: set, member: text, ttl: none}
migrations:
  files:
    sources: {each: {file: "each/{name}.json"}, names: {file: names.json}}
    parts:
      all:
        moves:
          - {from: "names:/{name}", to: named, field: "{name}", value: .}
          - {from: "each:/[]", to: seen, with: {n: "slug({name})"}, member: ., kept: {name: named}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	read := func(key string, want int) {
		t.Helper()
		for range 5 {
			got, err := m.Read(t.Context(), record.ID{Move: "all.seen", Key: key, Sub: "x"})
			if err != nil || len(got) != 1 {
				t.Errorf("%s: %v %v", key, got, err)
			}
		}
		if n := migrate.Listed(m); n != want {
			t.Errorf("the folders were read %d times, not %d", n, want)
		}
	}
	file("each/San Diego.json", long)
	read("s:san_diego", 1)
	file("each/New York.json", long.Add(time.Minute))
	read("s:new_york", 2)
	file("each/Rome.json", time.Now()) // others may come with the same time
	read("s:rome", 7)
}
