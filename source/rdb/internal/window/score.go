package window

import (
	"math"
	"strconv"
)

// TextScore reads a score as old versions write them: a length, and a decimal.
func (w *Window) TextScore() float64 {
	switch n := w.Byte(); n {
	case scoreNaN:
		return math.NaN()
	case ScoreInfinity:
		return math.Inf(1)
	case ScoreNegative:
		return math.Inf(-1)
	default:
		score, err := strconv.ParseFloat(string(w.Take(int(n))), 64)
		if err != nil {
			w.Failf("a score that is no number")
		}
		return score
	}
}

// Lengths that are scores without a decimal text.
const (
	scoreNaN      = 253
	ScoreInfinity = 254
	ScoreNegative = 255
)
