package dash

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFilesAreBuiltFromTheSources: built-from has the name and the digest of each file that the dashboard was built from,
// as scripts/build-dashboard.sh writes it after a build. So a person who changes a source and builds nothing finds out
// without npm. What the build itself gives is compared in make test-all.
func TestFilesAreBuiltFromTheSources(t *testing.T) {
	var now strings.Builder
	err := fs.WalkDir(os.DirFS("web"), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains([]string{"node_modules", "test", "fixtures", "screenshots"}, name): // nothing of them is in what is built
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile("web/" + name)
		fmt.Fprintf(&now, "%x  ./%s\n", sha256.Sum256(text), name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	then, err := os.ReadFile("built-from")
	if err != nil {
		t.Fatal(err)
	}
	is, was := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(now.String()) {
		is[line] = true
	}
	for line := range strings.Lines(string(then)) {
		if was[line] = true; !is[line] {
			t.Errorf("changed or gone since the dashboard was built: %s", line)
		}
	}
	for line := range is {
		if !was[line] {
			t.Errorf("changed or new since the dashboard was built: %s", line)
		}
	}
	if len(is) < 30 {
		t.Errorf("the sources are %d files: the search is broken", len(is))
	}
	if t.Failed() {
		t.Log("run scripts/build-dashboard.sh and commit dist and built-from")
	}
}
