// Command entitybench compares entities with indexes with what programs do by
// hand: a MULTI of six commands, a pipeline, SMEMBERS and HGETALL. It measures
// creations, updates, deletions, reads and lists, what is left of items that have
// expired, and what sweeping costs. All contestants run in turns in one process
// against one server.
package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/entity"
)

func main() { benchmark().Main() }

func benchmark() *harness.Program {
	p := &harness.Program{Name: "entitybench", Rounds: 15, Slice: 150 * time.Millisecond, Server: harness.Redis,
		Notes: []string{
			"a hash of six fields with a TTL, in four indexes (by hand two sets and two sorted sets); keywright's items have " +
				"a version, too",
			"ratios are medians of the ratios within a round; server commands are INFO commandstats, those in scripts too"}}
	f := &field{Program: p, own: keys{"mem:"}}
	p.Flags.IntVar(&f.items, "items", 10_000, "items that expire, to see what is left")
	p.Flags.IntVar(&f.expiries, "expiries", 100_000, "items that expire, to be swept")
	p.Flags.DurationVar(&f.limit, "limit", 3*time.Minute, "items that take longer to expire fail the run")
	p.Flags.StringVar(&f.race, "race", "", "of these this race alone: Create, Get, List of 10, …")
	p.Flags.StringVar(&f.what, "what", "create", "what is profiled: create, save, get, cached, list10, list100, sweep")
	p.Flags.IntVar(&f.callers, "callers", 128, "how many goroutines are profiled")
	p.Title = func() string {
		return fmt.Sprintf("Entities on %s: %d interleaved rounds of %v", p.Server, p.Rounds, p.Slice)
	}
	p.Open = f.open
	p.Parts = []report.Part{{Name: "writes", Run: f.writes}, {Name: "reads", Run: f.reads},
		{Name: "leaks", Run: f.leaks}, {Name: "sweeps", Run: f.sweeps}, {Name: "cluster", Run: f.cluster}}
	p.Profile = harness.Instead{Flag: "cpuprofile", Run: f.profile,
		Usage: "let keywright work alone, and write a CPU profile into this file"}
	return p
}

// profile lets keywright do one thing, with many goroutines.
func (f *field) profile(ctx context.Context, file string, stdout io.Writer) error {
	if err := f.open(ctx, f.Server); err != nil {
		return err
	}
	sweep := func(ctx context.Context, _, _ int) error {
		return turns.Err(f.ours.Sweep(ctx, entity.SweepOptions{Rate: 1 << 30}))
	}
	one, known := map[string]struct {
		each int // how many items a context has; 0: there are none
		do   operation
	}{"create": {0, f.creates(false)}, "save": {0, f.saves()}, "get": {10, f.get}, "cached": {10, f.cached},
		"list10": {10, f.list(10)}, "list100": {100, f.list(100)}, "sweep": {0, sweep}}[f.what]
	if !known {
		return fmt.Errorf("-what %q: create, save, get, cached, list10, list100 or sweep", f.what)
	}
	if one.each > 0 {
		if err := f.fill(ctx, one.each); err != nil {
			return err
		}
	}
	r := f.racing(f.what, 0, 0, contestant{Name: f.what, Do: one.do})
	return harness.Profiled(file, func() error { return r.Profile(ctx, stdout, f.callers, 5*time.Second, "times") })
}
