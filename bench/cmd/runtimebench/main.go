// Command runtimebench measures what generated code costs: building and parsing
// keys, and reading and writing through typed handles against bare rueidis with
// keys, types and TTLs written by hand, against go-redis, and with a guard in
// front. All contestants run in turns in one process against one server.
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
		fmt.Fprintln(os.Stderr, "runtimebench:", err)
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
	flags := flag.NewFlagSet("runtimebench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 100, "interleaved rounds")
	flags.DurationVar(&o.slice, "slice", 30*time.Millisecond, "how long a contestant runs each time")
	flags.StringVar(&o.server, "server", "redis-server", "server binary")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	out := &report.Report{
		Title: fmt.Sprintf("Generated code on %s: %d interleaved rounds of %v", o.server, o.rounds, o.slice),
		Notes: []string{
			"values of 256 bytes, hashes of six fields, 10,000 keys; ratios are medians of the ratios within a round"}}
	keys, goals := measureKeys()
	out.Tables, out.Goals = append(out.Tables, keys), append(out.Goals, goals...)
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
	for _, op := range ops {
		table, goals, err := field.race(ctx, op, o)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", op.name, err), out.Print(stdout, o.asJSON))
		}
		out.Tables, out.Goals = append(out.Tables, table), append(out.Goals, goals...)
	}
	return out.Print(stdout, o.asJSON)
}
