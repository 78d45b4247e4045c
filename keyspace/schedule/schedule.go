// Package schedule says when something is done again: at an interval, or at times of the
// clock as cron has them. It is pure: the time and the time zone are given to it.
//
// It starts nothing and waits for nothing.
//
// API: may change until 1.0.
package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Schedule describes when something is done. Every or Cron is set.
type Schedule struct {
	Every time.Duration // at multiples of it since 1970 in UTC: the same times for all
	Cron  string        // five fields: minute, hour, day of the month, month, day of the week
	Zone  string        // of Cron, as in Europe/Berlin; "": UTC

	minutes, hours, days, months, weekdays uint64 // a bit for each value
	anyDay, anyWeekday                     bool
}

// Bounds of an interval.
const (
	LeastEvery = time.Minute
	MostEvery  = 366 * 24 * time.Hour
)

// Interval returns a schedule at an interval.
func Interval(every time.Duration) (Schedule, error) {
	if every < LeastEvery || every > MostEvery || every%time.Second != 0 {
		return Schedule{}, errors.New("an interval is whole seconds, from 1m to 366d")
	}
	return Schedule{Every: every}, nil
}

// field is one of the five fields.
type field struct {
	name     string
	min, max int
	names    []string // of values, from min on
}

var fields = []field{
	{"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// maxCron bounds the text of a cron schedule.
const maxCron = 256

// Cron reads five fields, as in `30 3 * * mon-fri`. zone is "" or the name of a time zone, whose
// form alone is checked: which zones there are is known where it is used.
func Cron(text, zone string) (Schedule, error) {
	words := strings.Fields(text)
	if len(words) != len(fields) || len(text) > maxCron {
		return Schedule{},
			errors.New("a cron schedule has five fields: minute, hour, day of the month, month, day of the week")
	}
	var sets [5]uint64
	for i, f := range fields {
		var err error
		if sets[i], err = f.parse(words[i]); err != nil {
			return Schedule{}, err
		}
	}
	if !IsZone(zone) {
		return Schedule{}, fmt.Errorf("%q is no name of a time zone", zone)
	}
	s := Schedule{Cron: strings.Join(words, " "), Zone: zone,
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: (sets[4] | sets[4]>>7) & 0x7f,
		anyDay: strings.HasPrefix(words[2], "*"), anyWeekday: strings.HasPrefix(words[4], "*")}
	if _, ok := s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC); !ok {
		return Schedule{}, errors.New("there is no such day")
	}
	return s, nil
}

var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,3}$`)

// IsZone reports whether a text has the form of the name of a time zone. "Local" has not:
// it is another one on each machine.
func IsZone(name string) bool {
	return name == "" || len(name) <= 64 && name != "Local" && zoneName.MatchString(name)
}

// parse reads a list of values, ranges and steps: `*`, `5`, `1-5`, `*/15`, `8-18/2`, `mon,wed`.
func (f field) parse(text string) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 || step > f.max || !digits(stepText) {
				return 0, f.fault(part)
			}
		}
		low, high := f.min, f.max
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			low, err = f.value(first)
			if high = low; ranged && err == nil {
				high, err = f.value(last)
			}
			if err != nil || low > high || stepped && !ranged {
				return 0, f.fault(part)
			}
		}
		for v := low; v <= high; v += step {
			set |= 1 << v
		}
	}
	return set, nil
}

func (f field) fault(part string) error {
	return fmt.Errorf("%q is no %s: that is *, a number from %d to %d, 1-5, */2 or several with commas", part, f.name,
		f.min, f.max)
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || !digits(text) || n < f.min || n > f.max {
		return 0, f.fault(text)
	}
	return n, nil
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// String returns the schedule in words.
func (s Schedule) String() string {
	if s.Every > 0 {
		return "every " + s.Every.String()
	}
	zone := s.Zone
	if zone == "" {
		zone = "UTC"
	}
	return "cron " + s.Cron + " (" + zone + ")"
}

// farthest says how many days Next looks ahead: there are eight years without a 29 February.
const farthest = 9 * 366

// Next returns the first time after a moment; false: there is none.
//
// Where the clock is put forward, what is due in the hour that is left out is due when the
// hour ends. Where it is put back, what names its hours is due once, at the earlier of the
// two times; what is due in each hour is due in both.
func (s Schedule) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	if s.Every > 0 {
		each := int64(s.Every / time.Second)
		n := after.Unix() / each
		if after.Unix() < 0 && after.Unix()%each != 0 {
			n--
		}
		return time.Unix((n+1)*each, 0).UTC(), true
	}
	// what was due on days before may be due now, where hours are left out
	y, m, d := after.In(zone).AddDate(0, 0, -2).Date()
	first := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	var best time.Time
	// on days after, hours may be due before, where the clock was put back
	for i, since := 0, 0; i < farthest && since < 3; i++ {
		day := first.AddDate(0, 0, i)
		if s.onDay(day) {
			for _, at := range s.ofDay(day, after, zone) {
				if best.IsZero() || at.Before(best) {
					best = at
				}
			}
		}
		if !best.IsZero() {
			since++
		}
	}
	return best.UTC(), !best.IsZero()
}

// onDay reports whether something is due on a day. As cron does, one of the two days is enough
// where both are named.
func (s Schedule) onDay(day time.Time) bool {
	in := s.days>>day.Day()&1 == 1
	on := s.weekdays>>int(day.Weekday())&1 == 1
	if s.months>>int(day.Month())&1 == 0 {
		return false
	}
	if s.anyDay || s.anyWeekday {
		return in && on
	}
	return in || on
}

// ofDay gives the first time of a day after a moment, none if there is none.
func (s Schedule) ofDay(day, after time.Time, zone *time.Location) (out []time.Time) {
	both := bits.OnesCount64(s.hours) == 24
	var best time.Time
	for h := range 24 {
		if s.hours>>h&1 == 0 {
			continue
		}
		for m := range 60 {
			if s.minutes>>m&1 == 0 {
				continue
			}
			wall := day.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute)
			for i, at := range moments(wall, zone) {
				if (i == 0 || both) && at.After(after) && (best.IsZero() || at.Before(best)) {
					best = at
				}
			}
		}
	}
	if best.IsZero() {
		return nil
	}
	return []time.Time{best}
}

// moments returns the times at which the clock of a zone shows what wall shows in UTC, the
// earliest first: two where it was put back. Where it is put forward and never shows that, it
// is the moment when it is.
func moments(wall time.Time, zone *time.Location) []time.Time {
	around := 36 * time.Hour
	_, before := wall.Add(-around).In(zone).Zone()
	_, then := wall.Add(around).In(zone).Zone()
	var out []time.Time
	for _, offset := range [...]int{max(before, then), min(before, then)} {
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, is := at.In(zone).Zone(); is == offset && (len(out) == 0 || !out[0].Equal(at)) {
			out = append(out, at)
		}
	}
	if len(out) == 0 {
		start, _ := wall.Add(-time.Duration(min(before, then)) * time.Second).In(zone).ZoneBounds()
		out = append(out, start)
	}
	return out
}
