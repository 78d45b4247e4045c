package cli_test

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
)

// TestAFullDisk: who has no room is not sent to look for a folder.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	for why, hint := range map[error]string{syscall.ENOSPC: "make room", syscall.EDQUOT: "make room",
		syscall.EACCES: "folder"} {
		said, ok := errors.AsType[*cli.Exit](cli.Unwritable("the archive", &fs.PathError{Op: "write", Path: "a.kwa",
			Err: why}))
		if !ok || !strings.Contains(said.Hint, hint) || !strings.Contains(said.Error(), why.Error()) {
			t.Errorf("%v: %v, hint %q", why, said, said.Hint)
		}
	}
}

// TestOneLine: errors that were joined are one line, and what several of them say is there once.
func TestOneLine(t *testing.T) {
	full := errors.New("write x: no space left on device")
	if got := cli.OneLine(errors.Join(full, errors.Join(full, errors.New("close x")))); got !=
		"write x: no space left on device; close x" {
		t.Error(got)
	}
}
