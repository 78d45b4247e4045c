// Command cachebench measures the package cache beside bare rueidis,
// go-redis/cache and otter: hits from the server, tracked hits in the process,
// hits in a tier of otter, and how often a cold key is loaded when a thousand
// callers of four clients want it at once. All contestants run in turns in one
// process against one server.
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
		fmt.Fprintln(os.Stderr, "cachebench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	slice  time.Duration
	server string
	asJSON bool
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("cachebench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 60, "interleaved rounds")
	flags.DurationVar(&o.slice, "slice", 30*time.Millisecond, "how long a contestant runs each time")
	flags.StringVar(&o.server, "server", "redis-server", "server binary")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return err
	}
	defer server.Stop()
	field, err := enter(ctx, server.Addr)
	if err != nil {
		return err
	}
	defer field.close()
	if err := field.fill(ctx); err != nil {
		return err
	}
	out := &report.Report{Title: fmt.Sprintf("Caches on %s: %d interleaved rounds of %v", o.server, o.rounds, o.slice),
		Notes: []string{"values of 256 bytes, 10,000 keys; ratios are medians of the ratios within a round"}}
	for _, r := range races {
		table, goals, err := field.race(ctx, r, o)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", r.name, err), out.Print(stdout, o.asJSON))
		}
		out.Tables, out.Goals = append(out.Tables, table), append(out.Goals, goals...)
	}
	table, goals, err := stampedes(ctx, server.Addr, 5)
	out.Tables, out.Goals = append(out.Tables, table), append(out.Goals, goals...)
	return errors.Join(err, out.Print(stdout, o.asJSON))
}
