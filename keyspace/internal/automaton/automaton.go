// Package automaton decides questions about regular languages of bytes
// exactly: is this string in the language, have two languages a string in
// common, is one inside the other, can a string be read in two ways. Patterns,
// scalar types and the matcher are on it.
//
// An Expr is built from byte sets, compiled to a position automaton (NFA, after
// Glushkov: one state per byte set of the expression, no empty moves) and from
// there, where a question needs it, to a DFA by the subset construction.
//
// It is not a regular expression engine for users: there is no syntax here, no
// search, only whole strings. Sizes are bounded by MaxPositions and MaxStates;
// what exceeds them is an error, never a slow answer.
package automaton

import "fmt"

const (
	// MaxPositions bounds the byte sets of one compiled expression.
	MaxPositions = 20_000
	// MaxStates bounds the states of one DFA.
	MaxStates = 20_000
)

// TooLargeError is returned when a language needs a larger automaton than the
// limits of this package allow.
type TooLargeError struct {
	What  string // "positions", "states" …
	Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("needs more than %d automaton %s", e.Limit, e.What)
}

// Set represents a set of bytes.
type Set [4]uint64

// Range returns the set of the bytes lo to hi, both included.
func Range(lo, hi byte) Set {
	var s Set
	for b := int(lo); b <= int(hi); b++ {
		s.add(byte(b))
	}
	return s
}

// Of returns the set of the bytes of text.
func Of(text string) Set {
	var s Set
	for i := 0; i < len(text); i++ {
		s.add(text[i])
	}
	return s
}

func (s *Set) add(b byte) { s[b>>6] |= 1 << (b & 63) }

// Has reports whether b is in s.
func (s Set) Has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

// Union returns the set of bytes in s or t.
func (s Set) Union(t Set) Set {
	return Set{s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]}
}

// Minus returns the set of bytes in s and not in t.
func (s Set) Minus(t Set) Set {
	return Set{s[0] &^ t[0], s[1] &^ t[1], s[2] &^ t[2], s[3] &^ t[3]}
}

// And returns the set of bytes in s and in t.
func (s Set) And(t Set) Set {
	return Set{s[0] & t[0], s[1] & t[1], s[2] & t[2], s[3] & t[3]}
}

// Empty reports whether s has no byte.
func (s Set) Empty() bool { return s == Set{} }

// All is the set of all 256 bytes.
var All = Set{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// readable is the order in which a byte is chosen to stand for a set: a witness
// key should look like a key.
const readable = "a1bcdefghijklmnopqrstuvwxyz023456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:/@|+,;=~!#$%&()<>[]^`'\"*?\\{} "

// Pick returns the most readable byte of a non-empty set.
func (s Set) Pick() byte {
	for i := 0; i < len(readable); i++ {
		if s.Has(readable[i]) {
			return readable[i]
		}
	}
	for b := 0; b < 256; b++ {
		if s.Has(byte(b)) {
			return byte(b)
		}
	}
	return 0
}
