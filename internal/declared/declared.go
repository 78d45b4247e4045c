// Package declared reads the declarations of tests.
//
// It is for tests of this project, and imports testing.
package declared

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/migrate/record"
)

// Keyspace reads a declaration. It may refer to three files: a script s.lua, and the schemas s.json and b.json.
// A finding that is an error ends the test.
func Keyspace[T string | []byte](t testing.TB, text T) *keyspace.Keyspace {
	t.Helper()
	return In(t, fstest.MapFS{"k.yaml": {Data: []byte(text)}, "s.lua": {Data: []byte("return 1")},
		"s.json": {Data: []byte("{}")}, "b.json": {}}, "k.yaml")
}

// Clean reads a declaration that has no finding at all.
func Clean[T string | []byte](t testing.TB, text T) *keyspace.Keyspace {
	t.Helper()
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
	for _, f := range found {
		t.Fatalf("k.yaml:%d: %s %s", f.Pos.Line, f.Code, f.Message)
	}
	return ks
}

// File reads a declaration from a file of this machine.
func File(t testing.TB, file string) *keyspace.Keyspace {
	t.Helper()
	return In(t, os.DirFS(filepath.Dir(file)), filepath.Base(file))
}

// In reads a declaration from a file of a file system.
func In(t testing.TB, fsys fs.FS, name string) *keyspace.Keyspace {
	t.Helper()
	ks, found := load.File(fsys, name)
	if finding.Count(found).Errors > 0 {
		for _, f := range found {
			t.Errorf("%s:%d: %s %s", name, f.Pos.Line, f.Code, f.Message)
		}
		t.FailNow()
	}
	return ks
}

// Map reads a declaration and returns its first migration.
func Map(t testing.TB, text string) *record.Map {
	t.Helper()
	m, err := record.Compile(Keyspace(t, text).Migrations[0])
	expect.NoError(t, err)
	return m
}
