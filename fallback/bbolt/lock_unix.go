//go:build unix

package bbolt

import (
	"os"
	"syscall"
	"time"
)

// lockFile waits for other processes, as bbolt does and with the same lock. It ends
// when the file is closed.
func lockFile(f *os.File, wait time.Duration) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(wait); ; <-tick.C {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK {
			return err
		}
		if time.Now().After(end) {
			return ErrInUse
		}
	}
}
