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
	out := &report.Report{
		Title: fmt.Sprintf("Snapshot of a live server: %d keys, %d interleaved rounds", o.keys, o.rounds),
		Notes: []string{"repl-diskless-sync-delay is 0; by default a server waits 5 s before it sends a snapshot diskless",
			"server CPU is that of its main thread: the child that writes the snapshot is not in it"}}
	for binary := range strings.SplitSeq(o.servers, ",") {
		if err := onServer(ctx, out, binary, cli, declaration, o); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", binary, err), out.Print(stdout, o.asJSON))
		}
	}
	return out.Print(stdout, o.asJSON)
}

// ways a server sends its snapshot to a replica, by repl-diskless-sync.
var ways = []struct{ name, diskless string }{{"diskless", "yes"}, {"from disk", "no"}}

func onServer(ctx context.Context, out *report.Report, binary, cli, declaration string, o options) error {
	server, err := live.Start(ctx, binary, "--repl-diskless-sync-delay", "0")
	if err != nil {
		return err
	}
	defer server.Stop()
	truth, err := dataset.Load(ctx, server.Addr, dataset.Options{Keys: o.keys, Seed: o.seed})
	if err != nil {
		return err
	}
	for _, way := range ways {
		if err := server.Do("CONFIG", "SET", "repl-diskless-sync", way.diskless); err != nil {
			return err
		}
		f := enter(server.Addr, cli, declaration, truth)
		c := &contest.Contest{All: []*contest.Contestant{f.snapshot, f.dump, f.scan}, Meter: server.CPU,
			After: func() error { return idle(ctx, server) }}
		if err := c.Run(ctx, o.rounds); err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		title := binary + ", " + way.name
		out.Tables = append(out.Tables, c.Table(title, o.keys))
		out.Goals = append(out.Goals, f.goals(title)...)
	}
	return nil
}

// field describes what runs.
type field struct{ snapshot, dump, scan *contest.Contestant }

// enter makes the contestants. An audit finds the planted violations, so its
// exit status is 1.
func enter(addr, cli, declaration string, truth *dataset.Manifest) field {
	host, port, _ := net.SplitHostPort(addr)
	audit := func(name string, more ...string) *contest.Contestant {
		args := append([]string{"audit", "redis://" + addr, "-f", declaration, "-o", "json", "--progress", "none"}, more...)
		return &contest.Contestant{Name: name, Exit: 1, Command: contest.Program(cli, args...),
			Verify: func(stdout []byte) error { return verdict.Audit(stdout, truth) }}
	}
	return field{
		snapshot: audit("keywright audit --snapshot", "--snapshot"),
		dump: &contest.Contestant{Name: "redis-cli --rdb -", Discard: true,
			Command: contest.Program("redis-cli", "-h", host, "-p", port, "--rdb", "-")},
		scan: audit("keywright audit"),
	}
}

func (f field) goals(title string) []report.Goal {
	return []report.Goal{
		{What: title + ": wall, snapshot audit ÷ redis-cli --rdb", Value: contest.Ratio(f.snapshot, f.dump, contest.Wall),
			Bound: 1.2},
		{What: title + ": server's main thread, snapshot audit ÷ SCAN audit",
			Value: contest.Ratio(f.snapshot, f.scan, contest.Server), Bound: 0.2},
	}
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
