package pattern

import "github.com/keywright/keywright/keyspace/scalar"

// (design stub: the lead is writing this package)

type Pattern struct{ text string }

// Placeholder is one {name} of a pattern, in order.
type Placeholder struct {
	Name   string
	Type   scalar.Type
	Offset int // byte offset of '{' in the pattern's text
}

// Resolve answers the type of a placeholder; ok=false means undeclared, which reads as plain `text`.
type Resolve func(name string) (scalar.Type, bool)

// SyntaxError is a pattern that cannot be read.
type SyntaxError struct {
	Text           string
	Offset, Length int // bytes of Text
	Message        string
	Proposal       string
}

func (e *SyntaxError) Error() string { return e.Message }

// ValueError is a value Build refuses.
type ValueError struct{ Placeholder, Value, Reason string }

func (e *ValueError) Error() string { return e.Reason }

func Parse(text string, resolve Resolve) (*Pattern, error) { return &Pattern{text}, nil }

// Glob compiles a Redis glob (`*`, `?`, `[...]`, escapes), used by owns, foreign and cleanup. It is a
// pattern like any other for the matcher, Overlap and Contains. It has no placeholders and cannot be built.
func Glob(text string) (*Pattern, error) { return &Pattern{text}, nil }

func (p *Pattern) String() string                                           { return p.text }
func (p *Pattern) Placeholders() []Placeholder                              { return nil }
func (p *Pattern) Build(values ...string) ([]byte, error)                   { return nil, nil } // *ValueError
func (p *Pattern) AppendBuild(dst []byte, values ...string) ([]byte, error) { return dst, nil }
func (p *Pattern) Match(key []byte) (captures []string, ok bool)            { return nil, false } // slow; the specification of the matcher
func (p *Pattern) ScanGlob() string                                         { return "*" }        // MATCH argument: matches at least every key of the pattern
func (p *Pattern) ACLGlob() (glob string, exact bool)                       { return "*", false }
func (p *Pattern) HashTag() (tag string, ok bool)                           { return "", false }
func (p *Pattern) SameSlot(q *Pattern) bool                                 { return false } // provably one slot whenever same-named placeholders have equal values
func (p *Pattern) Derive(role string) *Pattern                              { return p }     // {main}:role or main:role; keeps the slot
func (p *Pattern) Example() []byte                                          { return nil }   // a plausible key

// Overlap: some key matches both; the shortest such key.
func Overlap(a, b *Pattern) (witness []byte, ok bool) { return nil, false }

// Contains: every key of inner is a key of outer; otherwise a key of inner that is not.
func Contains(outer, inner *Pattern) (counterexample []byte, ok bool) { return nil, false }
