//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb/write"
)

// tornArchive writes an archive of two lists, one of which was written to each time it was read.
func tornArchive(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "torn.kwa"))
	must(t, err)
	defer f.Close()
	w, err := archive.NewWriter(f, archive.Meta{ID: "00112233445566778899aabbccddeeff", Taken: time.Unix(1_700_000_000, 0),
		Consistency: archive.PerKey}, archive.Plain)
	must(t, err)
	for _, key := range []string{"good", "pushed"} {
		r := archive.Of(&source.Content{Name: []byte(key), Kind: source.List, Elements: [][]byte{[]byte("a")}},
			archive.Undeclared)
		must(t, w.Add(&r))
	}
	w.Tear([]byte("pushed"))
	w.Unsure()
	_, err = w.Close()
	must(t, err)
}

// An archive that has torn values says so at each step that reads it.
func TestTornValuesAreToldAtEachStep(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	tornArchive(t, dir)
	const text, killed = "never was their value: 1 (pushed)", "1 value in parts are of a run that was killed"
	says(t, ran(t, 0, dir, "restore", "torn.kwa", "-u", s.URL()), text, killed)
	says(t, ran(t, 0, dir, "restore", "torn.kwa", "-u", s.URL(), "-o", "json"), `"torn": 1`, `"unsure": 1`, `"torn_keys"`)
	if none := ran(t, 0, dir, "restore", "torn.kwa", "-u", s.URL(), "--match", "good"); len(none) == 0 || strings.Contains(none, text) {
		t.Error(none)
	}
	says(t, ran(t, 0, dir, "restore", "torn.kwa", "-u", s.URL(), "--apply"), text, killed)
	says(t, ran(t, 0, dir, "verify", "torn.kwa", s.URL()), text, killed)
	says(t, ran(t, 0, dir, "verify", s.URL(), "torn.kwa", "-o", "json"), text)
	says(t, ran(t, 0, dir, "archive", "diff", "torn.kwa", "torn.kwa"), text)
	says(t, ran(t, 0, dir, "archive", "ls", "torn.kwa"), " TORN", text, killed)
	says(t, ran(t, 0, dir, "archive", "ls", "torn.kwa", "-o", "jsonl"), `"torn":true`)
	says(t, ran(t, 0, dir, "archive", "export", "torn.kwa", "--as", "jsonl"), `"torn":true`, text, killed)
	says(t, ran(t, 0, dir, "archive", "export", "torn.kwa", "--as", "commands", "--to", "commands"), text)
}

// Keys that had expired at the moment of a snapshot are counted: they are not in its backup.
func TestExpiredKeysOfASnapshotAreTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "dump.rdb"))
	must(t, err)
	w := write.New(f, 10, "ctime", "1700000000")
	w.Database(0, 3)
	for key, expires := range map[string]int64{"stays": 0, "gone": 1_699_999_999_999, "gone, too": 1} {
		w.Dump([]byte(key), expires, []byte("\x00\x01v"))
	}
	must(t, errors.Join(w.Close(), f.Close()))
	says(t, ran(t, 0, dir, "backup", "--to", "all.kwa", "dump.rdb"), "2 keys of the snapshot had expired at its moment",
		"Saved 1 key")
	says(t, ran(t, 0, dir, "backup", "--to", "2.kwa", "dump.rdb", "-o", "json"), `"expired": 2`)
}

// A restore says which of the keys that no entry declares are foreign, as those are that a migration keeps its epochs
// in.
func TestForeignKeysAreToldApart(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(`keywright: 1
foreign: ["theirs:*"]
keys:
  one: {key: "one", type: string, ttl: none, doc: x, owner: o}
`), 0o600))
	s.Do("MSET", "one", "1", "theirs:a", "1", "theirs:b", "1", "nobody's", "1")
	ran(t, 0, dir, "backup", "--to", "all.kwa", "-u", s.URL())
	says(t, ran(t, 0, dir, "restore", "all.kwa", "-u", s.URL()), "2 of these are foreign")
	says(t, ran(t, 0, dir, "restore", "all.kwa", "-u", s.URL(), "-o", "json"), `"foreign": 2`)
}
