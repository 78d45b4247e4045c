package pages

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// packages returns the folders of the library with Go files, "." for its root.
func packages(t *testing.T) []string {
	t.Helper()
	apart := []string{"cmd", "bench", "examples", "internal", "gen", "metrics", "tracing", "testdata", "node_modules",
		".git", ".bin"}
	var out []string
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(apart, d.Name()) {
			return fs.SkipDir
		}
		if !d.IsDir() && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") &&
			!slices.Contains(out, path.Dir(name)) {
			out = append(out, path.Dir(name))
		}
		return nil
	})
	if err != nil || len(out) < 20 {
		t.Fatalf("%d packages, %v", len(out), err)
	}
	return out
}
