package turns

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// Rounds are compared with themselves, whatever was computed before: in the
// second round the machine is ten times as slow, for both.
func TestRatioIsTakenWithinTheRound(t *testing.T) {
	a, b := []float64{200, 20, 210}, []float64{100, 10, 70}
	if m := Median(a); m != 200 {
		t.Errorf("median %v, want 200", m)
	}
	if r := Ratio(a, b); r != 2 {
		t.Errorf("ratio %v, want 2", r)
	}
	if a[0] != 200 || a[1] != 20 {
		t.Errorf("the rounds were sorted: %v", a)
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   float64
	}{
		{[]float64{5, 5, 5, 5}, 1},
		{[]float64{8, 0, 0, 0}, 0.25},
		{[]float64{0, 0}, 1},
		{[]float64{1, 2, 3}, 36.0 / 42},
	} {
		if got := Jain(c.shares); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.shares, got, c.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	values := []time.Duration{4, 1, 3, 2}
	for p, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 4, 1: 4} {
		if got := Percentile(values, p); got != want {
			t.Errorf("%v: %v, want %v", p, got, want)
		}
	}
	if got := Percentile(nil, 0.5); got != 0 {
		t.Errorf("of none: %v", got)
	}
}

func TestRaceCountsAndTakesTurns(t *testing.T) {
	var order []string
	one := func(name string) func(context.Context, int, int) error {
		return func(_ context.Context, _, n int) error {
			if n == 0 {
				order = append(order, name)
			}
			return nil
		}
	}
	ready := func(context.Context, int) (func(), error) {
		order = append(order, "<")
		return func() { order = append(order, ">") }, nil
	}
	all := []Contestant{{Name: "a", Do: one("a")}, {Name: "b", Do: one("b"), Size: 100, Ready: ready}}
	r, err := Race(t.Context(), all, []int{1}, 2, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ""); got != "a<b><b>a" {
		t.Errorf("turns %s, want a<b><b>a", got)
	}
	if r.Rate(1, 1) < 10*r.Rate(0, 1) {
		t.Errorf("a call that counts as 100: %v, one that counts as 1: %v", r.Rate(1, 1), r.Rate(0, 1))
	}
	if table := r.Table("t", 0); len(table.Rows) != 2 || len(table.Rows[0]) != len(table.Columns) {
		t.Errorf("%+v", table)
	}
}

func TestRaceSaysWhoFailed(t *testing.T) {
	broken := []Contestant{{Name: "broken", Do: func(context.Context, int, int) error { return errors.New("no") }}}
	if _, err := Race(t.Context(), broken, []int{2}, 1, time.Minute); err == nil ||
		err.Error() != "broken with 2 goroutines: no" {
		t.Error(err)
	}
}
