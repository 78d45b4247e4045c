package gitfile_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/gitfile"
)

// A blob of any size in a ref takes no more memory than the largest declaration.
func TestAFileOfACommitIsBounded(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.bigFileThreshold=1m"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	git("init", "-q")
	if err := os.WriteFile(filepath.Join(dir, "large.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "large.yaml"), 300<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "small.yaml"), []byte("keywright: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-q", "-m", "x")
	tree, err := gitfile.At(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = fs.ReadFile(tree, "large.yaml")
	runtime.ReadMemStats(&after)
	if !errors.Is(err, gitfile.ErrLarge) {
		t.Error(err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("%d MiB", grown>>20)
	}
	if text, err := fs.ReadFile(tree, "small.yaml"); err != nil || string(text) != "keywright: 1\n" {
		t.Errorf("%q, %v", text, err)
	}
}
