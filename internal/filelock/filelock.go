// Package filelock keeps other programs away from a file.
package filelock

import "errors"

// ErrInUse is returned for a file that another program has locked.
var ErrInUse = errors.New("another program is writing it")
