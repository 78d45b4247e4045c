package pattern

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/internal/automaton"
	"pgregory.net/rapid"
)

// TestApartIsTrue: patterns that literals tell apart have no key in common, globs among them.
func TestApartIsTrue(t *testing.T) {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", ":", "a:", "b", "*", "?", "[a-b]"}), 1, 5)
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		draw := func() *Pattern {
			if rapid.Bool().Draw(t, "glob") {
				if p, err := Glob(strings.Join(parts.Draw(t, "parts"), "")); err == nil {
					return p
				}
			}
			return genPattern(t)
		}
		a, b := draw(), draw()
		if key, common := automaton.Common(a.DFA(), b.DFA()); common && (Disjoint(a, b) || Disjoint(b, a)) {
			t.Fatalf("%s and %s have %q in common", a, b, key)
		}
	})
}

// TestApart: what literals tell, and what they do not.
func TestApart(t *testing.T) {
	for _, x := range []struct {
		a, b  string
		apart bool
	}{
		{"a:{x}", "b:{x}", true}, {"{x}:a", "{x}:b", true}, {"a{x}", "b{x}", true}, {"{x}a", "{x}b", true},
		{"a:{x}", "a:{x}:{y}", true}, {"a:{x}", "a:b", false}, {"a{x}a", "a", true}, {"a{x}b", "a", true},
		{"{x}:q1:high", "{#{x}:q1}:{y}", true}, {"a:{rest}", "b:{x}", true}, {"a:{rest}", "a:b:{x}:{y}", false},
		{"a:b:{rest}", "a", true}, {"{x}:a", "{y}:ba", true}, {"a", "a", false}, {"{x}", "{y}", false},
	} {
		if a, b := parse(t, x.a), parse(t, x.b); Disjoint(a, b) != x.apart || Disjoint(b, a) != x.apart {
			t.Errorf("%s and %s: %t", x.a, x.b, !x.apart)
		}
	}
}
