package ranking

import "time"

// Step is how a ranking's time is divided into periods.
type Step struct {
	// Begin is when the period of t begins.
	Begin func(t time.Time) time.Time
	// Add is a moment in the period n periods behind that of t; n may be negative.
	Add func(t time.Time, n int) time.Time
	// Longest is the length of the longest period.
	Longest time.Duration
}

// The usual periods, in the location that the time has. An hour that a clock
// runs through twice has one key, and a window counts it once.
var (
	Hour = Step{
		Begin:   func(t time.Time) time.Time { return t.Add(-time.Duration(t.Minute())*time.Minute - seconds(t)) },
		Add:     func(t time.Time, n int) time.Time { return t.Add(time.Duration(n) * time.Hour) },
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
		Begin: func(t time.Time) time.Time { return midnight(noon(t, 0, 1-t.Day())) },
		Add:   func(t time.Time, n int) time.Time { return noon(noon(t, 0, 1-t.Day()), n, 0) }, Longest: 31*24*time.Hour + time.Hour,
	}
)

func seconds(t time.Time) time.Duration {
	return time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
}

// noon of a day: midnight is missing where summer time begins at it.
func noon(t time.Time, months, days int) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m+time.Month(months), d+days, 12, 0, 0, 0, t.Location())
}

func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}
