package main

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/limit"
)

//go:embed gcra.lua
var bareGCRA string

// limits measures asking, by as many callers as there are goroutines, each key
// in turn, all of it allowed.
func (f *field) limits(ctx context.Context, out *report.Report) error {
	const keys = 1024
	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprint("bench:rate:", i)
	}
	var turn atomic.Int64
	next := func() string { return names[turn.Add(1)%keys] }
	ours := func(name string, r limit.Rule) func(context.Context) error {
		limits := limit.New(f.client, entry("rate", 2*time.Hour), r)
		return func(ctx context.Context) error {
			got, err := limits.Of(next()+name, nil).Allow(ctx)
			if err == nil && !got.Allowed {
				err = fmt.Errorf("refused: %+v", got)
			}
			return err
		}
	}
	sum := sha1.Sum([]byte(bareGCRA))
	sha := hex.EncodeToString(sum[:])
	if err := f.raw.Do(ctx, f.raw.B().ScriptLoad().Script(bareGCRA).Build()).Error(); err != nil {
		return err
	}
	bare := func(ctx context.Context) error {
		allowed, err := f.raw.Do(ctx, f.raw.B().Evalsha().Sha1(sha).Numkeys(1).Key(next()).Arg("360", "3600000000").Build()).AsInt64()
		if err == nil && allowed != 1 {
			err = fmt.Errorf("refused")
		}
		return err
	}
	const many = 10_000_000
	who := []contestant{{"keywright GCRA", ours("gcra", limit.GCRA(many, time.Hour, 0))}, {"rueidis, minimal GCRA", bare},
		{"keywright Fixed", ours("fixed", limit.Fixed(many, time.Hour))}, {"keywright Sliding", ours("sliding", limit.Sliding(many, time.Hour))}}
	table, rates, err := f.race(ctx, "Allow, questions/s", []int{1, 16, 128}, who)
	if err != nil {
		return err
	}
	out.Tables = append(out.Tables, table)
	out.Goals = append(out.Goals, report.Goal{What: "Allow @128, keywright GCRA ÷ minimal GCRA by EVALSHA", Value: ratio(rates[0][2], rates[1][2]), Bound: 0.75, AtLeast: true})
	return nil
}

// race lets contestants run in turns, at each number of goroutines, and gives
// their rates by contestant, goroutines and round. The second one is what the
// others are compared with.
func (f *field) race(ctx context.Context, title string, callers []int, who []contestant) (report.Table, [][][]float64, error) {
	t := report.Table{Title: title, Columns: []string{"contestant"}}
	for _, n := range callers {
		t.Columns = append(t.Columns, fmt.Sprintf("@%d", n), "÷ bare")
	}
	rates := make([][][]float64, len(who))
	for i := range rates {
		rates[i] = make([][]float64, len(callers))
	}
	for round := range f.rounds {
		for c, n := range callers {
			for turn := range who {
				i := (turn + round) % len(who)
				rate, err := burst(ctx, who[i], n, f.slice)
				if err != nil {
					return t, nil, fmt.Errorf("%s with %d goroutines: %w", who[i].name, n, err)
				}
				rates[i][c] = append(rates[i][c], rate)
			}
		}
	}
	for i, w := range who {
		row := []any{w.name}
		for c := range callers {
			row = append(row, fmt.Sprintf("%.0f", report.Median(append([]float64{}, rates[i][c]...))), fmt.Sprintf("%.2f", ratio(rates[i][c], rates[1][c])))
		}
		t.Add(row...)
	}
	return t, rates, nil
}

// burst runs one contestant for a slice of time and gives its operations per
// second.
func burst(ctx context.Context, who contestant, goroutines int, slice time.Duration) (float64, error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var stop atomic.Bool
	var all sync.WaitGroup
	began := time.Now()
	timer := time.AfterFunc(slice, func() { stop.Store(true) })
	defer timer.Stop()
	for range goroutines {
		all.Go(func() {
			for !stop.Load() && ctx.Err() == nil {
				if err := who.do(ctx); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), ctx.Err()
}
