// Package fault says what is wrong with a JSON document, and where. Package record reads documents and returns these
// errors.
package fault

import (
	"errors"
	"fmt"
)

// Position describes where something is in a document.
type Position struct {
	File   string
	Line   int   // from 1
	Column int   // in characters, from 1
	Offset int64 // in bytes, from 0
}

// Error represents a document that cannot be read, with the place.
type Error struct {
	At      Position
	Path    string // of the value that was being read, as a JSON Pointer
	Message string
	Err     error // what is wrong, as one of the sentinels below; of the reader beneath, its error
}

// Error returns file:line:column: message. Without a line it is of the whole file.
func (e *Error) Error() string {
	if e.At.Line == 0 {
		return e.At.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.At.File, e.At.Line, e.At.Column, e.Message)
}

// Unwrap returns the sentinel, or the error of the reader.
func (e *Error) Unwrap() error { return e.Err }

// What can be wrong with a document; errors.Is tells them apart.
var (
	ErrSyntax    = errors.New("it is no JSON")
	ErrDuplicate = errors.New("a member is there twice")
	ErrUTF8      = errors.New("it is no UTF-8")
	ErrNumber    = errors.New("a number that no program reads as it is written")
	ErrDepth     = errors.New("it is nested too deep")
	ErrTooLarge  = errors.New("a record is too large")
	ErrPlace     = errors.New("something else is where a record belongs")
)
