package ranking

import (
	"slices"
	"strconv"
	"time"
)

// Step describes how a ranking's time is divided into periods.
type Step struct {
	// Begin is when the period of t begins.
	Begin func(t time.Time) time.Time
	// Add is a moment in the period n periods after that of t; n may be negative.
	Add func(t time.Time, n int) time.Time
	// Longest is the length of the longest period.
	Longest time.Duration
}

// The usual periods, in the location that the time has. They are what its clocks
// and calendars show: an hour that a clock runs through twice is one period of two
// hours, and one that it jumps into or over is shorter or none.
var (
	Hour = Step{
		Begin: func(t time.Time) time.Time { return begin(t, thisHour) },
		Add: func(t time.Time, n int) time.Time {
			for ; n < 0; n++ {
				t = begin(t, thisHour).Add(-1)
			}
			for ; n > 0; n-- {
				t = nextHour(t)
			}
			return t
		},
		Longest: 2 * time.Hour,
	}
	Day = Step{
		Begin:   midnight,
		Add:     func(t time.Time, n int) time.Time { return noon(t, 0, n) },
		Longest: 25 * time.Hour,
	}
	// Week begins on Monday.
	Week = Step{
		Begin: func(t time.Time) time.Time { return midnight(noon(t, 0, -(int(t.Weekday())+6)%7)) },
		Add:   func(t time.Time, n int) time.Time { return noon(t, 0, 7*n) }, Longest: 7*24*time.Hour + time.Hour,
	}
	Month = Step{
		Begin:   func(t time.Time) time.Time { return midnight(noon(t, 0, 1-t.Day())) },
		Add:     func(t time.Time, n int) time.Time { return noon(noon(t, 0, 1-t.Day()), n, 0) },
		Longest: 31*24*time.Hour + time.Hour,
	}
	Year = Step{
		Begin:   func(t time.Time) time.Time { return midnight(newYear(t)) },
		Add:     func(t time.Time, n int) time.Time { return noon(newYear(t), 12*n, 0) },
		Longest: 366*24*time.Hour + time.Hour,
	}
)

// thisHour and thisDay are how long ago an hour or a day began by the clock.
func thisHour(t time.Time) time.Duration {
	return time.Duration(t.Minute())*time.Minute + seconds(t)
}

func thisDay(t time.Time) time.Duration { return time.Duration(t.Hour())*time.Hour + thisHour(t) }

// begin returns when the period of t began for the first time: not before the clock was
// last moved within it, unless it was moved back into the same one.
func begin(t time.Time, ago func(time.Time) time.Duration) time.Time {
	for {
		moved, _ := t.ZoneBounds()
		first := t.Add(-ago(t))
		if !moved.IsZero() && first.Before(moved) {
			first = moved
		}
		before := first.Add(-1)
		if clockStart(before, ago) != clockStart(t, ago) {
			return first
		}
		t = before
	}
}

// clockStart names a period by what clocks show when it begins, in seconds.
func clockStart(t time.Time, ago func(time.Time) time.Duration) int64 {
	_, offset := t.Zone()
	return t.Add(-ago(t)).Unix() + int64(offset)
}

// nextHour returns the first moment of the next hour that a clock shows.
func nextHour(t time.Time) time.Time {
	now := clockStart(t, thisHour)
	for {
		next := t.Add(time.Hour - thisHour(t))
		if _, moved := t.ZoneBounds(); !moved.IsZero() && moved.Before(next) {
			next = moved
		}
		if t = next; clockStart(t, thisHour) != now {
			return t
		}
	}
}

// Window names a window: when its newest period begins, how many periods it has,
// and their weights if they differ: 2026-11-21T00-7, 2026-11-21T00-1_0.5_0.25.
func (s Step) Window(end time.Time, weights []float64) string {
	name := s.Begin(end).Format("2006-01-02T15") + "-"
	if slices.IndexFunc(weights, func(w float64) bool { return w != 1 }) < 0 {
		return name + strconv.Itoa(len(weights))
	}
	for i, w := range weights {
		if i > 0 {
			name += "_"
		}
		name += strconv.FormatFloat(w, 'g', -1, 64)
	}
	return name
}

func seconds(t time.Time) time.Duration {
	return time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
}

// noon of a day: midnight is missing where summer time begins at it.
func noon(t time.Time, months, days int) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m+time.Month(months), d+days, 12, 0, 0, 0, t.Location())
}

// newYear returns noon of the first day of the year.
func newYear(t time.Time) time.Time { return noon(t, 1-int(t.Month()), 1-t.Day()) }

func midnight(t time.Time) time.Time { return begin(t, thisDay) }
