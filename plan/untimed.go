package plan

import (
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// Untimed takes back the TTLs that an execution of TTL gave: of a key that still has the end
// that it was given.
type Untimed struct{ ends []int64 }

// Known tells which end the next key was given, in Unix milliseconds.
func (u *Untimed) Known(ends int64) { u.ends = append(u.ends, ends) }

// Decide implements Rule.
func (u *Untimed) Decide(*source.Key) Decision {
	if len(u.ends) == 0 {
		return Decision{}
	}
	ends := u.ends[0]
	u.ends = u.ends[1:]
	return Decision{Entry: selection.Undeclared, Meant: true, Step: Step{How: Persist, Ends: ends}}
}

// Names implements Rule: the file of what was done names no entries.
func (u *Untimed) Names() []string { return nil }

// Glob implements Rule.
func (u *Untimed) Glob() string { return "" }
