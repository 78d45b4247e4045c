package automaton

import (
	"encoding/binary"
	"slices"
)

// Dead is the DFA state from which nothing is accepted any more.
const Dead int32 = -1

// Classes partitions the bytes: bytes of one class are never distinguished.
type Classes struct {
	Of  [256]uint8
	Rep []Set // the bytes of each class
}

// NewClasses makes the coarsest partition that respects every set.
func NewClasses(sets []Set) Classes {
	parts := []Set{All}
	seen := map[Set]bool{}
	for _, s := range sets {
		if seen[s] {
			continue
		}
		seen[s] = true
		for i := range parts {
			in, out := parts[i].And(s), parts[i].Minus(s)
			if !in.Empty() && !out.Empty() {
				parts[i] = in
				parts = append(parts, out)
			}
		}
	}
	c := Classes{Rep: parts}
	for i, p := range parts {
		for b := range 256 {
			if p.Has(byte(b)) {
				c.Of[b] = uint8(i)
			}
		}
	}
	return c
}

// DFA represents a deterministic automaton; state 0 is the start.
type DFA struct {
	Classes Classes
	Next    []int32 // state*len(Classes.Rep)+class → state, or Dead
	Final   []bool
}

// Determinize makes the DFA of n by the subset construction.
func Determinize(n *NFA) (*DFA, error) {
	d := &DFA{Classes: NewClasses(n.Sets[1:])}
	width := len(d.Classes.Rep)
	ids := map[string]int32{}
	var subsets [][]int32
	intern := func(subset []int32) int32 {
		key := SubsetKey(subset)
		if id, ok := ids[key]; ok {
			return id
		}
		id := int32(len(subsets))
		ids[key] = id
		subsets = append(subsets, subset)
		d.Final = append(d.Final, slices.ContainsFunc(subset, func(p int32) bool { return n.Final[p] }))
		return id
	}
	intern([]int32{0})
	for s := 0; s < len(subsets); s++ {
		if s > MaxStates {
			return nil, &TooLargeError{"states", MaxStates}
		}
		for c := range width {
			to := Dead
			if next := n.Step(subsets[s], d.Classes.Rep[c].Pick()); len(next) > 0 {
				to = intern(next)
			}
			d.Next = append(d.Next, to)
		}
	}
	return d, nil
}

// Step returns the sorted set of states that n reaches from a set of states by b.
func (n *NFA) Step(from []int32, b byte) []int32 {
	var to []int32
	for _, p := range from {
		for _, q := range n.Follow[p] {
			if n.Sets[q].Has(b) {
				to = append(to, q)
			}
		}
	}
	slices.Sort(to)
	return slices.Compact(to)
}

// SubsetKey returns a map key for a set of states.
func SubsetKey(states []int32) string {
	b := make([]byte, 0, 4*len(states))
	for _, s := range states {
		b = binary.LittleEndian.AppendUint32(b, uint32(s))
	}
	return string(b)
}

// Match reports whether the whole of text is in the language of d.
func Match[T string | []byte](d *DFA, text T) bool {
	s, width := int32(0), int32(len(d.Classes.Rep))
	for i := range len(text) {
		if s = d.Next[s*width+int32(d.Classes.Of[text[i]])]; s == Dead {
			return false
		}
	}
	return d.Final[s]
}

// Shortest returns the shortest string of the language.
func Shortest(d *DFA) (text []byte, ok bool) { return Common(d, d) }

// step is like a table look-up but total: from Dead everything leads to Dead.
func (d *DFA) step(s int32, b byte) int32 {
	if s == Dead {
		return Dead
	}
	return d.Next[int(s)*len(d.Classes.Rep)+int(d.Classes.Of[b])]
}

func (d *DFA) final(s int32) bool { return s != Dead && d.Final[s] }

// Common finds the shortest string of both languages.
func Common(a, b *DFA) (witness []byte, ok bool) {
	return product(a, b, func(inA, inB bool) bool { return inA && inB },
		func(p, q int32) bool { return p != Dead && q != Dead })
}

// Outside finds the shortest string of a that is not one of b.
func Outside(a, b *DFA) (witness []byte, ok bool) {
	return product(a, b, func(inA, inB bool) bool { return inA && !inB }, func(p, _ int32) bool { return p != Dead })
}

func product(a, b *DFA, answer func(inA, inB bool) bool, alive func(p, q int32) bool) ([]byte, bool) {
	steps := jointSteps(a, b)
	search := newBFS([2]int32{0, 0})
	for {
		at, more := search.next()
		if !more {
			return nil, false
		}
		if answer(a.final(at[0]), b.final(at[1])) {
			return search.path(), true
		}
		for _, by := range steps {
			to := [2]int32{a.step(at[0], by), b.step(at[1], by)}
			if alive(to[0], to[1]) {
				search.visit(to, by)
			}
		}
	}
}

// jointSteps returns one readable byte for each pair of classes of a and b that have
// a byte in common.
func jointSteps(a, b *DFA) []byte {
	var out []byte
	for _, p := range a.Classes.Rep {
		for _, q := range b.Classes.Rep {
			if both := p.And(q); !both.Empty() {
				out = append(out, both.Pick())
			}
		}
	}
	return out
}
