package value

import (
	"math"
	"time"
)

// Score writes and reads the scores of a sorted set, which are doubles.
type Score[S any] struct {
	Append func(dst []byte, v S) ([]byte, error)
	From   func(f float64) (S, error)
	By     func(dst []byte, v S) ([]byte, error) // writes what a score is increased by; nil: it is not increased
	Most   int64                                 // scores are whole and at most this, either way; 0: any number
}

// maxScore is the largest whole number that a double holds exactly.
const maxScore = 1 << 53

// IntScore returns a whole number of at most 2^53 either way, within low and high.
func IntScore(low, high int64) Score[int64] {
	return Score[int64]{Append: Int(max(low, -maxScore), min(high, maxScore)).Append, From: wholeScore,
		By: Int(-maxScore, maxScore).Append, Most: maxScore}
}

func wholeScore(f float64) (int64, error) {
	if f != math.Trunc(f) || math.Abs(f) > maxScore {
		return 0, Bad("is not a whole number that a score holds exactly")
	}
	return int64(f), nil
}

// FloatScore returns any number.
func FloatScore() Score[float64] {
	return Score[float64]{Append: Float().Append, From: func(f float64) (float64, error) { return f, nil },
		By: Float().Append}
}

// UnixSScore returns a time in whole seconds.
func UnixSScore() Score[time.Time] {
	return timeScore(UnixS(), func(n int64) time.Time { return time.Unix(n, 0) })
}

// UnixMSScore returns a time in whole milliseconds.
func UnixMSScore() Score[time.Time] { return timeScore(UnixMS(), time.UnixMilli) }

func timeScore(c Codec[time.Time], of func(int64) time.Time) Score[time.Time] {
	return Score[time.Time]{Append: c.Append, From: func(f float64) (time.Time, error) {
		n, err := wholeScore(f)
		return of(n).UTC(), err
	}}
}
