// Command rankbench measures what rankings and limits cost over the bare
// commands: a window over many large sorted sets against ZUNIONSTORE and ZRANGE
// by hand, the same window when it is cached, and a rate limit against the
// smallest GCRA script that there is. All contestants run in turns in one
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

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/redis/rueidis"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rankbench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds  int
	builds  int
	days    int
	members int
	slice   time.Duration
	server  string
	asJSON  bool
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("rankbench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 40, "interleaved rounds of what is quick")
	flags.IntVar(&o.builds, "builds", 9, "interleaved rounds of building a window")
	flags.IntVar(&o.days, "days", 30, "days in the window")
	flags.IntVar(&o.members, "members", 100_000, "members of a day")
	flags.DurationVar(&o.slice, "slice", 100*time.Millisecond, "how long a contestant runs each time")
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
	f, err := enter(ctx, server, o)
	if err != nil {
		return err
	}
	defer f.close()
	out := &report.Report{
		Title: fmt.Sprintf("Rankings and limits on %s: %d days of %d members, top %d", o.server, o.days, o.members, top),
		Notes: []string{
			"ratios are medians of the ratios within a round; every contestant gets the same answer, which is checked"}}
	for _, measure := range []func(context.Context, *report.Report) error{f.window, f.cached, f.limits} {
		if err := measure(ctx, out); err != nil {
			return errors.Join(err, out.Print(stdout, o.asJSON))
		}
	}
	return out.Print(stdout, o.asJSON)
}

// field represents the clients, connected, and what they measure.
type field struct {
	options
	server *live.Server
	raw    rueidis.Client
	client *keywright.Client
}

// patience is longer than the slowest union takes.
const patience = 2 * time.Minute

func enter(ctx context.Context, server *live.Server, o options) (*field, error) {
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableRetry: true,
		ConnWriteTimeout: patience})
	if err != nil {
		return nil, err
	}
	client, err := keywright.Open(ctx, "redis://"+server.Addr, keywright.Options{Timeout: patience})
	if err != nil {
		raw.Close()
		return nil, err
	}
	f := &field{o, server, raw, client}
	return f, f.fill(ctx)
}

func (f *field) close() {
	f.raw.Close()
	f.client.Close()
}

// contestant does one thing in its own way.
type contestant struct {
	name string
	do   func(ctx context.Context) error
}
