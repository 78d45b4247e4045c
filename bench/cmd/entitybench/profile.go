package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/entity"
)

// profile lets keywright work alone, with many goroutines, and writes where this
// process spends its time.
func (f *field) profile(ctx context.Context, stdout io.Writer) error {
	do, err := f.profiled(ctx)
	if err != nil {
		return err
	}
	out, err := os.Create(f.o.profile)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	goroutines := f.o.callers
	r, err := turns.Race(ctx, []turns.Contestant{{Name: f.o.what, Do: do}}, []int{goroutines}, 1, 5*time.Second)
	if err == nil {
		fmt.Fprintf(stdout, "%s: %.0f/s\n", f.o.what, r.Rate(0, goroutines))
	}
	return err
}

func (f *field) profiled(ctx context.Context) (func(ctx context.Context, g, n int) error, error) {
	switch f.o.what {
	case "create":
		return func(ctx context.Context, g, n int) error { return f.create(ctx, f.ours, g, n) }, nil
	case "save":
		return f.saves(), nil
	case "get":
		return func(ctx context.Context, g, n int) error { return second(f.ours.Get(ctx, id(g, n))) }, f.fill(ctx, 10)
	case "cached":
		return func(ctx context.Context, g, n int) error { return second(f.ours.Cached(ctx, id(g, n), time.Hour)) },
			f.fill(ctx, 10)
	case "list10":
		return f.listing(10).all[0].do, f.fill(ctx, 10)
	case "list100":
		return f.listing(100).all[0].do, f.fill(ctx, 100)
	case "sweep":
		return func(ctx context.Context, _, _ int) error {
			return second(f.ours.Sweep(ctx, entity.SweepOptions{Rate: 1 << 30}))
		}, nil
	}
	return nil, fmt.Errorf("-what %q: create, save, get, cached, list10, list100 or sweep", f.o.what)
}
