//go:build !unix

package filelock

import "os"

// Lock does nothing: these systems do not let two programs write one file.
func Lock(*os.File) error { return nil }
