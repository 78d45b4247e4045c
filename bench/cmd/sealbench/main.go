// Command sealbench measures sealing: how many texts a process seals and opens, beside
// bare AES-GCM with a key that is there already, and how many values a second a
// rotation, and the adoption of plain text, seal again on a server.
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
		fmt.Fprintln(os.Stderr, "sealbench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	slice  time.Duration
	values int
	server string
	only   string
	asJSON bool
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("sealbench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 15, "interleaved rounds")
	flags.DurationVar(&o.slice, "slice", 100*time.Millisecond, "how long a contestant runs each time")
	flags.IntVar(&o.values, "values", 50_000, "values that are sealed again")
	flags.StringVar(&o.server, "server", "redis-server", "server binary")
	flags.StringVar(&o.only, "only", "", "these parts alone: texts,walks")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	out := &report.Report{
		Title: fmt.Sprintf("Sealing, %d rounds of %v; %d values on %s", o.rounds, o.slice, o.values, o.server)}
	err := out.Run(ctx, o.only, report.Part{Name: "texts", Run: o.texts}, report.Part{Name: "walks", Run: o.walks})
	return errors.Join(err, out.Print(stdout, o.asJSON))
}
