// Package match takes the bytes of a key to the declared pattern it belongs to
// and to its captures: all patterns of a keyspace compiled into one automaton.
//
// The automaton reads a key segment by segment (a segment is what lies
// between two separators). In each state a segment is looked up among the
// literal segments that may be there, by a hash table; if it is not one of
// them, a byte automaton, the product of all placeholders and mixed segments
// that may be there, decides which of them it is. Both lead to exactly one
// next state, so a key is read once, from left to right, without backtracking
// and without allocation, in time linear in its length.
//
// Where several patterns match a key, the lower rank wins, then the narrower
// pattern; any other overlap is reported by Compile. The package is pure; it is
// not the place that decides what a key of some entry should look like.
//
// API: may change until 1.0.
package match

import (
	"encoding/binary"
	"math/bits"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Item represents a pattern with a rank; of the items that match a key the one with the
// lowest rank wins.
type Item struct {
	Pattern *pattern.Pattern
	Rank    int
}

// None says what Match returns for a key that no item matches.
const None = -1

// Captures receives where the placeholders of the matched pattern lie in the
// key, in order. Reuse it from key to key.
type Captures struct {
	N     int
	Start [pattern.MaxPlaceholders]uint32
	End   [pattern.MaxPlaceholders]uint32

	ends [pattern.MaxSegments]uint32 // of the segments; here so that no key pays for clearing it
}

// Of returns the i-th capture.
func (c *Captures) Of(key []byte, i int) []byte { return key[c.Start[i]:c.End[i]] }

// Matcher represents a compiled list of items. It is immutable and safe for concurrent
// use.
type Matcher struct {
	states []state
	words  []literalSegment // open addressing, length a power of two
	mask   uint32
	long   []byte // the words longer than 16 bytes
	plans  []plan // per item: how its captures are read off
}

// target describes where a segment leads: the item that owns the key if it ends here,
// and the state if a separator follows.
type target struct {
	item int32 // None
	next int32 // dead
}

const dead int32 = -1

// state describes what may be in one segment, given the segments before it.
type state struct {
	class   *classifier // nil: only literal segments may stand here
	first   target      // of label 1: most states have no other
	words   bool        // some literal segment may stand here
	targets []target    // by label of the classifier
}

// literalSegment represents a literal segment in one state.
type literalSegment struct {
	lo, hi uint64 // its first 16 bytes, zero-padded; of longer ones: offset into long, hash
	state  int32  // -1: an empty place
	length uint32
	target
}

// Match returns the index of the item that owns key, or None. If c is not nil
// it receives the captures.
func (m *Matcher) Match(key []byte, c *Captures) int {
	if len(m.states) == 0 {
		return None
	}
	at, segment, to := 0, 0, target{next: 0}
	for {
		end, lo, hi, hash := segmentAt(key, at)
		if c != nil && segment < len(c.ends) {
			c.ends[segment] = uint32(end)
		}
		to = m.lookup(to.next, key[at:end], lo, hi, hash)
		if end == len(key) {
			break
		}
		if to.next == dead {
			return None
		}
		at, segment = end+1, segment+1
	}
	if c != nil && to.item != None {
		m.plans[to.item].read(key, c)
	}
	return int(to.item)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
	mix   = 0x9e3779b97f4a7c15
)

// segmentAt finds where the segment that begins at `at` ends, its first 16
// bytes as two words, and a hash of all of it, eight bytes at a time.
func segmentAt(key []byte, at int) (end int, lo, hi, hash uint64) {
	const colons = ones * scalar.Separator
	for n := 0; ; n++ {
		var w uint64
		rest := len(key) - at
		switch {
		case rest >= 8:
			w = binary.LittleEndian.Uint64(key[at:])
		case len(key) >= 8:
			w = binary.LittleEndian.Uint64(key[len(key)-8:]) >> (8 * uint(8-rest) & 63)
			if rest == 0 {
				w = 0
			}
		default:
			for i := rest - 1; i >= 0; i-- {
				w = w<<8 | uint64(key[at+i])
			}
		}
		size := min(rest, 8)
		x := w ^ colons
		last := true
		if found := (x - ones) & ^x & highs; found != 0 && bits.TrailingZeros64(found)/8 < size {
			size = bits.TrailingZeros64(found) / 8
		} else {
			last = rest <= 8
		}
		if size < 8 {
			w &= 1<<(8*uint(size)) - 1
		}
		switch n {
		case 0:
			lo = w
		case 1:
			hi = w
		}
		if size > 0 { // a segment of 8 bytes hashes alike inside a key and at its end
			hash = (hash ^ w) * mix
			hash ^= hash >> 32
		}
		at += size
		if last {
			return at, lo, hi, hash
		}
	}
}

func (m *Matcher) lookup(s int32, segment []byte, lo, hi, hash uint64) target {
	st := &m.states[s]
	if !st.words {
		return st.classify(segment)
	}
	length := uint32(len(segment))
	for i := place(s, length, hash) & m.mask; ; i = (i + 1) & m.mask {
		w := &m.words[i]
		if w.state < 0 {
			break
		}
		if w.state != s || w.length != length {
			continue
		}
		if length <= 16 && w.lo == lo && w.hi == hi ||
			length > 16 && string(m.long[w.lo:w.lo+uint64(length)]) == string(segment) {
			return w.target
		}
	}
	return st.classify(segment)
}

func (s *state) classify(segment []byte) target {
	if s.class == nil {
		return target{None, dead}
	}
	label := s.class.label(segment)
	if label == 1 {
		return s.first
	}
	return s.targets[label]
}

// place returns where in the table the search for a word begins.
func place(s int32, length uint32, hash uint64) uint32 {
	h := (hash ^ uint64(length)<<56 ^ uint64(s)) * mix
	return uint32(h >> 32)
}

// plan says how the captures of one item are read off the bounds of the
// segments. A placeholder that shares its segment with another, or crosses
// separators inside the key, needs the pattern's own splitter.
type plan struct {
	spots []spot
	split *pattern.Pattern // nil unless spots cannot say it
}

// spot represents one capture: it is in one segment, between literal bytes.
type spot struct {
	segment     int
	left, right uint32 // literal bytes before and after it in the segment
	rest        bool   // runs to the end of the key
}

func (p *plan) read(key []byte, c *Captures) {
	if p.split != nil {
		c.N = len(p.split.Placeholders())
		p.split.Split(key, c.Start[:], c.End[:])
		return
	}
	c.N = len(p.spots)
	for i, s := range p.spots {
		start := uint32(0)
		if s.segment > 0 {
			start = c.ends[s.segment-1] + 1
		}
		c.Start[i] = start + s.left
		c.End[i] = c.ends[s.segment] - s.right
		if s.rest {
			c.End[i] = uint32(len(key))
		}
	}
}
