//go:build !unix

package archivefile

import (
	"errors"
	"os"
)

const noFollow = 0

// rename closes the file first: these systems rename no file that is open.
func rename(f *os.File, from, to string) error {
	return errors.Join(f.Close(), os.Rename(from, to))
}
