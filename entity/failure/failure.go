// Package failure is what the writes of an entity report beside the errors of package keywright: a condition that does
// not hold, and what went wrong with some of many items.
//
// API: may change until 1.0.
package failure

import (
	"fmt"
	"maps"
	"slices"
)

// ErrExists reports an item that is there already.
var ErrExists = fmt.Errorf("the item is there already")

// ErrVersion reports an item that was changed since it was read.
var ErrVersion = fmt.Errorf("the item has another version")

// Conflict represents a condition that does not hold; nothing was changed. It is
// ErrExists or ErrVersion to errors.Is.
type Conflict struct {
	Version int64 // that the item has, 0 without versions
	Err     error
}

// Error implements error.
func (c *Conflict) Error() string {
	if c.Version != 0 && c.Err == ErrVersion {
		return fmt.Sprintf("%v: %d", c.Err, c.Version)
	}
	return c.Err.Error()
}

// Unwrap gives ErrExists or ErrVersion.
func (c *Conflict) Unwrap() error { return c.Err }

// Errors describes what went wrong with some of many items, by their place in the
// arguments. The others were done: each item is written for itself.
type Errors map[int]error

// Error implements error.
func (e Errors) Error() string {
	first := slices.Sorted(maps.Keys(e))[0]
	return fmt.Sprintf("%d items failed; the one at %d: %v", len(e), first, e[first])
}

// Unwrap gives all of them, in the order of the arguments.
func (e Errors) Unwrap() (all []error) {
	for _, i := range slices.Sorted(maps.Keys(e)) {
		all = append(all, e[i])
	}
	return all
}
