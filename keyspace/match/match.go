package match

import "github.com/keywright/keywright/keyspace/pattern"

// (design stub: the lead is writing this package)

type Matcher struct{ n int }

// Captures receives where the placeholders lie in the key; reuse it.
type Captures struct {
	N     int
	Start [16]uint32
	End   [16]uint32
}

func (c *Captures) Of(key []byte, i int) []byte { return key[c.Start[i]:c.End[i]] }

// Item is a pattern with a rank: 0 declared keys, 1 legacy (`was`), 2 foreign, 3 owned globs.
type Item struct {
	Pattern *pattern.Pattern
	Rank    int
}

// Conflict: two items of one rank overlap and neither contains the other (or both are equal).
type Conflict struct {
	A, B    int // indexes of items, A < B
	Witness []byte
	Equal   bool
}

// Compile: lower Rank wins; within a rank the narrower language wins; any other overlap is returned as Conflict and the earlier item wins.
func Compile(items []Item) (*Matcher, []Conflict, error) { return &Matcher{len(items)}, nil, nil }

// Match returns the index of the item that owns the key, -1 = none. c may be nil.
func (m *Matcher) Match(key []byte, c *Captures) int { return -1 }
