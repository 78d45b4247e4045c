package kernel

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/slot"
)

// errSlots is what a cluster would answer (CROSSSLOT), before rueidis panics
// over it.
var errSlots = errors.New("the keys lie in different cluster slots")

// together checks that keys may be used in one command or transaction: in a
// cluster they must share a slot. The error is an *Error of class Invalid.
func (c *Client) together(keys ...string) error {
	if !c.slots || len(keys) < 2 {
		return nil
	}
	first := slot.Of([]byte(keys[0]))
	for _, k := range keys[1:] {
		if s := slot.Of([]byte(k)); s != first {
			return &Error{Class: Invalid, Err: fmt.Errorf("%w: %d and %d", errSlots, first, s),
				Hint: "give their patterns the same hash tag, {#…}; with `cluster: true` lint says where one is missing"}
		}
	}
	return nil
}
