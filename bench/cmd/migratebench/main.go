// Command migratebench measures a migration from files: an import beside a bare loader that
// reads the same file with the same JSON reader and sends plain commands in pipelines, a
// verification, writes to both sides beside writes to each, reads that are compared beside
// reads that are not, and a plan of a large file with its memory.
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
		fmt.Fprintln(os.Stderr, "migratebench:", err)
		os.Exit(1)
	}
}

type options struct {
	records int
	rounds  int
	slice   time.Duration
	server  string
	only    string
	asJSON  bool
	size    int64
	child   string
	profile string
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("migratebench", flag.ContinueOnError)
	flags.IntVar(&o.records, "records", 1_000_000, "records of about 220 bytes that are imported")
	flags.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flags.DurationVar(&o.slice, "slice", 500*time.Millisecond, "how long writes and reads run in each round")
	flags.StringVar(&o.server, "server", "redis-server", "server binary")
	flags.StringVar(&o.only, "only", "", "these parts alone: import,write,read,plan")
	flags.Int64Var(&o.size, "size", 2<<30, "bytes of the file that is planned")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.StringVar(&o.child, "child", "", "plan the file state.json of this folder, for the memory that it takes")
	flags.StringVar(&o.profile, "profile", "",
		"write a profile of imports and verifications to this file; -only says of what: strings or hashes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.profile != "" {
		return o.profiled(ctx, o.only)
	}
	if o.child != "" {
		return planned(ctx, o, stdout)
	}
	out := &report.Report{
		Title: fmt.Sprintf("A migration from files: %d records, %d rounds on %s", o.records, o.rounds, o.server)}
	err := out.Run(ctx, o.only, report.Part{Name: "import", Run: part(o.imports)},
		report.Part{Name: "write", Run: part(o.writes)},
		report.Part{Name: "read", Run: part(o.reads)}, report.Part{Name: "plan", Run: part(o.plans)})
	return errors.Join(err, out.Print(stdout, o.asJSON))
}

// part returns a part of the report, with its tables and goals.
func part(do func(context.Context, *report.Report) error) func(context.Context) ([]report.Table, []report.Goal, error) {
	return func(ctx context.Context) ([]report.Table, []report.Goal, error) {
		var r report.Report
		err := do(ctx, &r)
		return r.Tables, r.Goals, err
	}
}
