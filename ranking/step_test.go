package ranking

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"pgregory.net/rapid"
)

// TestPeriodsHaveNoGaps: in every zone, on both sides of every change of its
// clocks, one period begins when the one before it ends, and each has its name.
func TestPeriodsHaveNoGaps(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "America/Havana",
		"Asia/Kathmandu", "America/St_Johns", "Africa/Casablanca", "Pacific/Apia", "Asia/Pyongyang"}
	steps := map[string]struct {
		step   Step
		layout string
	}{"hour": {Hour, "2006-01-02T15"}, "day": {Day, time.DateOnly}, "month": {Month, "2006-01"},
		"year": {Year, "2006"}}
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(rt, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1_300_000_000, 1_900_000_000).Draw(rt, "at"), 0).In(zone)
		if _, moved := at.ZoneBounds(); !moved.IsZero() && rapid.Bool().Draw(rt, "near a change") {
			at = moved.Add(time.Duration(rapid.IntRange(-200, 200).Draw(rt, "minutes")) * time.Minute).In(zone)
		}
		for name, x := range steps {
			begins := x.step.Begin(at)
			last, next := begins.Add(-1), x.step.Add(at, 1)
			period := func(t time.Time) string { return t.Format(x.layout) }
			switch {
			case begins.After(at) || period(begins) != period(at):
				rt.Fatalf("%s: %v begins at %v", name, at, begins)
			case period(last) == period(at):
				rt.Fatalf("%s: %v begins at %v, and it was the same before", name, at, begins)
			case period(x.step.Add(at, -1)) != period(last):
				rt.Fatalf("%s: before %v is %v, and not %v", name, at, x.step.Add(at, -1), last)
			case name == "hour" && period(x.step.Add(next, -1)) != period(at):
				rt.Fatalf("%s: after %v is %v, and before that %v", name, at, next, x.step.Add(next, -1))
			case at.Sub(begins) >= x.step.Longest:
				rt.Fatalf("%s: %v is %v after its beginning", name, at, at.Sub(begins))
			}
		}
	})
}

// TestAWindowMissesNoHour: on nights when the clocks are moved, by half an hour too.
func TestAWindowMissesNoHour(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ zone, at, want string }{
		{"Australia/Lord_Howe", "2026-10-04T03:15", "03 02 01 00"}, // from 2:00 to 2:30
		{"Australia/Lord_Howe", "2026-04-05T03:15", "03 02 01 00"}, // from 2:00 to 1:30
		{"Europe/Berlin", "2026-03-29T05:15", "05 04 03 01"},       // from 2:00 to 3:00
	} {
		zone, err := time.LoadLocation(x.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.ParseInLocation("2006-01-02T15:04", x.at, zone)
		if err != nil {
			t.Fatal(err)
		}
		b := &Board[int64, int64]{Config: Config[int64, int64]{Step: Hour,
			Key: func(t time.Time) (string, error) { return t.Format("15"), nil }}}
		w := &Windows[int64, int64, int64]{b, expires("w", time.Hour),
			WindowConfig[int64]{Key: dayKey("w"), Weights: Same(4)}}
		if got := strings.Join(w.Ending(at).window.keys, " "); got != x.want {
			t.Errorf("%s, %s: %s, want %s", x.zone, x.at, got, x.want)
		}
	}
}

// TestTiesCostNothing: 100,000 members with one score, and reads of any place.
func TestTiesCostNothing(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	b := board(t, c, "ties:", &numbers, ByMember)
	var members []string
	for from := 0; from < 100_000; from += 1000 {
		add := []string{"ZADD", "ties:2026-11-21"}
		for m := from; m < from+1000; m++ {
			add = append(add, "1", fmt.Sprint(1_000_000+m)) // of one length: in order
			members = append(members, fmt.Sprint(1_000_000+m))
		}
		s.Do(add...)
	}
	scripts := s.WatchScripts()
	v := b.Of(today)
	for name, read := range map[string]func() ([]Row[int64, int64], error){
		"top":    func() ([]Row[int64, int64], error) { return v.Top(t.Context(), 10) },
		"around": func() ([]Row[int64, int64], error) { return v.Around(t.Context(), 1_050_000, 5) },
		"after":  func() ([]Row[int64, int64], error) { return v.After(t.Context(), Cursor("1 1050000"), 10) },
		"rank": func() ([]Row[int64, int64], error) {
			row, err := v.Rank(t.Context(), 1_099_999)
			return []Row[int64, int64]{row}, err
		},
		"many": func() ([]Row[int64, int64], error) { return v.Top(t.Context(), MaxRows) },
	} {
		rows, err := read()
		if err != nil || len(rows) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		for i, row := range rows {
			if fmt.Sprint(row.Member) != members[row.Rank-1] || i > 0 && row.Rank != rows[i-1].Rank+1 {
				t.Fatalf("%s: row %d is %+v", name, i, row)
			}
		}
	}
	// what each script does is counted: time says more of the machine
	for _, call := range scripts.Calls() {
		if len(call.Commands) > 40 {
			t.Errorf("a script sends %d commands", len(call.Commands))
		}
		for _, command := range call.Commands {
			if command[0] != "ZRANGE" {
				continue
			}
			from, err1 := strconv.Atoi(command[2])
			to, err2 := strconv.Atoi(command[3])
			if err1 != nil || err2 != nil || to-from >= MaxRows || slices.Contains(command, "BYSCORE") {
				t.Errorf("a script sends %q", command)
			}
		}
	}
}
