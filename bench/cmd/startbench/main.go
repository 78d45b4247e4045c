// Command startbench measures how long `keywright lint` takes as a process on a
// generated file, which is what an editor or a commit hook waits for.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/patternset"
	"github.com/keywright/keywright/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "startbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("startbench", flag.ContinueOnError)
	entries := flags.Int("entries", 100, "entries of the larger file")
	runs := flags.Int("runs", 20, "processes of each kind, interleaved")
	cli := flags.String("cli", "", "keywright binary (default: built from this tree)")
	asJSON := flags.Bool("json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "keywright-startbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *cli == "" {
		*cli = filepath.Join(dir, "keywright")
		if err := live.BuildCLI(ctx, *cli); err != nil {
			return err
		}
	}
	all, err := contestants(*cli, dir, *entries)
	if err != nil {
		return err
	}
	for range *runs {
		for _, c := range all {
			if err := c.runOnce(ctx); err != nil {
				return err
			}
		}
	}
	return summary(all, *entries, *runs).Print(stdout, *asJSON)
}

type contestant struct {
	name  string
	args  []string
	walls []time.Duration
	cpus  []time.Duration
}

func contestants(cli, dir string, entries int) ([]*contestant, error) {
	all := []*contestant{{name: "a process that does nothing (true)", args: []string{"true"}},
		{name: "keywright --help", args: []string{cli, "--help"}}}
	for _, n := range []int{1, entries} {
		file := filepath.Join(dir, fmt.Sprintf("%d.yaml", n))
		if err := os.WriteFile(file, patternset.New(n).YAML(), 0o644); err != nil {
			return nil, err
		}
		all = append(all,
			&contestant{name: fmt.Sprintf("keywright lint, %d entries", n), args: []string{cli, "lint", "-f", file}})
	}
	return all, nil
}

func (c *contestant) runOnce(ctx context.Context) error {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Stdout, cmd.Stderr = &output, &output
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c.name, err, output.Bytes())
	}
	c.walls = append(c.walls, time.Since(start))
	c.cpus = append(c.cpus, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return nil
}

func summary(all []*contestant, entries, runs int) *report.Report {
	t := report.Table{Title: fmt.Sprintf("Processes, %d runs each, interleaved", runs),
		Columns: []string{"what", "wall ms median", "best", "worst", "CPU ms median"}}
	for _, c := range all {
		median := report.Median(c.walls)
		t.Add(c.name, millis(median), millis(c.walls[0]), millis(slices.Max(c.walls)), millis(report.Median(c.cpus)))
	}
	lint := all[len(all)-1]
	return &report.Report{Title: "Start-up", Tables: []report.Table{t}, Goals: []report.Goal{{
		What:  fmt.Sprintf("keywright lint of %d entries, median ms", entries),
		Value: float64(report.Median(lint.walls)) / 1e6, Bound: 50,
	}}}
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }
