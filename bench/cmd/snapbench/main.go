// Command snapbench measures the audit of a live server by snapshot against
// `redis-cli --rdb -`, which receives the same bytes and does nothing with them,
// and against the audit by SCAN. What counts is time, and what it costs the
// server's main thread.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/verdict"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "snapbench:", err)
		os.Exit(1)
	}
}

type options struct {
	keys    int
	seed    uint64
	rounds  int
	servers string
	asJSON  bool
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("snapbench", flag.ContinueOnError)
	flags.IntVar(&o.keys, "keys", 1_000_000, "keys of the dataset")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the dataset")
	flags.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flags.StringVar(&o.servers, "servers", "redis-server,valkey-server", "server binaries, one after the other")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "keywright-snapbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cli, declaration := filepath.Join(dir, "keywright"), filepath.Join(dir, "keyspace.yaml")
	if err := errors.Join(os.WriteFile(declaration, dataset.Declaration, 0o644), live.BuildCLI(ctx, cli)); err != nil {
		return err
	}
	out := &report.Report{Title: fmt.Sprintf("Snapshot of a live server: %d keys, %d interleaved rounds", o.keys, o.rounds),
		Notes: []string{"diskless, repl-diskless-sync-delay 0; by default a server waits 5 s first", "server CPU is that of its main thread: the child that writes the snapshot is not in it"}}
	for binary := range strings.SplitSeq(o.servers, ",") {
		if err := onServer(ctx, out, binary, cli, declaration, o); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", binary, err), out.Print(stdout, o.asJSON))
		}
	}
	return out.Print(stdout, o.asJSON)
}

func onServer(ctx context.Context, out *report.Report, binary, cli, declaration string, o options) error {
	server, err := live.Start(ctx, binary, "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0")
	if err != nil {
		return err
	}
	defer server.Stop()
	truth, err := dataset.Load(ctx, server.Addr, dataset.Options{Keys: o.keys, Seed: o.seed})
	if err != nil {
		return err
	}
	program := func(name string, args ...string) func(context.Context) *exec.Cmd {
		return func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, name, args...) }
	}
	host, port, _ := net.SplitHostPort(server.Addr)
	verify := func(stdout []byte) error { return verdict.Audit(stdout, truth) }
	url := "redis://" + server.Addr
	snapshot := &contest.Contestant{Name: "keywright audit --snapshot", Exit: 1, Verify: verify, Command: program(cli, "audit", "--snapshot", url, "-f", declaration, "-o", "json", "--progress", "none")}
	scan := &contest.Contestant{Name: "keywright audit", Exit: 1, Verify: verify, Command: program(cli, "audit", url, "-f", declaration, "-o", "json", "--progress", "none")}
	dump := &contest.Contestant{Name: "redis-cli --rdb -", Discard: true, Command: program("redis-cli", "-h", host, "-p", port, "--rdb", "-")}
	c := &contest.Contest{All: []*contest.Contestant{snapshot, dump, scan}, Meter: server.CPU, After: func() error { return idle(ctx, server) }}
	if err := c.Run(ctx, o.rounds); err != nil {
		return err
	}
	out.Tables = append(out.Tables, c.Table(binary, o.keys))
	out.Goals = append(out.Goals,
		report.Goal{What: binary + ": wall, snapshot audit ÷ redis-cli --rdb", Value: contest.Ratio(snapshot, dump, contest.Wall), Bound: 1.2},
		report.Goal{What: binary + ": server's main thread, snapshot audit ÷ SCAN audit", Value: contest.Ratio(snapshot, scan, contest.Server), Bound: 0.2})
	return nil
}

// idle waits until the server has no child left: the next snapshot would wait
// for it.
func idle(ctx context.Context, server *live.Server) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		persistence, err := server.Info("persistence")
		if err != nil {
			return err
		}
		replication, err := server.Info("replication")
		if err != nil {
			return err
		}
		if persistence["rdb_bgsave_in_progress"] == "0" && replication["connected_slaves"] == "0" {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
