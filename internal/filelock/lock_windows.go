package filelock

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// renamesOpen reports whether a file that is open can be renamed, and another one renamed over it.
const renamesOpen = false

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// The flags and the error of LockFileEx.
const (
	failImmediately = 1
	exclusive       = 2
	lockViolation   = syscall.Errno(33)
)

// lock locks the last byte that a file can have, as bbolt does: who reads or writes a byte that
// another program has locked is refused.
func lock(f *os.File, shared bool) error {
	flags := uintptr(failImmediately)
	if !shared {
		flags |= exclusive
	}
	over := syscall.Overlapped{Offset: 1<<32 - 1, OffsetHigh: 1<<32 - 1}
	ok, _, err := lockFileEx.Call(f.Fd(), flags, 0, 1, 0, uintptr(unsafe.Pointer(&over)))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, lockViolation):
		return ErrInUse
	}
	return err
}

// unlock does nothing: no other process has a copy of the file, and closing it ends its lock.
func unlock(*os.File) error { return nil }
