// Command auditbench measures an audit of a live server against the same
// commands sent by loops that do nothing with the answers, and against
// `redis-cli --memkeys`, in interleaved rounds on one server. Every report of
// the audit is compared with the dataset's ground truth; one difference fails
// the run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "auditbench:", err)
		os.Exit(1)
	}
}

type options struct {
	keys    int
	seed    uint64
	rounds  int
	servers string
	cli     string
	count   int
	asJSON  bool
	profile string

	child string // this process is a contestant
	addr  string
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("auditbench", flag.ContinueOnError)
	flags.IntVar(&o.keys, "keys", 1_000_000, "keys of the dataset")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the dataset")
	flags.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flags.StringVar(&o.servers, "servers", "redis-server,valkey-server", "server binaries, one after the other")
	flags.StringVar(&o.cli, "cli", "", "keywright binary (default: built from this tree)")
	flags.IntVar(&o.count, "count", 0, "COUNT of the loops' SCAN (default: the mean page of the audit)")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.StringVar(&o.profile, "cpuprofile", "", "with -child: write a CPU profile of the contestant to this file")
	flags.StringVar(&o.child, "child", "", "run one contestant against -addr: "+strings.Join(childNames(), ", "))
	flags.StringVar(&o.addr, "addr", "", "with -child: host:port of a loaded server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.child != "" {
		return runChild(ctx, o, stdout)
	}
	return compare(ctx, o, stdout)
}

func compare(ctx context.Context, o options, stdout io.Writer) error {
	tools, err := newTools(ctx, o)
	if err != nil {
		return err
	}
	defer tools.remove()
	out := &report.Report{
		Title: fmt.Sprintf("Audit of a live server: %d keys, %d interleaved rounds", o.keys, o.rounds),
		Notes: []string{
			"every contestant is a process of its own; wall includes its start",
			"CPU of the server is that of its main thread; ratios are medians of the rounds' ratios",
			"the system shows no child's peak RSS below that of this program, some 12 MiB",
		},
	}
	for binary := range strings.SplitSeq(o.servers, ",") {
		if err := tools.onServer(ctx, out, binary); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", binary, err), out.Print(stdout, o.asJSON))
		}
	}
	return out.Print(stdout, o.asJSON)
}

// onServer measures all contestants on one fresh server.
func (t *tools) onServer(ctx context.Context, out *report.Report, binary string) error {
	server, err := live.Start(ctx, binary)
	if err != nil {
		return err
	}
	defer server.Stop()
	truth, err := dataset.Load(ctx, server.Addr, dataset.Options{Keys: t.keys, Seed: t.seed})
	if err != nil {
		return err
	}
	arena := &arena{server: server, truth: truth, count: t.count}
	all := t.contestants()
	if err := arena.warmUp(ctx, all[0]); err != nil {
		return err
	}
	for round := range t.rounds {
		for i := range all {
			if err := arena.runOnce(ctx, all[(i+round)%len(all)]); err != nil {
				return err
			}
		}
	}
	tabulate(out, binary, arena, all)
	return nil
}
