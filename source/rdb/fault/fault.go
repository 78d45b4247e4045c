// Package fault is what the readers and writers of RDB snapshots and of DUMP payloads report: where a snapshot cannot
// be read further, that it ends too early, and what only servers of other versions know.
//
// API: may change until 1.0.
package fault

import (
	"errors"
	"fmt"
)

// Error represents a snapshot that cannot be read further.
type Error struct {
	Offset int64  // of the first byte that makes no sense, in the uncompressed snapshot
	Key    []byte // whose value it lies in; nil: in none
	Err    error  // ErrTruncated, ErrUnknown, an error of the reader, or a text
}

// Error implements error.
func (e *Error) Error() string {
	if e.Key != nil {
		return fmt.Sprintf("byte %d, in the value of %q: %v", e.Offset, Shorten(e.Key), e.Err)
	}
	return fmt.Sprintf("byte %d: %v", e.Offset, e.Err)
}

// Unwrap gives the reason: one of the errors of the packages, or what the reader said.
func (e *Error) Unwrap() error { return e.Err }

// Shorten returns as much of a key as a message shows.
func Shorten(key []byte) []byte { return key[:min(len(key), 100)] }

var (
	// ErrTruncated reports a snapshot that ends in the middle.
	ErrTruncated = errors.New("the snapshot ends in the middle: it was cut, or is still being written")
	// ErrUnknown reports a type or an opcode of a version that this one does not know.
	ErrUnknown = errors.New("unknown to this version of keywright, so that nothing after it can be read")
)
