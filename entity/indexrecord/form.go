package indexrecord

import (
	"errors"
)

// Index records have form 1: the first byte of a record is "=", the first byte of the
// marks is a digit or a capital letter, and a line of the marks begins with one of the
// states. A program that writes another form changes these bytes. Then this program
// leaves the item, or all items, as they are.

// ErrForm reports an index record, or marks of the indexes, that a newer program has written.
// Its class is Refused, and nothing was changed.
var ErrForm = errors.New("a newer version of this program has written this index record, or the marks of the indexes")

// Formed reports whether an index record has the form that this program knows.
func Formed(record string) bool { return record == "" || record[0] == '=' }
