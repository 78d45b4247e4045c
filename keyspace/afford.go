package keyspace

import (
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// maxStates bounds the automaton states of all regular expressions of a declaration, each
// counted once, and of the patterns that hold one: so many take seconds and 100 MB.
const maxStates = 1 << 18

const tooManyStates = "the regular expressions of the declaration need more than %d automaton states together"

// simpler is what to do about it.
const simpler = "give vars simpler types: an expression like [ab]*a[ab]{12} needs thousands of states"

// affords reports whether there is room for the expression of a type, if it is one, and
// takes the room.
func (l *loader) affords(t scalar.Type) bool {
	if t.Kind != scalar.Regexp || l.priced[t.Expr] {
		return true
	}
	if l.room <= 0 {
		return false
	}
	l.priced[t.Expr] = true
	if lang, err := t.Value(); err == nil && lang != nil {
		l.room -= len(lang.DFA.Final)
	}
	return l.room > 0
}

// affordsPattern is affords for a pattern that was read.
func (l *loader) affordsPattern(p *pattern.Pattern) bool {
	for _, place := range p.Placeholders() {
		if place.Type.Kind == scalar.Regexp {
			l.room -= len(p.DFA().Final)
			return l.room > 0
		}
	}
	return true
}
