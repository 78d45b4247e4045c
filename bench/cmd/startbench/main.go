// Command startbench measures how long `keywright lint` takes as a process on a
// generated file, which is what an editor or a commit hook waits for.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/bench/contest"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/patternset"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

func main() { benchmark().Main() }

func benchmark() *harness.Program {
	p := &harness.Program{Name: "startbench", Tools: &harness.Tools{}}
	entries := p.Flags.Int("entries", 100, "entries of the larger file")
	runs := p.Flags.Int("runs", 20, "processes of each kind, interleaved")
	p.Title = func() string { return "Start-up" }
	p.Parts = []report.Part{{Name: "lint", Run: func(ctx context.Context, out *report.Report) error {
		return lint(ctx, out, p.Tools, *entries, *runs)
	}}}
	return p
}

func lint(ctx context.Context, out *report.Report, tools *harness.Tools, entries, runs int) error {
	c := contest.Contest{All: []*contest.Contestant{
		{Name: "a process that does nothing (true)", Command: contest.Program("true")},
		{Name: "keywright --help", Command: contest.Program(tools.CLI, "--help")}}}
	for _, n := range []int{1, entries} {
		file := filepath.Join(tools.Dir, fmt.Sprintf("%d.yaml", n))
		if err := os.WriteFile(file, patternset.New(n).YAML(), 0o644); err != nil {
			return err
		}
		c.All = append(c.All, &contest.Contestant{Name: fmt.Sprintf("keywright lint, %d entries", n),
			Command: contest.Program(tools.CLI, "lint", "-f", file)})
	}
	if err := c.Run(ctx, runs); err != nil {
		return err
	}
	wall := func(s contest.Sample) float64 { return 1e3 * contest.Wall(s) }
	median := turns.Median("wall ms median", "%.1f", wall)
	c.ShowFigures(out, fmt.Sprintf("Processes, %d runs each, interleaved", runs), "what", median,
		turns.Least("best", "%.1f", wall), turns.Most("worst", "%.1f", wall),
		turns.Median("CPU ms median", "%.1f", func(s contest.Sample) float64 { return 1e3 * contest.CPU(s) }))
	out.AtMost(50, median.Value(c.All[3].Samples), "keywright lint of %d entries, median ms", entries)
	return nil
}
