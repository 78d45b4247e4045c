package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

func symlink(t testing.TB, root, to, name string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

const perGuild = `keywright: 1
vars: {gid: text, name: text}
keys: {cfg: {key: "cfg:{gid}:{name}", type: string, value: json, ttl: none}}
migrations:
  d:
    sources: {g: {file: "data/{gid}.json"}}
    parts: {p: {moves: [{from: "g:/{name}", to: cfg, value: .}]}}
`

// What has the name of a source and cannot be one is listed with its name, by a plan and an import, which go on with
// the others, and is never waited for.
func TestFilesThatCannotBeSources(t *testing.T) {
	t.Parallel()
	server, root, outside := kt.Start(t, kt.Redis), t.TempDir(), t.TempDir()
	for _, n := range []string{"1", "zz"} {
		writeFile(t, root, "data/"+n+".json", `{"a": 1}`)
	}
	writeFile(t, outside, "x.json", `{"a": 1}`)
	want := map[string]string{"data/loop.json": "leads to nothing, or to itself", "data/away.json": "leads to nothing",
		"data/two.json": "second name of the file data/1.json", "data/y.json": "second name of the file data/x.json"}
	symlink(t, root, "loop.json", "data/loop.json")
	symlink(t, root, "nothing", "data/away.json")
	symlink(t, root, "1.json", "data/two.json")
	symlink(t, root, filepath.Join(outside, "x.json"), "data/x.json")
	symlink(t, root, filepath.Join(outside, "x.json"), "data/y.json")
	if pipe(filepath.Join(root, "data/pipe.json")) == nil {
		want["data/pipe.json"] = "named pipe"
	}
	if os.WriteFile(filepath.Join(root, "data/bad\xff.json"), []byte(`{"a": 1}`), 0o600) == nil {
		want["data/bad\xff.json"] = "no UTF-8"
	}
	long := "data/" + strings.Repeat("x", 240) + ".json"
	writeFile(t, root, long, `{"a": 1}`)
	want[long] = "240 bytes"
	m := openDeclared(t, root, server.URL(), declaredMap(t, perGuild))
	if _, _, err := m.Size(t.Context(), "p"); err != nil {
		t.Error(err)
	}
	r, err := m.Plan(t.Context(), "p")
	if err != nil || r.RoundTrip || r.Records != 3 || r.Faulty != int64(len(want)) {
		t.Errorf("%+v %v", r, err)
	}
	has := map[string]string{}
	for _, fault := range r.Faults {
		bad := new(record.Error)
		if !errors.As(fault, &bad) {
			t.Fatal(fault)
		}
		has[bad.At.File] = bad.Error()
	}
	for file, why := range want {
		if !strings.Contains(has[file], why) || !strings.HasPrefix(has[file], file+": ") {
			t.Errorf("%q: %q, not %q", file, has[file], why)
		}
	}
	to(t, m, "p", phase.Backfill)
	if _, err := m.Import(t.Context(), "p", migrate.ImportOptions{}); !errors.As(err, new(*record.Error)) {
		t.Errorf("imported: %v", err)
	}
	if f, err := m.Facts(t.Context(), "p"); err != nil || f.Imported {
		t.Errorf("%+v %v", f, err)
	}
	for _, key := range []string{"cfg:two:a", "cfg:loop:a", "cfg:pipe:a", "cfg:y:a"} {
		if err := m.Write(t.Context(), recordOf(m, record.ID{Move: "p.cfg", Key: key}, "7")); err == nil {
			t.Errorf("%s was written", key)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "data/1.json"))
	if err != nil || string(text) != `{"a": 1}` {
		t.Errorf("%s %v", text, err)
	}
}

// A folder that is a link to nothing is listed, where files of the sources may be below it.
func TestAFolderThatIsAway(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	symlink(t, root, "/nothing/here", "data")
	m, err := migrate.Open(t.Context(), migrate.Config{Root: root, Look: true, Map: declaredMap(t, perGuild)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	r, err := m.Plan(t.Context(), "p")
	if err != nil || r.RoundTrip || r.Faulty != 1 || !strings.HasPrefix(r.Faults[0].Error(), "data: a link leads to nothing") {
		t.Errorf("%+v %v", r, err)
	}
}

// Two processes that write one file by two names lose no write.
func TestOneFileByTwoNames(t *testing.T) {
	t.Parallel()
	server, root, outside := kt.Start(t, kt.Redis), t.TempDir(), t.TempDir()
	writeFile(t, outside, "x.json", `{}`)
	symlink(t, root, filepath.Join(outside, "x.json"), "data/1.json")
	symlink(t, root, filepath.Join(outside, "x.json"), "data/2.json")
	declared := declaredMap(t, perGuild)
	var all [2]*migrate.Migration
	for i := range all {
		all[i] = openDeclared(t, root, server.URL(), declared)
	}
	to(t, all[0], "p", phase.DualWrite)
	var acknowledged sync.Map
	var work sync.WaitGroup
	for i, m := range all {
		work.Go(func() {
			for n := range 40 {
				name := fmt.Sprint(i, "-", n)
				id := record.ID{Move: "p.cfg", Key: fmt.Sprintf("cfg:%d:%s", i+1, name)}
				if m.Write(context.Background(), recordOf(m, id, "1")) == nil {
					acknowledged.Store(name, true)
				}
			}
		})
	}
	work.Wait()
	text, err := os.ReadFile(filepath.Join(outside, "x.json"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	acknowledged.Range(func(name, _ any) bool {
		if n++; !strings.Contains(string(text), `"`+name.(string)+`"`) {
			t.Errorf("%s was acknowledged, and is lost", name)
		}
		return true
	})
	if n != 80 || strings.Count(string(text), "-") != 80 {
		t.Errorf("%d of 80 are acknowledged, and the file has %d", n, strings.Count(string(text), "-"))
	}
}
