//go:build !unix

package migrate_test

import "errors"

// pipe is an error: there are none in folders.
func pipe(string) error { return errors.ErrUnsupported }
