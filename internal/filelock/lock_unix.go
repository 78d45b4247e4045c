//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Lock keeps other programs away until the file is closed. ErrInUse: another one has it.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return err
}
