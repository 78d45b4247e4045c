package queue

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/queue/internal/stored"
)

// Name represents a family of keys: the text before and after an id.
type Name struct{ Before, After string }

// Of returns the key of an id.
func (n Name) Of(id string) string { return n.Before + id + n.After }

// Lane represents one list of jobs.
type Lane struct {
	Name string // "high"; "" for the only one
	Key  string
}

// Keys holds the names of a queue's keys and of its channel. In a cluster all of
// them must be in one slot.
type Keys struct {
	Lanes                                 []Lane // in the order in which they are drained
	Default                               string // the lane of a task that names none; "": the first one
	Job, Result, Unique                   Name
	Leases, Delayed, Dead, State, Workers string
	Runs                                  string // what is known of jobs that have begun, by id
	Channel                               string
	// whether an id may be one; nil: any text without braces and colons
	ID func(id string) error
}

// KeysOf derives all names from the queue's, as a declaration does. Lanes have
// names of their own; none is one lane.
func KeysOf(name string, lanes ...string) Keys {
	base := slot.Sibling(name)
	k := Keys{
		Job: Name{base + ":job:", ""}, Result: Name{base + ":result:", ""}, Unique: Name{base + ":unique:", ""},
		Leases: base + ":leases", Delayed: base + ":delayed", Dead: base + ":dead", State: base + ":state",
		Runs: base + ":runs", Workers: base + ":workers", Channel: base + ":ready",
	}
	for _, lane := range lanes {
		k.Lanes = append(k.Lanes, Lane{lane, base + ":" + lane})
	}
	if len(lanes) == 0 {
		k.Lanes = []Lane{{"", name}}
	}
	return k
}

// plain returns the lane of a task that names none.
func (k *Keys) plain() Lane {
	if i := slices.IndexFunc(k.Lanes, func(l Lane) bool { return l.Name == k.Default }); k.Default != "" && i >= 0 {
		return k.Lanes[i]
	}
	return k.Lanes[0]
}

func (q Queue[T]) laneKeys() []string {
	keys := make([]string, len(q.keys.Lanes))
	for i, l := range q.keys.Lanes {
		keys[i] = l.Key
	}
	return keys
}

func (q Queue[T]) fetchKeys() []string {
	keys := make([]string, 0, 5+len(q.keys.Lanes))
	keys = append(keys, q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.State, q.keys.Runs)
	return append(keys, q.laneKeys()...)
}

// laneNames returns the names of the lanes as scripts take them, each with a space
// after it.
func (q Queue[T]) laneNames() string {
	var b strings.Builder
	for _, l := range q.keys.Lanes {
		b.WriteString(cmp.Or(l.Name, stored.NoName) + " ")
	}
	return b.String()
}
