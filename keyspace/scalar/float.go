package scalar

import (
	"math"
	"strconv"
)

// ParseFloat reads a number as Redis prints it, and as all generated code reads it:
// decimals, an exponent, and the infinities. What is too large is infinite. Unlike
// strconv.ParseFloat it knows no underscores, no hexadecimal digits and no NaN.
func ParseFloat(text string) (f float64, ok bool) {
	for i := range len(text) {
		if c := text[i]; c == '_' || c|0x20 == 'x' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}
