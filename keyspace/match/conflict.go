package match

import (
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace/pattern"
)

// Conflict represents a pair of items of one rank that match a common key although
// neither is narrower than the other.
type Conflict struct {
	A, B    int // indexes of items, A < B
	Witness []byte
	Equal   bool // they match exactly the same keys
}

type relation uint8

const (
	unrelated relation = iota + 1 // neither contains the other
	equal
	firstNarrower
	secondNarrower
)

// winner picks the item that owns a key which all of items match.
func (c *compiler) winner(items []int) int32 {
	if len(items) == 0 {
		return None
	}
	slices.Sort(items)
	top := slices.MinFunc(items, func(x, y int) int { return c.items[x].Rank - c.items[y].Rank })
	items = slices.DeleteFunc(items, func(i int) bool { return c.items[i].Rank != c.items[top].Rank })
	key := fmt.Sprint(items)
	if w, known := c.winners[key]; known {
		return w
	}
	best := items[0]
	for _, i := range items[1:] {
		if c.relate(best, i) == secondNarrower {
			best = i
		}
	}
	for x, i := range items {
		for _, j := range items[x+1:] {
			if len(c.conflicts) >= MaxConflicts {
				break
			}
			c.relate(i, j)
		}
	}
	c.winners[key] = int32(best)
	return int32(best)
}

// MaxConflicts bounds the pairs that are compared of items of which no one can tell
// whose keys are whose: where Compile tells so many, there are more.
const MaxConflicts = 2000

// relate decides, once per pair, which of two overlapping items is narrower.
func (c *compiler) relate(a, b int) relation {
	if a > b {
		switch c.relate(b, a) {
		case firstNarrower:
			return secondNarrower
		case secondNarrower:
			return firstNarrower
		default:
			return c.relate(b, a)
		}
	}
	pair := [2]int{a, b}
	if r, known := c.relations[pair]; known {
		return r
	}
	if len(c.conflicts) >= MaxConflicts {
		return unrelated
	}
	p, q := c.items[a].Pattern, c.items[b].Pattern
	r := comparePatterns(p, q)
	c.relations[pair] = r
	if r == unrelated || r == equal {
		witness, _ := pattern.Overlap(p, q)
		c.conflicts = append(c.conflicts, Conflict{A: a, B: b, Witness: witness, Equal: r == equal})
	}
	return r
}

func comparePatterns(p, q *pattern.Pattern) relation {
	if p.Language() == q.Language() {
		return equal
	}
	_, pInQ := pattern.Contains(q, p)
	_, qInP := pattern.Contains(p, q)
	switch {
	case pInQ && qInP:
		return equal
	case pInQ:
		return firstNarrower
	case qInP:
		return secondNarrower
	}
	return unrelated
}
