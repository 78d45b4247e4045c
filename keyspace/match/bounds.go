package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/internal/automaton"
)

// Bounds of a matcher beside those of one segment. Patterns that share nothing have
// a state and a word for each of their segments; those that overlap may multiply
// them up to a limit.
const (
	maxStates  = automaton.MaxStates
	maxWords   = 1_000_000
	maxCursors = 1_000_000 // places in patterns, of all states
)

func (c *compiler) countSegments() {
	for _, r := range c.routes {
		c.total += len(r.segments) + 1
	}
}

// bounded says whether there is too much of something.
func (c *compiler) bounded() error {
	segments := c.total
	if most := maxStates + segments; len(c.queue) > most {
		return &automaton.TooLargeError{What: "states", Limit: most}
	}
	if most := maxWords + 2*segments; len(c.words) > most {
		return &automaton.TooLargeError{What: "words", Limit: most}
	}
	if most := maxCursors + 2*segments; c.cursors > most {
		return &automaton.TooLargeError{What: "places", Limit: most}
	}
	return nil
}

// ComplexError represents a set of patterns that cannot be distinguished within the limits.
type ComplexError struct {
	Items []int // that were looked at together, sorted
	Names []string
	Err   error
}

func (e *ComplexError) Error() string {
	list := strings.Join(e.Names, ", ")
	if more := len(e.Items) - len(e.Names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s overlap in too many ways: %v", list, e.Err)
}

// Unwrap returns which limit was met.
func (e *ComplexError) Unwrap() error { return e.Err }

// tooComplex names the patterns that state s is about.
func (c *compiler) tooComplex(s int, err error) error {
	e := &ComplexError{Err: err}
	for _, cur := range c.queue[s] {
		e.Items = append(e.Items, cur.item)
	}
	slices.Sort(e.Items)
	e.Items = slices.Compact(e.Items)
	for _, i := range e.Items[:min(len(e.Items), 3)] {
		e.Names = append(e.Names, c.items[i].Pattern.String())
	}
	return e
}
