package main

import (
	"fmt"
	"runtime"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/bench/matchers"
	"github.com/keywright/keywright/bench/patternset"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
)

func goals(n int, r *rival, rate, ratio float64) []report.Goal {
	goal := func(what string, value, bound float64, atLeast bool) report.Goal {
		return report.Goal{What: fmt.Sprintf("%d patterns: %s", n, what), Value: value, Bound: bound, AtLeast: atLeast}
	}
	switch {
	case r.name == ours:
		return []report.Goal{goal("M keys/s", rate/1e6, 10, true), goal("allocations per key", r.allocs, 0, false)}
	case r.name == list:
		return []report.Goal{goal("× a list of regexps", ratio, 10, true)}
	case r.name == alternation && n == 1000:
		return []report.Goal{goal("× one alternation", ratio, 500, true)}
	}
	return nil
}

// compileCost measures what a keyspace of 1,000 entries costs before the first
// key.
func compileCost(out *report.Report) error {
	const entries = 1000
	set := patternset.New(entries)
	text := set.YAML()
	t := report.Table{
		Title:   fmt.Sprintf("%d entries, %d runs", entries, compileRuns),
		Columns: []string{"what", "median ms", "best ms", "MiB held", "MiB allocated"},
	}
	ms, held, err := costOf(&t, "parse the patterns and compile the matcher",
		func() (any, error) { return matchers.Compile(set) })
	if err != nil {
		return err
	}
	if _, _, err := costOf(&t, "load the same from YAML and compile",
		func() (any, error) { return loadAndCompile(text) }); err != nil {
		return err
	}
	out.Tables = append(out.Tables, t)
	out.Goals = append(out.Goals,
		report.Goal{What: "1000 entries compile in ms", Value: ms, Bound: 100},
		report.Goal{What: "… and hold MiB", Value: held, Bound: 5})
	return nil
}

func loadAndCompile(text []byte) (any, error) {
	ks, findings := load.File(fstest.MapFS{"k.yaml": {Data: text}}, "k.yaml")
	if len(findings) > 0 {
		return nil, fmt.Errorf("the generated file has faults: %s", findings[0].Message)
	}
	items := make([]match.Item, len(ks.Keys))
	for i, key := range ks.Keys {
		items[i] = match.Item{Pattern: key.Pattern}
	}
	m, _, err := match.Compile(items)
	return []any{ks, m}, err
}

const compileRuns = 9

// costOf adds a row and returns the median milliseconds and MiB held.
func costOf(t *report.Table, what string, work func() (any, error)) (ms, mib float64, err error) {
	var times []time.Duration
	var held, made []float64
	for range compileRuns {
		before := heap()
		start := time.Now()
		result, err := work()
		if err != nil {
			return 0, 0, err
		}
		times = append(times, time.Since(start))
		after := heap()
		held = append(held, float64(after.HeapAlloc)-float64(before.HeapAlloc))
		made = append(made, float64(after.TotalAlloc-before.TotalAlloc))
		runtime.KeepAlive(result)
	}
	median, kept := report.Median(times), report.Median(held)
	t.Add(what, millis(median), millis(times[0]), mebi(kept), mebi(report.Median(made)))
	return float64(median) / 1e6, kept / (1 << 20), nil
}

// heap counts after a collection, so that differences are what is still held.
func heap() runtime.MemStats {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }

func mebi(bytes float64) string { return fmt.Sprintf("%.2f", bytes/(1<<20)) }
