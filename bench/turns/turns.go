// Package turns lets contestants run in turns, and compares them within each round: time on a shared machine
// moves by half from one minute to the next. Rounds is for whatever gives a result; a Race is for operations of
// microseconds to milliseconds, which goroutines of this process do.
//
// It knows no processes: they are package contest's.
package turns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

// Callers lists the usual numbers of goroutines.
var Callers = []int{1, 16, 128}

// Contestant represents one way to do an operation.
type Contestant struct {
	Name string
	Do   func(ctx context.Context, goroutine, n int) error // the nth operation of a goroutine
	Size int                                               // how many operations one call counts as; 0: 1

	// Ready, if it is there, is called before every turn, and what it returns
	// after it, unless it is nil; neither is timed.
	Ready func(ctx context.Context, goroutines int) (done func(), err error)
}

func (c Contestant) String() string { return c.Name }

// Among returns a contestant that does something with one of so many things at a time; each goroutine begins elsewhere.
func Among(name string, things int, do func(ctx context.Context, n int) error) Contestant {
	return Contestant{Name: name, Do: func(ctx context.Context, goroutine, n int) error {
		return do(ctx, (goroutine*7919+n)%things)
	}}
}

// Race describes operations that are compared.
type Race struct {
	Title   string // of the table of rates
	All     []Contestant
	Callers []int // the numbers of goroutines
	By      int   // the contestant that the others are compared with
	Goals   []Goal

	Server func() *live.Server // whose costs are counted; nil: none are
	Bill   string              // the title of the table of costs
	Billed []int               // its numbers of goroutines; one has no column
}

// Goal represents the least ratio of the rates of two contestants.
type Goal struct {
	What    string // with the number of goroutines as %d
	Of, By  int
	Bound   float64
	Callers []int // nil: all of the race
}

// Burst represents what one contestant does in one turn.
type Burst struct {
	Done, Rate float64 // operations; those per second
	costs.Costs
}

// Result holds the turns of a race, by number of goroutines.
type Result map[int]*Runs[Burst]

// Show runs the race and adds its tables and goals.
func (r Race) Show(ctx context.Context, out *report.Report, rounds int, slice time.Duration) error {
	result, err := r.Run(ctx, rounds, slice)
	if err == nil {
		r.Add(out, result)
	}
	return err
}

// Add adds the tables and goals of a race that has run.
func (r Race) Add(out *report.Report, result Result) {
	r.rates(out, result)
	if r.Bill != "" {
		r.bill(out, result)
	}
	for _, g := range r.Goals {
		if g.Callers == nil {
			g.Callers = r.Callers
		}
		for _, n := range g.Callers {
			out.AtLeast(g.Bound, result.Ratio(g.Of, g.By, n), g.What, n)
		}
	}
}

// Run lets each contestant run for a slice of time in each round, at each number of goroutines.
func (r Race) Run(ctx context.Context, rounds int, slice time.Duration) (Result, error) {
	result := Result{}
	for _, n := range r.Callers {
		runs, err := Rounds(rounds, r.All, func(c Contestant) (Burst, error) { return r.turn(ctx, c, n, slice) })
		if err != nil {
			return result, fmt.Errorf("with %d goroutines: %w", n, err)
		}
		result[n] = runs
	}
	return result, nil
}

func (r Race) turn(ctx context.Context, who Contestant, goroutines int, slice time.Duration) (b Burst, err error) {
	if who.Ready != nil {
		end, err := who.Ready(ctx, goroutines)
		if end != nil {
			defer end()
		}
		if err != nil {
			return b, err
		}
	}
	work := func() error {
		b.Done, b.Rate, err = burst(ctx, who, goroutines, slice)
		return err
	}
	if r.Server != nil {
		err = b.Count(r.Server(), work)
	} else {
		err = work()
	}
	return b, err
}

// Profile runs a race of one contestant for a CPU profile, and prints its rate and its costs. unit is what the rate
// counts.
func (r Race) Profile(ctx context.Context, w io.Writer, goroutines int, slice time.Duration, unit string) error {
	r.Callers = []int{goroutines}
	result, err := r.Run(ctx, 1, slice)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %.0f %s/s\n", r.All[0].Name, result.Rate(0, goroutines), unit)
	for i, cell := range result.Cells(0, goroutines) {
		fmt.Fprintf(w, "%s per operation: %v\n", costs.Columns[i].Title, cell)
	}
	return nil
}

// burst returns the operations of one contestant, and those per second.
func burst(ctx context.Context, who Contestant, goroutines int, slice time.Duration) (n, rate float64, err error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var stop atomic.Bool
	var all sync.WaitGroup
	began := time.Now()
	timer := time.AfterFunc(slice, func() { stop.Store(true) })
	defer timer.Stop()
	for g := range goroutines {
		all.Go(func() {
			n := 0
			for ; !stop.Load() && ctx.Err() == nil; n++ {
				if err := who.Do(ctx, g, n); err != nil {
					failed.CompareAndSwap(nil, &err)
					stop.Store(true)
					break
				}
			}
			done.Add(int64(n))
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	n = float64(done.Load()) * float64(max(who.Size, 1))
	return n, n / time.Since(began).Seconds(), ctx.Err()
}

func rate(b Burst) float64 { return b.Rate }

// Rate returns the median of a contestant's operations per second.
func (r Result) Rate(contestant, callers int) float64 {
	return Median("", "", rate).Value(r[callers].All[contestant])
}

// Ratio of a to b is the median of the rounds' ratios.
func (r Result) Ratio(a, b, callers int) float64 {
	return Ratio(r[callers].All[a], r[callers].All[b], rate)
}

// Cells returns what one operation of a contestant costs, in the order of costs.Columns.
func (r Result) Cells(contestant, callers int) []any {
	var sum Burst
	for _, b := range r[callers].All[contestant] {
		sum.Done += b.Done
		sum.Add(b.Costs)
	}
	return sum.Cells(sum.Done)
}

// rates adds the table of rates, and of ratios to one contestant.
func (r Race) rates(out *report.Report, result Result) {
	t := out.Table(r.Title, "contestant")
	for _, n := range r.Callers {
		t.Columns = append(t.Columns, fmt.Sprint(n))
	}
	for _, n := range r.Callers {
		t.Columns = append(t.Columns, fmt.Sprintf("÷ %s @%d", r.All[r.By].Name, n))
	}
	for i, who := range r.All {
		row := []any{who.Name}
		for _, n := range r.Callers {
			row = append(row, fmt.Sprintf("%.0f", result.Rate(i, n)))
		}
		for _, n := range r.Callers {
			row = append(row, fmt.Sprintf("%.2f", result.Ratio(i, r.By, n)))
		}
		t.Add(row...)
	}
}

// bill adds the table of costs.
func (r Race) bill(out *report.Report, result Result) {
	columns := []string{"contestant", "goroutines"}[:min(len(r.Billed), 2)]
	t := out.Table(r.Bill, slices.Concat(columns, costs.Titles())...)
	for i, who := range r.All {
		for _, n := range r.Billed {
			t.Add(append([]any{who.Name, n}[:len(columns)], result.Cells(i, n)...)...)
		}
	}
}

// Each does something n times on some goroutines, and waits for all. A goroutine that fails does no more.
func Each(goroutines, n int, do func(goroutine, i int) error) error {
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < n && errs[g] == nil; i += goroutines {
				errs[g] = do(g, i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Err returns the error of a call whose result is not wanted.
func Err[T any](_ T, err error) error { return err }

// Percentile p, from 0 to 1, of the values: the smallest that is no less than
// that share of them; 0 of none.
func Percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

// Jain returns the index of fairness of the shares: 1 when all are alike, 1/n when
// one has everything.
func Jain(shares []float64) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum, squares = sum+s, squares+s*s
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(shares)) * squares)
}
