//go:build unix

package archivefile

import (
	"errors"
	"os"
	"syscall"
)

// noFollow: who may write to the folder could lead us to another file by a link, or
// hold us up by a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// rename gives the file its name while it is locked, and closes it.
func rename(f *os.File, from, to string) error {
	return errors.Join(os.Rename(from, to), f.Close())
}
