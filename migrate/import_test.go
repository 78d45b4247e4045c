package migrate_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// sources writes files with records of every kind.
func sources(t *testing.T, root string, n int) (ids []record.ID) {
	t.Helper()
	for _, file := range []string{"a", "b"} {
		var members []string
		for i := range n {
			for _, kind := range []string{"string", "field", "hash", "member", "scored", "list", "stream"} {
				key, sub, value := fmt.Sprintf("%s:%s:%d", kind, file, i), "", `["v"]`
				switch kind {
				case "field", "member", "scored":
					sub = "s"
				}
				switch kind {
				case "hash":
					value = `["f=1","g=2"]`
				case "member":
					value = `["1"]`
				case "scored":
					value = `["7"]`
				case "list", "stream":
					value = `["x","y","x"]`
				}
				ids = append(ids, id(key, sub))
				members = append(members, fmt.Sprintf("%q:%s", key+"|"+sub, value))
			}
		}
		slices.Sort(members)
		if err := os.WriteFile(filepath.Join(root, file+".json"), []byte("{"+strings.Join(members, ",")+"}"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// The way of a part: planned, imported, verified, live, complete, and back, with the gates
// closed until what they ask for is there.
func TestWholeWay(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always"))
	c := dial(t, server.URL())
	root := t.TempDir()
	ids := sources(t, root, 40)
	m := open(t, root, server.URL(), oneOfEach, nil)
	closed := func(want ...phase.Gate) {
		t.Helper()
		_, err := m.Advance(t.Context(), "a", migrate.ChangeOptions{})
		e, ok := err.(*migrate.GateError)
		var is []phase.Gate
		for i := 0; ok && i < len(e.Closed); i++ {
			is = append(is, e.Closed[i].Gate)
		}
		if !slices.Equal(is, want) {
			t.Fatalf("%v, want %v closed", err, want)
		}
	}
	next := func() {
		t.Helper()
		if _, err := m.Advance(t.Context(), "a", migrate.ChangeOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	closed(phase.RoundTrip, phase.Covered)
	plan, err := m.Plan(t.Context(), "a")
	if err != nil || !plan.RoundTrip || plan.Files != 2 || len(plan.Moves) != 7 || plan.Records != int64(len(ids)+4*80) {
		t.Fatalf("%+v, %v", plan, err)
	}
	next()
	next()
	closed(phase.Imported, phase.Verified)
	again(t, m, int64(len(ids)))
	verified(t, m, int64(len(ids)))
	next()
	closed(phase.Verified, phase.Covered)
	verified(t, m, int64(len(ids)))
	next() // limits are those of the caller: none here
	if err := m.Delete(t.Context(), ids[0]); err != nil {
		t.Fatal(err)
	}
	next()
	closed(phase.Verified)
	if _, _, err := m.Replay(t.Context()); err != nil {
		t.Fatal(err)
	}
	verified(t, m, int64(len(ids)-1))
	next()
	extra := id("string:b:late")
	if err := m.Write(t.Context(), change(extra, "after the files")); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), ids[7]); err != nil {
		t.Fatal(err)
	}
	exported(t, m, root, extra)
	if _, err := m.Rollback(t.Context(), "a", migrate.ChangeOptions{}); err != nil {
		t.Fatal(err)
	}
	if has := fileHas(root, extra); !slices.Equal(has, redisHas(t, c, extra)) || len(has) != 1 || len(fileHas(root,
		ids[7])) > 0 {
		t.Errorf("after the way back from complete the file has %v", has)
	}
	verified(t, m, int64(len(ids)-1))
	to(t, m, "a", phase.Off)
	if read, err := m.Read(t.Context(), extra); err != nil || len(read) != 1 {
		t.Errorf("%v %v", read, err)
	}
}

// A second import changes nothing.
func again(t *testing.T, m *migrate.Migration, n int64) {
	t.Helper()
	for i := range 2 {
		r, err := m.Import(t.Context(), "a", migrate.ImportOptions{Batch: 7})
		if err != nil || r.Written != n*int64(1-i) || r.Same != n*int64(i) || r.Records != n {
			t.Fatalf("import %d: %+v, %v", i, r, err)
		}
	}
}

func verified(t *testing.T, m *migrate.Migration, n int64) {
	t.Helper()
	r, err := m.Verify(t.Context(), "a", migrate.VerifyOptions{})
	if err != nil || !r.Whole() || r.Records != n || r.Equal != n {
		t.Fatalf("%+v, %v", r, err)
	}
}

// exported is the files as Redis has them, and what is the same has the same bytes.
func exported(t *testing.T, m *migrate.Migration, root string, extra record.ID) {
	t.Helper()
	folder := t.TempDir()
	r, err := m.Export(t.Context(), "a", folder)
	if err != nil || r.Files != 2 || r.Changed != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if has := fileHas(folder, extra); !slices.Equal(has, []string{"after the files"}) {
		t.Errorf("exported: %v", has)
	}
	before, _ := os.ReadFile(filepath.Join(root, "a.json"))
	if _, err := m.Export(context.Background(), "a", root); err == nil {
		t.Error("the sources may be written over")
	}
	if after, _ := os.ReadFile(filepath.Join(root, "a.json")); !bytes.Equal(before, after) {
		t.Error("an export has changed the sources")
	}
}

// Each class of differences is found, counted once, and repaired towards the side that
// decides.
func TestDifferencesAreFoundAndRepaired(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Valkey)
	c := dial(t, server.URL())
	root := t.TempDir()
	ids := sources(t, root, 5)
	m := open(t, root, server.URL(), oneOfEach, nil)
	to(t, m, "a", phase.Backfill)
	if _, err := m.Import(t.Context(), "a", migrate.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	to(t, m, "a", phase.Shadow)
	raw := c.Raw()
	for _, words := range [][]string{{"DEL", "string:a:1"}, {"SET", "string:a:2", "other"}, {"SET",
		"string:b:extra", "x"}, {"HDEL", "field:a:1", "s"},
		{"HSET", "field:a:2", "t", "extra"}, {"RPUSH", "list:b:1", "z"}, {"XADD", "stream:b:1",
			"*", "f", "z"}, {"SADD", "member:a:1", "extra"}, {"ZADD",
			"scored:a:1", "8", "s"}} {
		if err := raw.Do(t.Context(), raw.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build()).
			Error(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := m.Verify(t.Context(), "a", migrate.VerifyOptions{})
	if err != nil || r.Missing != 2 || r.Extra != 3 || r.Unequal != 4 || r.Whole() || r.Repaired != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = m.Verify(t.Context(), "a", migrate.VerifyOptions{Repair: true, Move: "string",
		Kind: record.DiffMissing}); err != nil || r.Repaired != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = m.Verify(t.Context(), "a", migrate.VerifyOptions{Repair: true}); err != nil || r.Repaired != 8 {
		t.Fatalf("%+v, %v", r, err)
	}
	verified(t, m, int64(len(ids)))
}

// Reads of the phase shadow are compared beside the caller: a difference counts when it is
// there twice, its class has no value, and the counts outlive the process.
func TestShadowReads(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c := dial(t, server.URL())
	root := t.TempDir()
	m := open(t, root, server.URL(), oneOfEach, nil)
	i, j := id("string:a:equal"), id("string:a:secret-name")
	to(t, m, "a", phase.Shadow)
	for _, x := range []record.ID{i, j} {
		if err := m.Write(t.Context(), change(x, "v")); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Raw().Do(t.Context(), c.Raw().B().Set().Key(j.Key).Value("a secret value").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	for _, x := range []record.ID{i, j} {
		if _, err := m.Read(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		if s := m.Stats().Shadow; s.Compared < 2 || s.Unequal != 1 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = open(t, root, server.URL(), oneOfEach, nil)
	classes, cut, err := m.Classes("a")
	if err != nil || cut != 0 || len(classes) != 1 || classes[0].Move != "string" || classes[0].Kind != record.DiffValue ||
		classes[0].Count != 1 {
		t.Errorf("%+v %d %v", classes, cut, err)
	}
	f, err := m.Facts(t.Context(), "a")
	if err != nil || f.Compared != 2 || f.Unequal != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	log, err := os.ReadFile(filepath.Join(root, ".keywright", "test", "shadow.json"))
	if err != nil || strings.Contains(string(log), "secret") {
		t.Errorf("the log of differences has a key or a value: %s %v", log, err)
	}
}

// TestARateIsHeld imports and verifies records at a rate: neither is done before they are due.
func TestARateIsHeld(t *testing.T) {
	t.Parallel()
	const records, rate = 400, 400
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	var feeds []string
	for i := range records {
		feeds = append(feeds, fmt.Sprintf(`"f%d": {}`, i))
	}
	writeFile(t, root, "state.json", `{"guilds": {"456": {"feeds": {`+strings.Join(feeds, ", ")+`}}}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, bot))
	for _, part := range []string{"history", "settings"} {
		if _, err := m.Plan(t.Context(), part); err != nil {
			t.Fatal(err)
		}
		to(t, m, part, phase.DualWrite)
	}
	began := time.Now()
	r, err := m.Import(t.Context(), "settings", migrate.ImportOptions{PerSecond: rate, Batch: 50})
	if took := time.Since(began); err != nil || r.Written != records || took < time.Second {
		t.Errorf("imported in %s: %+v, %v", took, r, err)
	}
	began = time.Now()
	v, err := m.Verify(t.Context(), "settings", migrate.VerifyOptions{PerSecond: rate})
	if took := time.Since(began); err != nil || v.Equal != records || took < time.Second {
		t.Errorf("verified in %s: %+v, %v", took, v, err)
	}
}
