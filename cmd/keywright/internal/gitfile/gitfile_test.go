package gitfile_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/gitfile"
)

// A blob of any size in a ref takes no more memory than the largest declaration.
func TestAFileOfACommitIsBounded(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git",
			append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.bigFileThreshold=1m"}, args...)...)
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

// The command of the hint brings a branch that a shallow clone lacks.
func TestTheHintFetchesTheBranch(t *testing.T) {
	dir := t.TempDir()
	run := func(folder string, words ...string) string {
		t.Helper()
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = filepath.Join(dir, folder)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(words, err, string(out))
		}
		return string(out)
	}
	run("", "git", "init", "-q", "-b", "main", "there")
	run("there", "git", "commit", "-q", "--allow-empty", "-m", "x")
	run("there", "git", "checkout", "-q", "-b", "change")
	run("", "git", "clone", "-q", "--depth=1", "--branch=change", "file://"+filepath.Join(dir, "there"), "here")
	_, err := gitfile.At(t.Context(), filepath.Join(dir, "here"), "origin/main")
	var hint *gitfile.Error
	if !errors.As(err, &hint) {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(hint.Hint, ": ")
	run("here", strings.Fields(command)...)
	if _, err := gitfile.At(t.Context(), filepath.Join(dir, "here"), "origin/main"); err != nil {
		t.Error(err)
	}
}
