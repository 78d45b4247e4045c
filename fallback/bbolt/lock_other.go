//go:build !unix

package bbolt

import (
	"os"
	"time"
)

// lockFile does nothing: a file that another process has open cannot be renamed
// here, and bbolt itself finds out that it is in use.
func lockFile(*os.File, time.Duration) error { return nil }
