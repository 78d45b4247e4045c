//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// renamesOpen reports whether a file that is open can be renamed, and another one renamed over it.
const renamesOpen = true

func lock(f *os.File, shared bool) error {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrInUse
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// unlock ends a lock, also for copies of the file that another process has.
func unlock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
