package entity

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// The ledger has form 1: the first byte of an entry is "=", the first of what is said of
// the indexes as a whole is a digit or a capital letter, and a line of it begins with one
// of the states. A program that keeps a ledger in another form changes these bytes. Then
// this program leaves the item, or all items, as they are.

// ErrForm is what is said of a ledger, or of an entry of it, that a newer program keeps.
// Its class is Refused, and nothing was changed.
var ErrForm = errors.New("a newer version of this program keeps this ledger, or this item")

// formed reports whether an entry of the ledger has the form that this program knows.
func formed(record string) bool { return record == "" || record[0] == '=' }

// newer returns the error of an item, or of the whole ledger ("").
func (s *core) newer(id string) error {
	where := "in " + s.spec.Ledger
	if id != "" {
		where = strconv.Quote(id) + " " + where
	}
	return &keywright.Error{Class: keywright.Refused, Op: "read the ledger", Entry: s.entry.Name,
		Err: fmt.Errorf("%s: %w", where, ErrForm), Hint: "run the newer version of this program"}
}

// refused returns err, or ErrForm if a script said so.
func (s *core) refused(id string, err error) error {
	var reply *kernel.ServerError
	if errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "FORM ") {
		return s.newer(id)
	}
	return err
}

// passed counts what a sweep has passed over as it is of another form.
type passed struct {
	items int
	first string
}

// add notes an item.
func (p *passed) add(id string) {
	if p.items++; p.items == 1 {
		p.first = id
	}
}

// mostPassed bounds how many items of another form a sweep goes past.
const mostPassed = 10_000

// passedOver returns what a sweep says of them.
func (s *core) passedOver(p *passed) error {
	switch {
	case p.items == 0:
		return nil
	case p.items >= mostPassed:
		return fmt.Errorf("the sweep ended at %d items that it may not sweep: %w", p.items, s.newer(p.first))
	}
	return fmt.Errorf("%d items were not swept: %w", p.items, s.newer(p.first))
}
