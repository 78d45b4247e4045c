// Package pattern is one key pattern: literal text and typed placeholders, as
// in `cache:product:{id}` or `coupon:{#{couponId}}:stock`. It parses, prints,
// builds keys, matches them with captures, derives SCAN and ACL globs and the
// cluster hash tag, and decides exactly whether two patterns overlap or one
// contains the other, with a witness key.
//
// A pattern is a regular language of bytes that can be read in only one way:
// for every valid list of values Match(Build(values)) = values, and for every
// key that matches Build(Match(key)) = key. What would break that (an ambiguous
// pattern, a value with a separator in it) is an error, never a wrong key.
//
// Match here is the simple, allocating specification; to find the entry of
// millions of keys use package match. The package does no I/O.
//
// API: may change until 1.0.
package pattern

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Limits of one pattern; a pattern beyond them is refused by Parse.
const (
	MaxBytes        = 1024
	MaxPlaceholders = 16
	MaxSegments     = 64
)

// Pattern represents one parsed key pattern. It is immutable and safe for concurrent
// use.
type Pattern struct {
	text   string
	elems  []Element
	places []Placeholder
	tagged bool // a literal hash tag, however written
	glob   bool

	onceNFA, onceDFA sync.Once
	nfa              *automaton.NFA
	dfa              *automaton.DFA
	err              error // of making them
}

// Placeholder represents one {name} of a pattern.
type Placeholder struct {
	Name   string
	Type   scalar.Type
	Offset int // byte offset of '{' in the pattern's text
}

// Element represents a piece of a pattern: literal bytes, a placeholder, or the
// wildcard of a glob. The matcher compiles patterns from their elements.
type Element struct {
	Literal     string // "" for a placeholder or wildcard
	Placeholder int    // index into Placeholders, -1 for literals and wildcards
	Expr        automaton.Expr
	Crosses     bool // may hold the separator
	NoBraces    bool // is before or in the hash tag, so braces would move it
	Namespace   bool // of Namespaced: the literal is the name of the namespace
	lang        *scalar.Language
}

// Resolve answers the type of a placeholder. ok = false means undeclared, which
// reads as plain text.
type Resolve func(name string) (t scalar.Type, ok bool)

// SyntaxError represents a pattern that cannot be read, or not in one way only.
type SyntaxError struct {
	Text           string
	Offset, Length int    // the faulty bytes of Text
	Message        string // what was found and what was expected
	Proposal       string // what would be right, "" if unknown
	Ambiguous      []byte // a key that can be read in two ways, nil for other faults
}

func (e *SyntaxError) Error() string { return e.Message }

// ValueError represents a value that Build refuses.
type ValueError struct {
	Placeholder string
	Value       string
	Reason      string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("value %q for {%s} %s", e.Value, e.Placeholder, e.Reason)
}

// String returns the pattern as it was written.
func (p *Pattern) String() string { return p.text }

// Placeholders returns the placeholders in order. Do not change the slice.
func (p *Pattern) Placeholders() []Placeholder { return p.places }

// Elements returns the pieces of the pattern in order; two literals never stand
// side by side. Do not change the slice.
func (p *Pattern) Elements() []Element { return p.elems }

// After returns the pattern of what comes after the first n bytes of each key, which must be
// in the literal text that all keys begin with. It is for comparing: it builds no keys.
func (p *Pattern) After(n int) *Pattern {
	if n == 0 {
		return p
	}
	rest := &Pattern{text: p.text, places: p.places, glob: p.glob, elems: slices.Clone(p.elems)}
	if first := rest.elems[0].Literal; n < len(first) {
		rest.elems[0] = literalElement(first[n:])
	} else {
		rest.elems = rest.elems[1:]
	}
	return rest
}

// Has reports whether the pattern has a placeholder of a name.
func (p *Pattern) Has(name string) bool {
	return slices.ContainsFunc(p.places, func(q Placeholder) bool { return q.Name == name })
}

// Without returns the pattern without a placeholder and one separator beside it; the pattern itself where
// nothing would be left, or no pattern.
func (p *Pattern) Without(name string) *Pattern {
	place := "{" + name + "}"
	for _, cut := range []string{":" + place, place + ":", place} {
		if strings.Contains(p.text, cut) && p.text != cut {
			if base, err := Parse(strings.Replace(p.text, cut, "", 1), p.Types()); err == nil {
				return base
			}
		}
	}
	return p
}

// Span returns the first and the last element that hold one of the placeholders; -1 and -1 if
// there is none.
func (p *Pattern) Span(names ...string) (first, last int) {
	first, last = -1, -1
	for i, e := range p.elems {
		if e.Placeholder < 0 || !slices.Contains(names, p.places[e.Placeholder].Name) {
			continue
		}
		if last = i; first < 0 {
			first = i
		}
	}
	return first, last
}

// IsGlob reports whether the pattern was made by Glob.
func (p *Pattern) IsGlob() bool { return p.glob }

// Language returns the canonical text of the pattern's language: two patterns with
// the same Language match the same keys.
func (p *Pattern) Language() string {
	var b strings.Builder
	for _, e := range p.elems {
		switch {
		case e.Placeholder >= 0:
			fmt.Fprintf(&b, "{%s %t}", p.places[e.Placeholder].Type.Definition(), e.NoBraces)
		case e.Literal != "":
			fmt.Fprintf(&b, "%q", e.Literal)
		default:
			fmt.Fprintf(&b, "%v", e.Expr)
		}
	}
	return b.String()
}

// Build makes the key for the values of the placeholders, in order. The error
// is a *ValueError.
func (p *Pattern) Build(values ...string) ([]byte, error) {
	return p.AppendBuild(make([]byte, 0, len(p.text)+16*len(values)), values...)
}

// AppendBuild works as Build does, onto dst.
func (p *Pattern) AppendBuild(dst []byte, values ...string) ([]byte, error) {
	if p.glob || len(values) != len(p.places) {
		return dst, &ValueError{
			Reason: fmt.Sprintf("cannot be used: %s takes %d values, got %d", p.text, len(p.places), len(values))}
	}
	for _, e := range p.elems {
		if e.Placeholder < 0 {
			dst = append(dst, e.Literal...)
			continue
		}
		value := cmp.Or(values[e.Placeholder], p.places[e.Placeholder].Type.Default)
		if reason := e.refuse(p.places[e.Placeholder].Type, value); reason != "" {
			return dst, &ValueError{Placeholder: p.places[e.Placeholder].Name, Value: value, Reason: reason}
		}
		dst = append(dst, value...)
	}
	return dst, nil
}

// refuse says why value cannot stand for this element, "" if it can.
func (e *Element) refuse(t scalar.Type, value string) string {
	if e.NoBraces && strings.ContainsAny(value, "{}") {
		return "holds a brace, which would move the key to another cluster slot"
	}
	if automaton.Match(e.lang.DFA, value) {
		return ""
	}
	if value == "" {
		return "is empty"
	}
	if !e.Crosses && strings.IndexByte(value, scalar.Separator) >= 0 {
		return "holds the separator ':'"
	}
	return "is not " + t.Describe()
}

// Match reads the values of the placeholders out of key. It takes time linear
// in the length of the key.
func (p *Pattern) Match(key []byte) (captures []string, ok bool) {
	starts := make([]uint32, len(p.places))
	ends := make([]uint32, len(p.places))
	if !p.Split(key, starts, ends) {
		return nil, false
	}
	captures = make([]string, len(p.places))
	for i := range captures {
		captures[i] = string(key[starts[i]:ends[i]])
	}
	return captures, true
}

// Example returns a plausible key of the pattern.
func (p *Pattern) Example() []byte {
	if p.glob {
		key, _ := automaton.Shortest(p.DFA())
		return key
	}
	values := make([]string, len(p.places))
	for i, place := range p.places {
		values[i] = place.Type.Example()
	}
	key, err := p.Build(values...)
	if err != nil {
		key, _ = automaton.Shortest(p.DFA())
	}
	return key
}

// Overlap finds the shortest key that both patterns match.
func Overlap(a, b *Pattern) (witness []byte, ok bool) {
	if Disjoint(a, b) {
		return nil, false
	}
	return automaton.Common(a.DFA(), b.DFA())
}

// Contains reports whether every key of inner is a key of outer; if not, the
// counterexample is the shortest key that only inner matches.
func Contains(outer, inner *Pattern) (counterexample []byte, ok bool) {
	if outer == inner || outer.Language() == inner.Language() {
		return nil, true
	}
	key, found := automaton.Outside(inner.DFA(), outer.DFA())
	return key, !found
}

// Union is several patterns taken together.
type Union struct{ dfa *automaton.DFA }

// Join makes the union of patterns. The error is an
// *automaton.TooLargeError.
func Join(patterns ...*Pattern) (*Union, error) {
	alts := make([]automaton.Expr, len(patterns))
	for i, p := range patterns {
		parts := make([]automaton.Expr, len(p.elems))
		for j, e := range p.elems {
			parts[j] = e.Expr
		}
		alts[i] = automaton.Seq(parts...)
	}
	nfa, err := automaton.Compile(automaton.Alt(alts...))
	if err != nil {
		return nil, err
	}
	dfa, err := automaton.Determinize(nfa)
	return &Union{dfa}, err
}

// Contains reports whether every key of p is a key of some pattern of the
// union; if not, the counterexample is the shortest key that is none.
func (u *Union) Contains(p *Pattern) (counterexample []byte, ok bool) {
	key, found := automaton.Outside(p.DFA(), u.dfa)
	return key, !found
}

// NFA returns the position automaton of the whole pattern, its tags the indexes of
// Elements.
func (p *Pattern) NFA() *automaton.NFA {
	p.onceNFA.Do(func() {
		parts := make([]automaton.Expr, len(p.elems))
		for i, e := range p.elems {
			parts[i] = e.Expr.Tagged(i)
		}
		p.nfa, p.err = automaton.Compile(automaton.Seq(parts...))
	})
	return p.nfa
}

// DFA returns the deterministic automaton of the whole pattern.
func (p *Pattern) DFA() *automaton.DFA {
	n := p.NFA()
	p.onceDFA.Do(func() {
		if p.err == nil {
			p.dfa, p.err = automaton.Determinize(n)
		}
	})
	return p.dfa
}

// compile makes both automata. Parse calls it for every pattern that could
// exceed the limits, so that a Pattern in hand always has both.
func (p *Pattern) compile() error {
	p.DFA()
	return p.err
}

// Witness finds the shortest key that every pattern of within matches and none of
// without. decided is false when that takes too long to tell.
func Witness(within, without []*Pattern) (key []byte, found, decided bool) {
	budget := math.MaxInt
	return WitnessWithin(&budget, within, without)
}

// WitnessWithin works as Witness does, with a budget of steps that several calls share.
func WitnessWithin(budget *int, within, without []*Pattern) (key []byte, found, decided bool) {
	for _, p := range within[1:] {
		if Disjoint(within[0], p) {
			return nil, false, true
		}
	}
	dfas := func(list []*Pattern) []*automaton.DFA {
		out := make([]*automaton.DFA, len(list))
		for i, p := range list {
			out[i] = p.DFA()
		}
		return out
	}
	return automaton.DifferenceWithin(budget, dfas(within), dfas(without))
}
