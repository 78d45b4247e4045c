//go:build unix

package archivefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/internal/expect"
)

var must = expect.NoError

// Two backups to one name do not write into each other's file.
func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.kwa")
	first, err := archivefile.Create(path, true)
	must(t, err)
	if _, err := archivefile.Create(path, true); !errors.Is(err, archivefile.ErrInUse) {
		t.Errorf("a second writer: %v", err)
	}
	_, err = first.Write([]byte("whole"))
	must(t, err)
	must(t, first.Finish())
	second, err := archivefile.Create(path, true)
	must(t, err)
	if text, _ := os.ReadFile(path); string(text) != "whole" {
		t.Errorf("%q", text)
	}
	must(t, second.Remove())
}

// What a killed run has left is written over.
func TestLeftOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.kwa")
	must(t, os.WriteFile(path+archivefile.Part, []byte("a long rest"), 0o644))
	f, err := archivefile.Create(path, false)
	must(t, err)
	_, err = f.Write([]byte("new"))
	must(t, err)
	must(t, f.Finish())
	info, err := os.Stat(path)
	must(t, err)
	if text, _ := os.ReadFile(path); string(text) != "new" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v", text, info.Mode())
	}
}

// Links, pipes and folders are not followed, waited for, or found at the end only.
func TestNoPlainFile(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "a.kwa")
	must(t, os.WriteFile(victim, []byte("of another"), 0o644))
	must(t, os.Symlink(victim, path+archivefile.Part))
	if _, err := archivefile.Create(path, true); err == nil {
		t.Error("a link was followed")
	}
	if text, _ := os.ReadFile(victim); string(text) != "of another" {
		t.Errorf("the file behind a link has %q", text)
	}
	must(t, os.Remove(path+archivefile.Part))
	must(t, syscall.Mkfifo(path+archivefile.Part, 0o600))
	if _, err := archivefile.Create(path, true); err == nil {
		t.Error("a pipe was opened")
	}
	for _, other := range []string{dir, "/dev/null", path + archivefile.Part} {
		if _, err := archivefile.Create(other, true); err == nil {
			t.Errorf("%s is to be replaced", other)
		}
		if err := os.Remove(other + archivefile.Part); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something was begun: %v", other, err)
		}
	}
}

// A file that came meanwhile stays, and so does one that took its place.
func TestCameMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.kwa")
	f, err := archivefile.Create(path, false)
	must(t, err)
	must(t, os.WriteFile(path, []byte("another"), 0o644))
	if err := f.Finish(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("finished over another file: %v", err)
	}
	f, err = archivefile.Create(path, true)
	must(t, err)
	must(t, os.Rename(path+archivefile.Part, path+".moved"))
	must(t, os.WriteFile(path+archivefile.Part, []byte("foreign"), 0o644))
	if err := f.Finish(); !errors.Is(err, archivefile.ErrInUse) {
		t.Errorf("gave its name to a foreign file: %v", err)
	}
}
