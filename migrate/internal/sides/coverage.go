package sides

import (
	"maps"
	"slices"

	"github.com/keywright/keywright/migrate/record"
)

// Coverage describes what of the sources of a part the moves of all parts read. What they do not read, and the
// declaration does not ignore, stays in the files, and is lost with them.
type Coverage struct {
	Sources record.Coverages // by name
	// Unmet are moves of the part whose path met nothing, in sources that have something.
	Unmet []string
}

// Unread counts the values that no move reads, and the places where a path meets another shape than its own.
type Unread struct {
	Values    int64 `json:"values"`
	Bytes     int64 `json:"bytes"`
	Misshapen int64 `json:"misshapen"`
}

// Covered reports whether every value is read or ignored.
func (c *Coverage) Covered() bool { return *UnreadOf(c) == Unread{} }

// UnreadOf returns what of the sources no move reads.
func UnreadOf(c *Coverage) *Unread {
	out := &Unread{}
	for _, s := range c.Sources {
		out.Values, out.Bytes = out.Values+s.Unread.Values, out.Bytes+s.Unread.Bytes
		out.Misshapen += s.Misshapen
	}
	return out
}

// Names returns the names of the sources, sorted.
func (c *Coverage) Names() []string { return slices.Sorted(maps.Keys(c.Sources)) }

// EndCoverage says which paths of a part have met nothing, when all files were read.
func EndCoverage(c *Coverage, m *Sides, part string) {
	for _, mv := range m.MovesOf(part) {
		if mv.Move == nil || mv.Move.Source == nil {
			continue
		}
		if s := c.Sources[mv.Move.Source.Name]; s != nil && s.Unmet(mv.Move.Name) {
			c.Unmet = append(c.Unmet, mv.Name)
		}
	}
}
