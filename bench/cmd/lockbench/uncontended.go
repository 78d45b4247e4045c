package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/lock"
)

// free takes part where no caller waits: the waits are never used.
func free() []contestant {
	return []contestant{ours("keywright, fair", lock.Fair), ours("keywright, fast", lock.Fast), bareRueidis(),
		withRedsync("redsync", 128, 0), withRedislock("redislock", 128, 5), withRueidislock()}
}

// uncontended races lock and unlock of a lock that each goroutine has for itself.
func (f *field) uncontended(ctx context.Context, out *report.Report) error {
	const ours, bare, redsync = 0, 2, 3
	race, err := f.race(ctx, free()...)
	if err != nil {
		return err
	}
	race.Title, race.By = "Uncontended, lock and unlock per second, a lock for each goroutine", bare
	race.Bill = "Uncontended, what one lock and unlock costs with 128 goroutines"
	race.Goals = []turns.Goal{
		{What: "uncontended @%d, keywright ÷ bare rueidis", Of: ours, By: bare, Bound: 0.75, Callers: []int{128}},
		{What: "uncontended @%d, keywright ÷ redsync", Of: ours, By: redsync, Bound: 3, Callers: []int{128}}}
	return race.Show(ctx, out, f.Rounds, f.Slice)
}

// race lets contestants lock and unlock. Their costs are counted at 128 goroutines.
func (f *field) race(ctx context.Context, all ...contestant) (turns.Race, error) {
	race := turns.Race{Callers: turns.Callers, Server: func() *live.Server { return f.server }, Billed: []int{128}}
	for _, who := range all {
		c, err := who.open(ctx, f.server.Addr, nil)
		if err != nil {
			return race, fmt.Errorf("%s: %w", who.name, err)
		}
		f.Cleanup(c.close)
		mutexes := make([]mutex, slices.Max(turns.Callers))
		for g := range mutexes {
			mutexes[g] = c.mutex(fmt.Sprintf("lock:%d", g))
		}
		race.All = append(race.All, turns.Contestant{Name: who.name,
			Do: func(ctx context.Context, goroutine, _ int) error { return once(ctx, mutexes[goroutine]) }})
	}
	return race, nil
}

// profile lets keywright lock and unlock with nothing beside it, with 128 goroutines.
func (f *field) profile(ctx context.Context, file string, stdout io.Writer) error {
	if err := f.Open(ctx, f.Server); err != nil {
		return err
	}
	race, err := f.race(ctx, free()[0])
	if err != nil {
		return err
	}
	return harness.Profiled(file, func() error { return race.Profile(ctx, stdout, 128, 5*time.Second, "locks") })
}

func once(ctx context.Context, m mutex) error {
	if err := m.lock(ctx); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return m.unlock(ctx)
}
