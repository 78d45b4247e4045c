// Package historytest shows an implementation of history.Store right: one suite for all stores.
package historytest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/history"
)

// start says when the points of the suite begin: a whole day.
var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// Run shows an implementation of history.Store right. open gives a new and empty store for each test.
func Run(t *testing.T, open func(testing.TB) history.Store) {
	for name, test := range map[string]func(*testing.T, history.Store){
		"points come back":            comeBack,
		"hours and days":              downSampled,
		"order":                       order,
		"the last point before":       before,
		"targets and names are apart": distinctNames,
		"limits":                      limits,
		"what is old goes":            pruned,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			defer s.Close()
			test(t, s)
		})
	}
}

func point(keys int64, codes ...string) history.Point {
	p := history.Point{Keys: keys, Bytes: keys * 100}
	for _, c := range codes {
		if p.Violations == nil {
			p.Violations = map[string]int64{}
		}
		p.Violations[c]++
	}
	return p
}

func add(t *testing.T, s history.Store, target string, at time.Time, points map[string]history.Point) {
	t.Helper()
	if err := s.Append(t.Context(), target, at, points); err != nil {
		t.Fatal(err)
	}
}

func ranged(t *testing.T, s history.Store, q history.Query) []history.Point {
	t.Helper()
	points, err := s.Range(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// comeBack: what was appended is read, in order, for exactly the time that was asked for.
func comeBack(t *testing.T, s history.Store) {
	const n = 200
	for i := range n {
		p := point(int64(i*i)-50, "KW505", "KW505", "KW506")
		if i%2 == 0 {
			p.Violations = nil
		}
		add(t, s, "a", start.Add(time.Duration(i)*15*time.Minute), map[string]history.Point{"x": p, "y": point(1 << 60)})
	}
	all := ranged(t,
		s, history.Query{Target: "a", Entry: "x", Step: history.Raw, From: start, To: start.Add(n * time.Hour)})
	if len(all) != n {
		t.Fatalf("%d points of %d", len(all), n)
	}
	for i, p := range all {
		at := start.Add(time.Duration(i) * 15 * time.Minute)
		if !p.At.Equal(at) || p.Keys != int64(i*i)-50 || p.Bytes != p.Keys*100 ||
			(i%2 == 1) != (p.Violations["KW505"] == 2 && p.Total() == 3) {
			t.Fatalf("point %d: %+v", i, p)
		}
	}
	some := ranged(t, s, history.Query{Target: "a", Entry: "x", Step: history.Raw, From: all[5].At, To: all[105].At})
	if !reflect.DeepEqual(some, all[5:106]) {
		t.Errorf("a range has %d points, not 101", len(some))
	}
	if first, err := s.First(t.Context(), "a"); err != nil || !first.Equal(start) {
		t.Error(first, err)
	}
	if big := ranged(t, s, history.Query{Target: "a", Entry: "y", Step: history.Raw, From: start,
		To: start}); len(big) != 1 || big[0].Keys != 1<<60 {
		t.Errorf("a large number: %+v", big)
	}
}

// downSampled: an hour or day has its last keys and its most violations.
func downSampled(t *testing.T, s history.Store) {
	for i := range 3 * 24 * 4 {
		p := point(int64(i))
		if i == 30 {
			p = point(int64(i), "KW505", "KW505")
		}
		add(t, s, "a", start.Add(time.Duration(i)*15*time.Minute), map[string]history.Point{"x": p})
	}
	hours := ranged(t, s,
		history.Query{Target: "a", Entry: "x", Step: history.Hour, From: start, To: start.AddDate(0, 0, 10)})
	days := ranged(t, s,
		history.Query{Target: "a", Entry: "x", Step: history.Day, From: start, To: start.AddDate(0, 0, 10)})
	if len(hours) != 72 || len(days) != 3 {
		t.Fatalf("%d hours, %d days", len(hours), len(days))
	}
	if hours[7].Keys != 31 || hours[7].Violations["KW505"] != 2 || hours[8].Total() != 0 {
		t.Errorf("%+v %+v", hours[7], hours[8])
	}
	if days[0].Keys != 95 || days[0].Violations["KW505"] != 2 || days[1].Total() != 0 {
		t.Errorf("%+v %+v", days[0], days[1])
	}
}

// order: a time that is not after the last one is refused, and changes nothing.
func order(t *testing.T, s history.Store) {
	add(t, s, "a", start, map[string]history.Point{"x": point(1)})
	for _, at := range []time.Time{start, start.Add(-time.Hour)} {
		if err := s.Append(t.Context(), "a", at, map[string]history.Point{"x": point(2), "z": point(2)}); !errors.Is(err,
			history.ErrOrder) {
			t.Errorf("%v: %v", at, err)
		}
	}
	add(t, s, "b", start.Add(-time.Hour), map[string]history.Point{"x": point(3)})
	got, err := s.At(t.Context(), "a", history.Raw, start)
	if err != nil || len(got) != 1 || got["x"].Keys != 1 {
		t.Error(got, err)
	}
}

// before: At gives each entry's own last point.
func before(t *testing.T, s history.Store) {
	add(t, s, "a", start, map[string]history.Point{"x": point(1), "xy": point(10), "é ": point(5)})
	add(t, s, "a", start.Add(20*time.Hour), map[string]history.Point{"x": point(2)})
	add(t, s, "a", start.Add(30*time.Hour), map[string]history.Point{"x": point(3), "new": point(7)})
	for after, want := range map[time.Duration]map[string]int64{
		-time.Second:   {},
		0:              {"x": 1, "xy": 10, "é ": 5},
		20 * time.Hour: {"x": 2, "xy": 10, "é ": 5},
		29 * time.Hour: {"x": 2, "xy": 10, "é ": 5},
		30 * time.Hour: {"x": 3, "xy": 10, "é ": 5, "new": 7},
	} {
		points, err := s.At(t.Context(), "a", history.Raw, start.Add(after))
		got := map[string]int64{}
		for name, p := range points {
			got[name] = p.Keys
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("after %v: %v, not %v, %v", after, got, want, err)
		}
	}
}

// distinctNames: names that differ in a byte, or are the beginning of another, are others.
func distinctNames(t *testing.T, s history.Store) {
	names := []string{"a", "a ", "aa", "ab", "b", "(total)", "\xff\xfe"}
	for i, target := range names {
		points := map[string]history.Point{}
		for j, entry := range names {
			points[entry] = point(int64(100*i + j))
		}
		add(t, s, target, start, points)
	}
	for i, target := range names {
		for j, entry := range names {
			got := ranged(t, s, history.Query{Target: target, Entry: entry, Step: history.Raw, From: start, To: start})
			if len(got) != 1 || got[0].Keys != int64(100*i+j) {
				t.Errorf("%q %q: %+v", target, entry, got)
			}
		}
	}
	if got := ranged(t, s,
		history.Query{Target: "nosuch", Entry: "a", Step: history.Raw, From: start, To: start}); len(got) != 0 {
		t.Error(got)
	}
}

// limits: what is too much is refused as a whole.
func limits(t *testing.T, s history.Store) {
	many := map[string]int64{}
	for i := range history.MaxCodes + 1 {
		many[fmt.Sprint(i)] = 1
	}
	long := string(make([]byte, history.MaxName+1))
	for what, points := range map[string]map[string]history.Point{
		"a long name": {"x" + long: point(1)}, "no name": {"": point(1)}, "a zero byte": {"a\x00b": point(1)},
		"many codes": {"x": {Violations: many}}, "a long code": {"x": {Violations: map[string]int64{long: 1}}},
	} {
		if err := s.Append(t.Context(), "a", start, points); !errors.Is(err, history.ErrTooMany) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if first, err := s.First(t.Context(), "a"); err != nil || !first.IsZero() {
		t.Errorf("something is left: %v, %v", first, err)
	}
}

// pruned: points are there for as long as they are kept, and not for much longer.
func pruned(t *testing.T, s history.Store) {
	now := start.AddDate(0, 0, 500)
	for day := range 500 {
		add(t, s, "a", start.AddDate(0, 0, day), map[string]history.Point{"x": point(int64(day)), "y": point(1)})
	}
	if err := s.Prune(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	for step, slack := range map[history.Step]int{history.Raw: 2, history.Hour: 15, history.Day: 129} {
		kept := int(history.Kept[step] / (24 * time.Hour))
		got := ranged(t, s, history.Query{Target: "a", Entry: "x", Step: step, From: start, To: now})
		if len(got) < kept || len(got) > kept+slack || got[len(got)-1].Keys != 499 {
			t.Errorf("%s: %d points, kept for %d days", step, len(got), kept)
		}
		if step == history.Day {
			if first, err := s.First(t.Context(), "a"); err != nil || !first.Equal(got[0].At) {
				t.Errorf("the first point is of %v, and First says %v, %v", got[0].At, first, err)
			}
		}
	}
	if err := s.Prune(t.Context(), now.AddDate(5, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if first, err := s.First(t.Context(), "a"); err != nil || !first.IsZero() {
		t.Errorf("there is no point, and First says %v, %v", first, err)
	}
}
