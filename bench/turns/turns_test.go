package turns

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/bench/report"
)

// Rounds are compared with themselves, whatever was computed before: in the
// second round the machine is ten times as slow, for both.
func TestRatioIsTakenWithinTheRound(t *testing.T) {
	itself := func(v float64) float64 { return v }
	runs := &Runs[float64]{[]string{"a", "b"}, [][]float64{{200, 20, 210}, {100, 10, 70}}}
	var out report.Report
	runs.Show(&out, "t", "who", Median("median", "%.0f", itself), Least("least", "%.0f", itself),
		Most("most", "%.0f", itself), Sum("sum", "%.0f", itself), List("all", "%.0f", itself),
		Versus("÷ b", "%.1f", itself, runs.All[1]).AtLeast(1, "a ÷ b"))
	if got := fmt.Sprint(out.Tables[0].Columns, out.Tables[0].Rows, out.Goals); got !=
		"[who median least most sum all ÷ b] [[a 200 20 210 430 200 20 210 2.0] [b 70 10 100 180 100 10 70 1.0]] [{a ÷ b 2 1 true}]" {
		t.Error(got)
	}
	if runs.All[0][0] != 200 || runs.All[0][1] != 20 {
		t.Errorf("the rounds were sorted: %v", runs.All)
	}
}

func TestEach(t *testing.T) {
	var sum atomic.Int64
	err := Each(3, 10, func(_, i int) error {
		if i == 9 {
			return errors.New("no")
		}
		sum.Add(int64(i))
		return nil
	})
	if sum.Load() != 36 || err == nil || err.Error() != "no" {
		t.Errorf("%d, %v", sum.Load(), err)
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
	race := Race{Title: "t", All: all, Callers: []int{1}}
	r, err := race.Run(t.Context(), 2, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ""); got != "a<b><b>a" {
		t.Errorf("turns %s, want a<b><b>a", got)
	}
	if r.Rate(1, 1) < 10*r.Rate(0, 1) {
		t.Errorf("a call that counts as 100: %v, one that counts as 1: %v", r.Rate(1, 1), r.Rate(0, 1))
	}
	var out report.Report
	race.rates(&out, r)
	if table := out.Tables[0]; len(table.Rows) != 2 || len(table.Rows[0]) != len(table.Columns) {
		t.Errorf("%+v", table)
	}
}

func TestRaceSaysWhoFailed(t *testing.T) {
	broken := []Contestant{{Name: "broken", Do: func(context.Context, int, int) error { return errors.New("no") }}}
	if _, err := (Race{All: broken, Callers: []int{2}}).Run(t.Context(), 1, time.Minute); err == nil ||
		err.Error() != "with 2 goroutines: broken: no" {
		t.Error(err)
	}
}
