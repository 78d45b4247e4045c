package plan

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// Untimed takes back the TTLs that an execution of TTL gave: of a key that still has the end
// that it was given.
type Untimed struct {
	declared *selection.Selection
	ends     []int64
}

// NewUntimed makes the rule. ks may be nil: then each key is undeclared.
func NewUntimed(ks *keyspace.Keyspace) (*Untimed, error) {
	declared, err := selection.Compile(ks, selection.Request{})
	return &Untimed{declared: declared}, err
}

// Known tells which end the next key was given, in Unix milliseconds.
func (u *Untimed) Known(ends int64) { u.ends = append(u.ends, ends) }

// Decide implements Rule.
func (u *Untimed) Decide(k *source.Key) Decision {
	if len(u.ends) == 0 {
		return Decision{}
	}
	ends := u.ends[0]
	u.ends = u.ends[1:]
	entry, _, ok := u.declared.Find(k.Name)
	if !ok {
		entry = selection.Undeclared
	}
	return Decision{Entry: entry, Meant: true, Step: Step{How: Persist, Ends: ends}}
}

// Names implements Rule.
func (u *Untimed) Names() []string { return u.declared.Names() }

// Glob implements Rule.
func (u *Untimed) Glob() string { return "" }
