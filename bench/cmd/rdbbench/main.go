// Command rdbbench measures the audit of a snapshot file against
// redis-check-rdb on the same file, the draft that infer draws from it, and how
// close the estimate of memory comes to MEMORY USAGE of servers that loaded it.
// Every report is compared with the dataset's ground truth.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rdbbench:", err)
		os.Exit(1)
	}
}

type options struct {
	keys    int
	seed    uint64
	rounds  int
	servers string
	asJSON  bool

	read string // this process is the bare reader of that file
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("rdbbench", flag.ContinueOnError)
	flags.IntVar(&o.keys, "keys", 1_000_000, "keys of the dataset")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the dataset")
	flags.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flags.StringVar(&o.servers, "servers", "redis-server,valkey-server",
		"server binaries for the estimate; the first one's file is raced on")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	flags.StringVar(&o.read, "read", "", "be the bare reader of this snapshot: a contestant, not a race")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.read != "" {
		return bareRead(ctx, o.read, stdout)
	}
	return compare(ctx, o, stdout)
}

func compare(ctx context.Context, o options, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "keywright-rdbbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := &track{keys: o.keys, rounds: o.rounds, cli: filepath.Join(dir, "keywright"),
		declaration: filepath.Join(dir, "keyspace.yaml")}
	if err := errors.Join(os.WriteFile(t.declaration, dataset.Declaration, 0o644), live.BuildCLI(ctx, t.cli)); err != nil {
		return err
	}
	out := &report.Report{Title: fmt.Sprintf("Audit of a snapshot file: %d keys, %d interleaved rounds", o.keys, o.rounds),
		Notes: []string{
			"every contestant is a process of its own; wall includes its start",
			"the file is in the page cache; ratios are medians of the rounds' ratios",
			"the system shows no child's peak RSS below that of this program, some 12 MiB",
		}}
	for i, binary := range strings.Split(o.servers, ",") {
		file := filepath.Join(dir, binary+".rdb")
		truth, err := save(ctx, binary, file, o)
		if err == nil && i == 0 {
			err = t.race(ctx, out, file, truth)
		}
		if err == nil {
			err = estimate(ctx, out, binary, file)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", binary, err), out.Print(stdout, o.asJSON))
		}
	}
	return out.Print(stdout, o.asJSON)
}

// save lets a server write the dataset to a file.
func save(ctx context.Context, binary, file string, o options) (*dataset.Manifest, error) {
	server, err := live.Start(ctx, binary)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	truth, err := dataset.Load(ctx, server.Addr, dataset.Options{Keys: o.keys, Seed: o.seed})
	if err != nil {
		return nil, err
	}
	if err := server.Do("SAVE"); err != nil {
		return nil, err
	}
	return truth, os.Rename(filepath.Join(server.Dir(), "dump.rdb"), file)
}
