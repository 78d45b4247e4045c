package pattern

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/scalar"
)

// small are types with a value of each kind over the alphabet of bruteKeys, and the
// expression that says independently what they hold.
var small = []struct{ name, typ, expression string }{
	{"e", "a|1", `(a|1)`}, {"ea", "aa|a", `(aa|a)`}, {"n", "int", `(0|-?[1-9][0-9]*)`}, {"o", "int 1..1", `1`},
	{"x", "text", `[^:]+`}, {"m", "text max 2", `[^:]{1,2}`}, {"r", "/a*1/", `a*1`}, {"z", "text rest", `.+`},
}

// bruteKeys lists all keys of at most five bytes of a small alphabet.
var bruteKeys = func() (keys []string) {
	level := []string{""}
	for range 5 {
		var next []string
		for _, k := range level {
			for _, c := range "a1:" {
				next = append(next, k+string(c))
			}
		}
		keys, level = append(keys, next...), next
	}
	return keys
}()

type brute struct {
	*Pattern
	keys []bool
}

// TestRelationsAgreeWithBruteForce: whether two patterns have a key in common, and
// whether one holds all keys of the other, is what trying all small keys says.
// KEYWRIGHT_SOAK says how many patterns are drawn beside 120.
func TestRelationsAgreeWithBruteForce(t *testing.T) {
	more, r := gate.Count(t, "KEYWRIGHT_SOAK", 0, 200), gate.Rand(t)
	var drawn []brute
	for len(drawn) < 120+more {
		if b, ok := drawBrute(t, r); ok {
			drawn = append(drawn, b)
		}
	}
	pairs := 0
	for i, p := range drawn {
		for range 40 {
			q := drawn[r.IntN(len(drawn))]
			compare(t, p, q)
			pairs++
		}
		if t.Failed() {
			t.Fatalf("after %d patterns", i)
		}
	}
	t.Logf("%d patterns, %d pairs, %d keys", len(drawn), pairs, len(bruteKeys))
}

func drawBrute(t *testing.T, r *rand.Rand) (brute, bool) {
	var text, expression strings.Builder
	expression.WriteString("^(?s:")
	types := map[string]string{}
	for range 1 + r.IntN(4) {
		if r.IntN(2) == 0 {
			literal := []string{"a", "1", ":", "aa", ":a"}[r.IntN(5)]
			text.WriteString(literal)
			expression.WriteString(literal)
			continue
		}
		s := small[r.IntN(len(small))]
		text.WriteString("{" + s.name + "}")
		expression.WriteString(s.expression)
		types[s.name] = s.typ
	}
	expression.WriteString(")$")
	p, err := Parse(text.String(), func(name string) (scalar.Type, bool) {
		typ, err := scalar.Parse(types[name], nil)
		return typ, err == nil
	})
	if err != nil {
		return brute{}, false
	}
	b := brute{Pattern: p}
	oracle := regexp.MustCompile(expression.String())
	for _, k := range bruteKeys {
		_, in := p.Match([]byte(k))
		if in != oracle.MatchString(k) {
			t.Fatalf("%s: %q is in it: %t, by the expression %s: %t", p, k, in, oracle, !in)
		}
		b.keys = append(b.keys, in)
	}
	return b, true
}

func compare(t *testing.T, p, q brute) {
	common, outside := "", ""
	for i, k := range bruteKeys {
		if p.keys[i] && q.keys[i] && common == "" {
			common = k
		}
		if q.keys[i] && !p.keys[i] && outside == "" {
			outside = k
		}
	}
	witness, overlaps := Overlap(p.Pattern, q.Pattern)
	if !overlaps && common != "" || overlaps && len(witness) < 6 && common == "" && inAlphabet(witness) {
		t.Errorf("Overlap(%s, %s) = %q %t, and trying finds %q", p, q, witness, overlaps, common)
	}
	counter, contains := Contains(p.Pattern, q.Pattern)
	if contains && outside != "" || !contains && len(counter) < 6 && outside == "" && inAlphabet(counter) {
		t.Errorf("Contains(%s, %s) = %q %t, and trying finds %q", p, q, counter, contains, outside)
	}
}

func inAlphabet(key []byte) bool { return strings.Trim(string(key), "a1:") == "" && len(key) > 0 }
