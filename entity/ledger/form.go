package ledger

import (
	"errors"
)

// The ledger has form 1: the first byte of an entry is "=", the first of what is said of
// the indexes as a whole is a digit or a capital letter, and a line of it begins with one
// of the states. A program that keeps a ledger in another form changes these bytes. Then
// this program leaves the item, or all items, as they are.

// ErrForm is what is said of a ledger, or of an entry of it, that a newer program keeps.
// Its class is Refused, and nothing was changed.
var ErrForm = errors.New("a newer version of this program keeps this ledger, or this item")

// Formed reports whether an entry of the ledger has the form that this program knows.
func Formed(record string) bool { return record == "" || record[0] == '=' }
