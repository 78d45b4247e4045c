package window

import "fmt"

// Error represents a snapshot that cannot be read further.
type Error struct {
	Offset int64  // of the first byte that makes no sense, in the uncompressed snapshot
	Key    []byte // whose value it lies in; nil: in none
	Err    error
}

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
