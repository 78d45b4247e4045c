// Command rdbbench measures the audit of a snapshot file against
// redis-check-rdb on the same file, the draft that infer draws from it, and how
// close the estimate of memory comes to MEMORY USAGE of servers that loaded it.
// Every report is compared with the dataset's ground truth.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

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
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("rdbbench", flag.ContinueOnError)
	flags.IntVar(&o.keys, "keys", 1_000_000, "keys of the dataset")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the dataset")
	flags.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flags.StringVar(&o.servers, "servers", "redis-server,valkey-server", "server binaries for the estimate; the first one's file is raced on")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "keywright-rdbbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cli, declaration := filepath.Join(dir, "keywright"), filepath.Join(dir, "keyspace.yaml")
	if err := errors.Join(os.WriteFile(declaration, dataset.Declaration, 0o644), live.BuildCLI(ctx, cli)); err != nil {
		return err
	}
	out := &report.Report{Title: fmt.Sprintf("Audit of a snapshot file: %d keys, %d interleaved rounds", o.keys, o.rounds),
		Notes: []string{"every contestant is a process of its own; wall includes its start", "ratios are medians of the rounds' ratios"}}
	for i, binary := range strings.Split(o.servers, ",") {
		file := filepath.Join(dir, binary+".rdb")
		truth, err := save(ctx, binary, file, o)
		if err == nil && i == 0 {
			err = race(ctx, out, cli, declaration, file, truth, o)
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

// race runs everybody on one file.
func race(ctx context.Context, out *report.Report, cli, declaration, file string, truth *dataset.Manifest, o options) error {
	program := func(name string, args ...string) func(context.Context) *exec.Cmd {
		return func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, name, args...) }
	}
	verify := func(stdout []byte) error { return verdict.Audit(stdout, truth) }
	audit := &contest.Contestant{Name: "keywright audit", Exit: 1, Verify: verify, Command: program(cli, "audit", file, "-f", declaration, "-o", "json", "--progress", "none")}
	quick := &contest.Contestant{Name: "keywright audit --no-crc", Exit: 1, Verify: verify, Command: program(cli, "audit", file, "-f", declaration, "-o", "json", "--progress", "none", "--no-crc")}
	infer := &contest.Contestant{Name: "keywright infer", Verify: drafted(truth), Command: program(cli, "infer", file, "--progress", "none")}
	check := &contest.Contestant{Name: "redis-check-rdb", Discard: true, Command: program("redis-check-rdb", file)}
	cat := &contest.Contestant{Name: "cat, the floor", Discard: true, Command: program("cat", file)}
	c := &contest.Contest{All: []*contest.Contestant{audit, quick, infer, check, cat}}
	if err := c.Run(ctx, o.rounds); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	out.Tables = append(out.Tables, c.Table(fmt.Sprintf("One file of %.1f MB", float64(info.Size())/1e6), o.keys))
	goal := func(what string, value, bound float64, atLeast bool) {
		out.Goals = append(out.Goals, report.Goal{What: what, Value: value, Bound: bound, AtLeast: atLeast})
	}
	speed := func(who *contest.Contestant) float64 { return float64(o.keys) / who.Best().Seconds() / 1e6 }
	goal("audit, million keys per second, checksum verified", speed(audit), 3, true)
	goal("audit --no-crc, million keys per second", speed(quick), 4, true)
	goal("redis-check-rdb ÷ audit, wall", contest.Ratio(check, audit, contest.Wall), 4.5, true)
	goal("audit, peak RSS MiB", audit.PeakRSS(), 64, false)
	goal("infer ÷ audit, wall", contest.Ratio(infer, audit, contest.Wall), 3, false)
	goal("infer, peak RSS MiB", infer.PeakRSS(), 128, false)
	return nil
}

// drafted makes sure that infer went through all keys.
func drafted(truth *dataset.Manifest) func([]byte) error {
	return func(stdout []byte) error {
		if want := fmt.Sprintf("drawn from %s keys", grouped(truth.Keys)); !bytes.Contains(stdout, []byte(want)) {
			return fmt.Errorf("the draft does not say %q", want)
		}
		return nil
	}
}

func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
