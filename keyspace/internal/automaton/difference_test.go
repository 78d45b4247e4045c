package automaton

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

// TestDifference: the witness is in each of the one and in none of the other, and
// there is none only if no short text is such a one.
func TestDifference(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		var in, out []*DFA
		for i := range rapid.IntRange(1, 4).Draw(t, "automata") {
			e, err := FromRegexp(genRegexp(t, 1))
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 || rapid.Bool().Draw(t, "in") {
				in = append(in, dfa(t, e))
			} else {
				out = append(out, dfa(t, e))
			}
		}
		belongs := func(text []byte) bool {
			for _, d := range in {
				if !Match(d, text) {
					return false
				}
			}
			for _, d := range out {
				if Match(d, text) {
					return false
				}
			}
			return true
		}
		witness, found, decided := Difference(in, out)
		if !decided {
			t.Fatal("small automata are too much")
		}
		if found && !belongs(witness) {
			t.Fatalf("%q does not belong", witness)
		}
		if text := genText(t); !found && belongs([]byte(text)) {
			t.Fatalf("%q belongs", text)
		}
	})
}

// TestDifferenceEnds: what takes too long is not decided, and takes no longer.
func TestDifferenceEnds(t *testing.T) {
	all := One(Of("abcd"))
	// remembers eleven letters
	long := func(last string) *DFA { return dfa(t, Seq(Star(all), One(Of(last)), Repeat(all, 10, 10))) }
	if _, _, decided := Difference([]*DFA{long("ab"), long("ac")}, []*DFA{dfa(t, Star(all))}); decided {
		t.Error("decided")
	}
}
