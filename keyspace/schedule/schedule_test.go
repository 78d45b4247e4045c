package schedule

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func cron(t *testing.T, text string) Schedule {
	t.Helper()
	s, err := Cron(text, "")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ cron, zone, after, want string }{
		{"30 3 * * *", "UTC", "2026-11-23T03:30:00Z", "2026-11-24T03:30:00Z"},
		{"30 3 * * *", "UTC", "2026-11-23T03:29:59Z", "2026-11-23T03:30:00Z"},
		{"*/15 * * * *", "UTC", "2026-11-23T03:29:59Z", "2026-11-23T03:30:00Z"},
		{"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"}, // 2100 has none
		{"0 12 1 * mon", "UTC", "2026-11-01T12:00:00Z", "2026-11-02T12:00:00Z"},
		{"0 12 * * 7", "UTC", "2026-11-23T00:00:00Z", "2026-11-29T12:00:00Z"},
		{"0 12 */2 * mon", "UTC", "2026-11-03T00:00:00Z", "2026-11-09T12:00:00Z"},
		// The clock is put forward from 2:00 to 3:00 on 29 March 2026.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		// It is put back from 3:00 to 2:00 on 25 October 2026.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		// Midnight is left out in Havana on 8 March 2026, and half an hour on Lord Howe.
		{"0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", "2026-03-08T05:00:00Z"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z"},
		// Samoa had no 30 December 2011.
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		got, ok := cron(t, c.cron).Next(at(t, c.after), zone(t, c.zone))
		if !ok || !got.Equal(at(t, c.want)) {
			t.Errorf("%s in %s after %s: %s, want %s", c.cron, c.zone, c.after, got.Format(time.RFC3339), c.want)
		}
	}
}

// Next is what a person finds that looks at the clock each minute, but for the hours that are
// there twice or never.
func TestNextIsWhatTheClockShows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"* * * * *", "*/7 * * * *", "5 * * * *", "30 2 * * *", "0,30 1-3 * * *", "15 0 * * sun",
		"0 23 31 * *", "59 23 * 3,10 sat,sun", "1-5 2/2 * * *"}
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
		"America/Havana", "Africa/Casablanca"}
	for _, text := range texts {
		s, err := Cron(text, "")
		if err != nil {
			if strings.Contains(text, "2/2") {
				continue // a step needs a range
			}
			t.Fatal(err)
		}
		for _, name := range zones {
			l := zone(t, name)
			for range 12 {
				after := time.Unix(1767225600+random.Int64N(365*86400), 0)
				if random.IntN(2) == 0 { // near a change of the clock
					_, change := after.In(l).ZoneBounds()
					if !change.IsZero() {
						after = change.Add(-time.Duration(random.IntN(4*3600)) * time.Second)
					}
				}
				got, ok := s.Next(after, l)
				if !ok || !got.After(after) {
					t.Fatalf("%s in %s after %s: %s", text, name, after, got)
				}
				for m := after.Truncate(time.Minute).Add(time.Minute); m.Before(got) &&
					m.Sub(after) < 50*time.Hour; m = m.Add(time.Minute) {
					if !shows(s, m.In(l)) {
						continue
					}
					if _, offset := m.In(l).Zone(); offsetBefore(m, l) > offset && !every(s) {
						continue // the second time that the clock shows this
					}
					t.Fatalf("%s in %s after %s: %s, but it is due at %s", text, name, after.In(l), got.In(l), m.In(l))
				}
				if start, _ := got.In(l).ZoneBounds(); !shows(s, got.In(l)) && !start.Equal(got) {
					t.Fatalf("%s in %s: %s is not due", text, name, got.In(l))
				}
			}
		}
	}
}

func every(s Schedule) bool { return s.hours == 1<<24-1 }

// offsetBefore returns the offset before the latest change of the clock, if that was within a day.
func offsetBefore(m time.Time, l *time.Location) int {
	start, _ := m.In(l).ZoneBounds()
	if start.IsZero() || m.Sub(start) >= time.Hour {
		_, offset := m.In(l).Zone()
		return offset
	}
	_, offset := start.Add(-time.Second).In(l).Zone()
	return offset
}

func shows(s Schedule, m time.Time) bool {
	y, mo, d := m.Date()
	return s.onDay(time.Date(y, mo, d, 0, 0, 0, 0, time.UTC)) && s.hours>>m.Hour()&1 == 1 && s.minutes>>m.Minute()&1 == 1
}

func TestInterval(t *testing.T) {
	s, err := Interval(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ after, want string }{
		{"2026-11-23T03:00:00Z", "2026-11-23T04:00:00Z"}, {"2026-11-23T02:59:59Z", "2026-11-23T03:00:00Z"},
		{"1969-12-31T23:30:00Z", "1970-01-01T00:00:00Z"}, {"1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z"},
	} {
		if got, _ := s.Next(at(t, c.after), time.UTC); !got.Equal(at(t, c.want)) {
			t.Errorf("after %s: %s, want %s", c.after, got, c.want)
		}
	}
	for _, bad := range []time.Duration{0, time.Second, -time.Hour, 367 * 24 * time.Hour, time.Minute + 1} {
		if _, err := Interval(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

func TestCronRefuses(t *testing.T) {
	for _, text := range []string{"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
		"* * * 13 *", "* * * * 8",
		"5-1 * * * *", "*/0 * * * *", "5/2 * * * *", "+5 * * * *", "a * * * *", "1,,2 * * * *", "@daily", "0 0 30 2 *",
		"*/61 * * * *", "1- * * * *",
		"* * * * mon-", strings.Repeat("1,", 200) + "1 * * * *"} {
		if s, err := Cron(text, ""); err == nil {
			t.Errorf("%q is taken as %v", text, s)
		}
	}
	for name, good := range map[string]bool{"": true, "UTC": true, "Europe/Berlin": true,
		"America/Argentina/Buenos_Aires": true, "Etc/GMT+5": true,
		"Local": false, "../etc/passwd": false, "a b": false, "/abs": false, "a/../b": false} {
		if _, err := Cron("0 0 * * *", name); (err == nil) != good {
			t.Errorf("the zone %q: %v", name, err)
		}
	}
}

// A week of a moved clock: what is due is due once, in order.
func TestAWeekOfTimes(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		text string
		want int
	}{{"30 2 * * *", 7}, {"0 * * * *", 7*24 + 1}, {"0 9-17 * * mon-fri", 45}} {
		s, now, n := cron(t, c.text), at(t, "2026-10-19T21:59:59Z"), 0
		for end := at(t, "2026-10-26T23:00:00Z"); ; n++ { // 25 October has 25 hours
			next, _ := s.Next(now, berlin)
			if !next.Before(end) {
				break
			}
			if !next.After(now) {
				t.Fatalf("%s: %s after %s", c.text, next, now)
			}
			now = next
		}
		if n != c.want {
			t.Errorf("%s: due %d times, want %d", c.text, n, c.want)
		}
	}
}
