package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/matchers"
	"github.com/keywright/keywright/bench/patternset"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/keyspace/match"
)

// goals adds those of one size: by the names of the contestants.
func goals(out *report.Report, n int, who string, rate, allocs, ratio float64) {
	switch {
	case who == ours:
		out.AtLeast(10, rate/1e6, "%d patterns: M keys/s", n)
		out.AtMost(0, allocs, "%d patterns: allocations per key", n)
	case who == list:
		out.AtLeast(10, ratio, "%d patterns: × a list of regexps", n)
	case who == alternation && n == 1000:
		out.AtLeast(500, ratio, "%d patterns: × one alternation", n)
	}
}

// job represents something that is done before the first key.
type job struct {
	name string
	do   func() (any, error)
}

func (j job) String() string { return j.name }

// compiled represents one run of it.
type compiled struct{ ms, held, made float64 }

const compileRuns = 9

// compileCost measures what a keyspace of 1,000 entries costs before the first
// key.
func compileCost(_ context.Context, out *report.Report) error {
	const entries = 1000
	set := patternset.New(entries)
	text := set.YAML()
	ms := func(c compiled) float64 { return c.ms }
	runs, err := turns.Rounds(compileRuns, []job{
		{"parse the patterns and compile the matcher", func() (any, error) { return matchers.Compile(set) }},
		{"load the same from YAML and compile", func() (any, error) { return loadAndCompile(text) }}}, compile)
	if err != nil {
		return err
	}
	runs.Show(out, fmt.Sprintf("%d entries, %d runs", entries, compileRuns), "what",
		turns.Median("median ms", "%.1f", ms).AtMost(100, "1000 entries compile in ms"), turns.Least("best ms", "%.1f", ms),
		turns.Median("MiB held", "%.2f", func(c compiled) float64 { return c.held }).AtMost(5, "… and hold MiB"),
		turns.Median("MiB allocated", "%.2f", func(c compiled) float64 { return c.made }))
	return nil
}

func compile(j job) (c compiled, err error) {
	before := heap()
	start := time.Now()
	result, err := j.do()
	c.ms = time.Since(start).Seconds() * 1e3
	after := heap()
	c.held = (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / (1 << 20)
	c.made = float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
	runtime.KeepAlive(result)
	return c, err
}

func loadAndCompile(text []byte) (any, error) {
	ks, err := harness.Declared(text)
	if err != nil {
		return nil, err
	}
	items := make([]match.Item, len(ks.Keys))
	for i, key := range ks.Keys {
		items[i] = match.Item{Pattern: key.Pattern}
	}
	m, _, err := match.Compile(items)
	return []any{ks, m}, err
}

// heap counts after a collection, so that differences are what is still held.
func heap() runtime.MemStats {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats
}
