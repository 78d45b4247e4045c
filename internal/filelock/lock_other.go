//go:build !unix && !windows

package filelock

import (
	"errors"
	"os"
)

// renamesOpen reports whether a file that is open can be renamed, and another one renamed over it.
const renamesOpen = false

// lock returns an error: two programs would write one file, and neither would know.
func lock(*os.File, bool) error { return errors.ErrUnsupported }

func unlock(*os.File) error { return nil }
