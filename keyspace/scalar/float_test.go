package scalar

import (
	"math"
	"testing"
)

// TestOneGrammarOfNumbers: what only Go takes for a number is none.
func TestOneGrammarOfNumbers(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "+1.5": 1.5, "-0": 0, ".5": .5, "5.": 5, "1e3": 1000, "1E-3": .001,
		"007": 7, "1e999": math.Inf(1),
		"inf": math.Inf(1), "-Infinity": math.Inf(-1)} {
		if f, ok := ParseFloat(text); !ok || f != want {
			t.Errorf("%q: %v, %t", text, f, ok)
		}
		if typ := (Type{Kind: Float}); !typ.Is([]byte(text)) {
			t.Errorf("%q is no float", text)
		}
	}
	for _, text := range []string{"", "1_0", "0x1p-2", "0X1F", "1_000.5", "NaN", "nan", "0b1", "0o7", " 1", "1 ", "1e",
		"infinit", "1,5"} {
		if _, ok := ParseFloat(text); ok {
			t.Errorf("%q is read", text)
		}
		for _, kind := range []Kind{Float, Int, UnixS, UnixMS} {
			if typ := (Type{Kind: kind}); typ.Is([]byte(text)) || typ.CheckJSON([]byte(text)) == nil {
				t.Errorf("%q is %v", text, kind)
			}
		}
	}
}
