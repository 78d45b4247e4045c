package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/keywright/keywright/bench/turns"
)

// profile lets keywright work alone and writes where this process spends its
// time: "enqueue" and "bulk", "process" and "batches" with a
// concurrency of 100.
func profile(ctx context.Context, o options, stdout io.Writer) error {
	out, err := os.Create(o.profile)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	var rate float64
	switch o.what {
	case "enqueue", "bulk":
		p := &producer{peer: ours("keywright", 1), size: map[string]int{"enqueue": 1, "bulk": bulk}[o.what]}
		r, err := turns.Race(ctx, []turns.Contestant{p.contestant(o)}, []int{o.callers}, 1, 3*time.Second)
		if err != nil {
			return err
		}
		rate = r.Rate(0, o.callers)
	case "process", "batches":
		o.jobs *= 10
		if rate, _, err = process(ctx, ours("keywright", map[string]int{"process": 1, "batches": 10}[o.what]), 100,
			o); err != nil {
			return err
		}
	default:
		return fmt.Errorf("-what %q: enqueue, bulk, process or batches", o.what)
	}
	fmt.Fprintf(stdout, "%s: %.0f jobs/s\n", o.what, rate)
	return nil
}
