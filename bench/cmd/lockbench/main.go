// Command lockbench compares locks: what one costs when no caller waits, how fast a
// queue of waiters drains and with how many commands, how evenly clients are
// served that always want it, and what thousands of waiters of one process cost.
// Peers are redsync, redislock, rueidislock, and bare rueidis with SET NX by hand.
// All run in turns in one process against one server.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

func main() { benchmark().Main() }

// field represents the server, and what is asked for.
type field struct {
	*harness.Program
	server           *live.Server
	shots            int
	clients, waiters int
	hold, limit      time.Duration
	rushes           int
	steady           time.Duration
	local            int
}

func benchmark() *harness.Program { return newField().Program }

func newField() *field {
	p := &harness.Program{Name: "lockbench", Rounds: 20, RoundsOf: " without contention", Slice: 100 * time.Millisecond,
		Server: harness.Redis, Notes: []string{
			"ratios are medians of the ratios within a round; calls are counted at the clients, server commands by INFO " +
				"commandstats, those in scripts too"}}
	f := &field{Program: p}
	p.Flags.IntVar(&f.shots, "shots", 5, "interleaved rounds of one-shot")
	p.Flags.IntVar(&f.clients, "clients", 16, "clients with connections of their own, under contention")
	p.Flags.IntVar(&f.waiters, "waiters", 8, "waiters of each client")
	p.Flags.DurationVar(&f.hold, "hold", time.Millisecond, "how long a waiter holds the lock")
	p.Flags.DurationVar(&f.limit, "limit", 20*time.Second, "who has waited for so long was never served")
	p.Flags.IntVar(&f.rushes, "rushes", 3, "interleaved rounds of steady contention")
	p.Flags.DurationVar(&f.steady, "steady", 3*time.Second, "how long each of them is")
	p.Flags.IntVar(&f.local, "local", 40_000, "waiters of one process")
	p.Title = func() string {
		return fmt.Sprintf("Locks on %s: %d interleaved rounds of %v, %d one-shots, %d steady runs", p.Server, p.Rounds,
			p.Slice, f.shots, f.rushes)
	}
	p.Open = func(ctx context.Context, server string) (err error) {
		f.server, err = p.Start(ctx, server)
		return err
	}
	p.Parts = []report.Part{{Name: "uncontended", Run: f.uncontended}, {Name: "one-shot", Run: f.oneShot},
		{Name: "steady", Run: f.rush}, {Name: "local", Run: f.locally}}
	p.Profile = harness.Instead{Flag: "cpuprofile", Run: f.profile,
		Usage: "lock and unlock with keywright alone, and write a CPU profile into this file"}
	return f
}
