// Package filelock keeps other programs away from a file, puts a text in the place of one at once,
// and gives files that are open other names, which not every system permits.
package filelock

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"
)

// ErrInUse reports a file that another program has locked.
var ErrInUse = errors.New("another program is writing it")

// Lock keeps other programs away until [Close], or the death of the process. ErrInUse: another one has it.
func Lock(f *os.File) error { return lock(f, false) }

// Share works as Lock does, for programs that share the file: it keeps those away that Lock it.
func Share(f *os.File) error { return lock(f, true) }

// Wait is Lock, and waits so long at most.
func Wait(f *os.File, longest time.Duration) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(longest); ; <-tick.C {
		if err := Lock(f); !errors.Is(err, ErrInUse) || time.Now().After(end) {
			return err
		}
	}
}

// Close ends the lock of a file, and closes it. A file that is only closed stays locked for a moment where this process
// starts another one just then: that one has all open files until its program begins.
func Close(f *os.File) error { return errors.Join(unlock(f), f.Close()) }

// Rename gives an open file another name, and closes it: after that, so that its lock lasts as
// long, where the system permits it.
func Rename(f *os.File, to string) error { return rename(f, to, renamesOpen) }

func rename(f *os.File, to string, open bool) error {
	if open {
		return errors.Join(os.Rename(f.Name(), to), Close(f))
	}
	if err := Close(f); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}

// Replace puts an open file in the place of another one that is open, and closes that one. It
// gives the file to go on with: next, or one that was opened once more. lock is called with it
// before another program can have it, or, where the system renames no open file, at once after
// that; nil: it is not locked. After an error both are closed, or old is as it was.
func Replace(old, next *os.File, to string, lock func(*os.File) error) (*os.File, error) {
	return replace(old, next, to, lock, renamesOpen)
}

func replace(old, next *os.File, to string, lock func(*os.File) error, open bool) (f *os.File, err error) {
	if lock == nil {
		lock = func(*os.File) error { return nil }
	}
	if open {
		if err := lock(next); err != nil {
			return nil, errors.Join(err, next.Close())
		}
		if err := os.Rename(next.Name(), to); err != nil {
			return nil, errors.Join(err, next.Close())
		}
		_ = Close(old) // it has no name any more
		return next, nil
	}
	if err := errors.Join(next.Close(), Close(old)); err != nil {
		return nil, err
	}
	if err := os.Rename(next.Name(), to); err != nil {
		return nil, err
	}
	if f, err = os.OpenFile(to, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// SyncFolder makes new names in a folder last over a loss of power.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" { // it syncs no folder
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrInvalid) {
		err = nil // some file systems cannot
	}
	return errors.Join(err, d.Close())
}
