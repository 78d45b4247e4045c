// Package turns lets contestants run in turns in one process, at several numbers
// of goroutines, and compares them within each round: time on a shared machine
// moves by half from one minute to the next.
//
// It is for calls of microseconds to milliseconds. Processes are package
// contest's.
package turns

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/bench/report"
)

// Contestant represents one way to do an operation.
type Contestant struct {
	Name string
	Do   func(ctx context.Context, goroutine, n int) error // the nth operation of a goroutine
	Size int                                               // how many operations one call counts as; 0: 1

	// Ready, if it is there, is called before every turn, and what it returns
	// after it; neither is timed.
	Ready func(ctx context.Context, goroutines int) (done func(), err error)
}

// Result represents the rates of several contestants.
type Result struct {
	names   []string
	callers []int
	rates   [][][]float64 // contestant, number of goroutines, round
	done    [][]float64   // contestant, number of goroutines: operations in all rounds
}

// Race lets everybody run for a slice of time at each number of goroutines, in
// each round.
func Race(ctx context.Context, all []Contestant, callers []int, rounds int, slice time.Duration) (*Result, error) {
	r := &Result{callers: callers, rates: make([][][]float64, len(all)), done: make([][]float64, len(all))}
	for i, who := range all {
		r.names = append(r.names, who.Name)
		r.rates[i], r.done[i] = make([][]float64, len(callers)), make([]float64, len(callers))
	}
	for round := range rounds {
		for c, n := range callers {
			for place := range all {
				i := (place + round) % len(all)
				done, rate, err := turn(ctx, all[i], n, slice)
				if err != nil {
					return r, fmt.Errorf("%s with %d goroutines: %w", all[i].Name, n, err)
				}
				r.rates[i][c] = append(r.rates[i][c], rate)
				r.done[i][c] += done
			}
		}
	}
	return r, nil
}

func turn(ctx context.Context, who Contestant, goroutines int, slice time.Duration) (done, rate float64, err error) {
	if who.Ready != nil {
		end, err := who.Ready(ctx, goroutines)
		if err != nil {
			return 0, 0, err
		}
		defer end()
	}
	return burst(ctx, who, goroutines, slice)
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

// Rate returns the median of a contestant's operations per second.
func (r *Result) Rate(contestant, callers int) float64 {
	return Median(r.rates[contestant][slices.Index(r.callers, callers)])
}

// Done returns how many operations a contestant did in all rounds.
func (r *Result) Done(contestant, callers int) float64 {
	return r.done[contestant][slices.Index(r.callers, callers)]
}

// Ratio of a to b is the median of the rounds' ratios.
func (r *Result) Ratio(a, b, callers int) float64 {
	c := slices.Index(r.callers, callers)
	return Ratio(r.rates[a][c], r.rates[b][c])
}

// Table lists the rates, and everybody's ratios to one contestant.
func (r *Result) Table(title string, to int) report.Table {
	t := report.Table{Title: title, Columns: []string{"contestant"}}
	for _, n := range r.callers {
		t.Columns = append(t.Columns, fmt.Sprint(n))
	}
	for _, n := range r.callers {
		t.Columns = append(t.Columns, fmt.Sprintf("÷ %s @%d", r.names[to], n))
	}
	for i, name := range r.names {
		row := []any{name}
		for _, n := range r.callers {
			row = append(row, fmt.Sprintf("%.0f", r.Rate(i, n)))
		}
		for _, n := range r.callers {
			row = append(row, fmt.Sprintf("%.2f", r.Ratio(i, to, n)))
		}
		t.Add(row...)
	}
	return t
}

// Ratio returns the median of a[i]/b[i]: each round is compared with itself.
func Ratio(a, b []float64) float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] / b[i]
	}
	return report.Median(all)
}

// Median leaves the rounds in their order, which Ratio needs.
func Median[T int64 | float64 | time.Duration](rounds []T) T {
	return report.Median(slices.Clone(rounds))
}

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
