// Command entitybench compares entities with indexes with what programs do by
// hand: a MULTI of six commands, a pipeline, SMEMBERS and HGETALL. It measures
// creations, updates, deletions, reads and lists, what is left of items that have
// expired, and what sweeping costs. All contestants run in turns in one process
// against one server.
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

	"github.com/keywright/keywright/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "entitybench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds          int
	slice           time.Duration
	items, expiries int
	limit           time.Duration
	server          string
	only, race      string
	asJSON          bool
	profile, what   string
	callers         int
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("entitybench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 15, "interleaved rounds")
	flags.DurationVar(&o.slice, "slice", 150*time.Millisecond, "how long a contestant runs each time")
	flags.IntVar(&o.items, "items", 10_000, "items that expire, to see what is left")
	flags.IntVar(&o.expiries, "expiries", 100_000, "items that expire, to be swept")
	flags.DurationVar(&o.limit, "limit", 3*time.Minute, "items that take longer to expire fail the run")
	flags.StringVar(&o.server, "server", "redis-server", "server binary")
	flags.StringVar(&o.only, "only", "", "these parts alone: writes,reads,leaks,sweeps,cluster")
	flags.StringVar(&o.race, "race", "", "of these this race alone: Create, Get, List of 10, …")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.StringVar(&o.profile, "cpuprofile", "", "let keywright work alone, and write a CPU profile into this file")
	flags.StringVar(&o.what, "what", "create", "what is profiled: create, save, get, cached, list10, list100, sweep")
	flags.IntVar(&o.callers, "callers", 128, "how many goroutines are profiled")
	return o, flags.Parse(args)
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	f, err := enter(ctx, o)
	if err != nil {
		return err
	}
	defer f.close()
	if o.profile != "" {
		return f.profile(ctx, stdout)
	}
	out := &report.Report{Title: fmt.Sprintf("Entities on %s: %d interleaved rounds of %v", o.server, o.rounds, o.slice),
		Notes: []string{
			"a hash of six fields with a TTL, in four indexes (by hand two sets and two sorted sets); keywright's items have " +
				"a version, too",
			"ratios are medians of the ratios within a round; server commands are INFO commandstats, those in scripts too"}}
	err = out.Run(ctx, o.only, report.Part{Name: "writes", Run: f.writes}, report.Part{Name: "reads", Run: f.reads},
		report.Part{Name: "leaks", Run: f.leaks}, report.Part{Name: "sweeps", Run: f.sweeps},
		report.Part{Name: "cluster", Run: f.cluster})
	return errors.Join(err, out.Print(stdout, o.asJSON))
}
