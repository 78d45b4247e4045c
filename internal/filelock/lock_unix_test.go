//go:build unix

package filelock

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestCloseEndsTheLockOfCopies: a process that is being started has copies of the open files of this one, until its
// program begins. A lock does not last as long.
func TestCloseEndsTheLockOfCopies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	f := open(t, path)
	if err := Lock(f); err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(copied)
	if err := Close(f); err != nil {
		t.Fatal(err)
	}
	if err := Lock(open(t, path)); err != nil {
		t.Error(err)
	}
}
