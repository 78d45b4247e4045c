// Command lockbench compares locks: what one costs when no caller waits, how fast a
// queue of waiters drains and with how many commands, how evenly clients are
// served that always want it, and what thousands of waiters of one process cost.
// Peers are redsync, redislock, rueidislock, and bare rueidis with SET NX by hand.
// All run in turns in one process against one server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lockbench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds           int
	slice            time.Duration
	shots            int
	clients, waiters int
	hold, limit      time.Duration
	rushes           int
	steady           time.Duration
	local            int
	server, profile  string
	asJSON           bool
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("lockbench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 20, "interleaved rounds without contention")
	flags.DurationVar(&o.slice, "slice", 100*time.Millisecond, "how long a contestant runs each time there")
	flags.IntVar(&o.shots, "shots", 5, "interleaved rounds of one-shot")
	flags.IntVar(&o.clients, "clients", 16, "clients with connections of their own, under contention")
	flags.IntVar(&o.waiters, "waiters", 8, "waiters of each client")
	flags.DurationVar(&o.hold, "hold", time.Millisecond, "how long a waiter holds the lock")
	flags.DurationVar(&o.limit, "limit", 20*time.Second, "who has waited for so long was never served")
	flags.IntVar(&o.rushes, "rushes", 3, "interleaved rounds of steady contention")
	flags.DurationVar(&o.steady, "steady", 3*time.Second, "how long each of them is")
	flags.IntVar(&o.local, "local", 40_000, "waiters of one process")
	flags.StringVar(&o.server, "server", "redis-server", "server binary")
	flags.StringVar(&o.profile, "cpuprofile", "",
		"lock and unlock with keywright alone, and write a CPU profile into this file")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	return o, flags.Parse(args)
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return err
	}
	defer server.Stop()
	if o.profile != "" {
		return profile(ctx, server, o.profile, stdout)
	}
	out := &report.Report{Title: fmt.Sprintf("Locks on %s: %d interleaved rounds of %v, %d one-shots, %d steady runs",
		o.server, o.rounds, o.slice, o.shots, o.rushes),
		Notes: []string{
			"ratios are medians of the ratios within a round; calls are counted at the clients, server commands by INFO " +
				"commandstats, those in scripts too"}}
	for _, part := range []func(context.Context, *live.Server, options) ([]report.Table, []report.Goal, error){uncontended,
		oneShot, steady, local} {
		tables, goals, err := part(ctx, server, o)
		if err != nil {
			return errors.Join(err, out.Print(stdout, o.asJSON))
		}
		out.Tables, out.Goals = append(out.Tables, tables...), append(out.Goals, goals...)
	}
	return out.Print(stdout, o.asJSON)
}
