package cunningbot

import (
	"testing"
	"time"
)

// TestDue: a moment is due from its minute on, for as long as it may be late, also over midnight and
// when clocks change, and belongs to its own day.
func TestDue(t *testing.T) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	added := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		now    string
		zone   *time.Location
		minute int
		added  *time.Time
		day    string // "": nothing is due
	}{
		{"2026-11-23T07:59:59Z", time.UTC, 480, nil, ""},
		{"2026-11-23T08:00:00Z", time.UTC, 480, nil, "2026-11-23"},
		{"2026-11-23T13:59:00Z", time.UTC, 480, nil, "2026-11-23"},
		{"2026-11-23T14:01:00Z", time.UTC, 480, nil, ""},
		{"2026-11-24T00:01:00Z", time.UTC, 1435, nil, "2026-11-23"},
		{"2026-11-23T10:00:00Z", time.UTC, 480, &added, ""},
		{"2026-11-24T10:00:00Z", time.UTC, 480, &added, "2026-11-24"},
		{"2026-11-23T17:00:00Z", zone, 540, nil, "2026-11-23"},
		{"2026-03-08T09:59:00Z", zone, 150, nil, ""}, // 02:30 is not there that day
		{"2026-03-08T10:31:00Z", zone, 150, nil, "2026-03-08"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		s, is := due(now, c.zone, c.minute, 6*time.Hour, c.added)
		day := ""
		if is {
			day = s.day.Format(time.DateOnly)
		}
		if day != c.day {
			t.Errorf("%s, minute %d: %q, not %q", c.now, c.minute, day, c.day)
		}
	}
}
