package rdb

import (
	"math"
	"strconv"
)

// textScore reads a score as old versions write them: a length, and a decimal.
func (w *window) textScore() float64 {
	switch n := w.byte(); n {
	case scoreNaN:
		return math.NaN()
	case scoreInfinity:
		return math.Inf(1)
	case scoreNegative:
		return math.Inf(-1)
	default:
		score, err := strconv.ParseFloat(string(w.take(int(n))), 64)
		if err != nil {
			w.failf("a score that is no number")
		}
		return score
	}
}

// Lengths that stand for scores that are no decimal text.
const (
	scoreNaN      = 253
	scoreInfinity = 254
	scoreNegative = 255
)
