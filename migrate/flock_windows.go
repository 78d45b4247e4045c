package migrate

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// The flags and the error of LockFileEx.
const (
	failImmediately = 1
	exclusive       = 2
	lockViolation   = syscall.Errno(33)
)

// flock locks an open file without waiting. The system frees the lock when the file is
// closed, also by the death of the process. false: another has it.
func flock(f *os.File, shared bool) (bool, error) {
	flags := uintptr(failImmediately)
	if !shared {
		flags |= exclusive
	}
	var over syscall.Overlapped
	ok, _, err := lockFileEx.Call(f.Fd(), flags, 0, 1, 0, uintptr(unsafe.Pointer(&over)))
	if ok != 0 {
		return true, nil
	}
	if errors.Is(err, lockViolation) {
		return false, nil
	}
	return false, err
}

// syncFolder does nothing: the names of a folder are durable with its files here.
func syncFolder(string) error { return nil }
