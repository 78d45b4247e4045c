package pattern

import (
	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Table represents a deterministic automaton of bytes as plain numbers, for code that is
// generated in other languages: begin in state 0; a byte b leads from state s to
// Next[s*Width+Classes[b]], where -1 is a refusal; the text belongs to the
// language if the last state is Final.
type Table struct {
	Classes [256]uint8
	Width   int
	Next    []int32
	Final   []bool
}

// Table returns the automaton of the values that may stand for this placeholder, the
// same one that Build asks. It is nil for a literal. That no brace may be in
// a value (NoBraces) is in it.
func (e Element) Table() *Table {
	if e.Placeholder < 0 || e.lang == nil {
		return nil
	}
	d := e.lang.DFA
	if e.NoBraces {
		if nfa, err := automaton.Compile(e.Expr); err == nil {
			if narrow, err := automaton.Determinize(nfa); err == nil {
				d = narrow
			}
		}
	}
	return tableOf(d)
}

// TableOf returns the automaton of a language of values.
func TableOf(l *scalar.Language) *Table { return tableOf(l.DFA) }

func tableOf(d *automaton.DFA) *Table {
	return &Table{Classes: d.Classes.Of, Width: len(d.Classes.Rep), Next: d.Next, Final: d.Final}
}

// Accepts reports whether text is in the language of the table.
func (t *Table) Accepts(text string) bool {
	s := int32(0)
	for i := range len(text) {
		if s = t.Next[int(s)*t.Width+int(t.Classes[text[i]])]; s < 0 {
			return false
		}
	}
	return t.Final[s]
}
