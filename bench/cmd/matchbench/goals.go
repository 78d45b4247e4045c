package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/keywright/keywright/bench/matchers"
	"github.com/keywright/keywright/bench/patternset"
	"github.com/keywright/keywright/bench/report"
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
// key: patterns parsed and the matcher compiled.
func compileCost(out *report.Report) error {
	const entries, runs = 1000, 9
	set := patternset.New(entries)
	var times []time.Duration
	var held, made []float64
	for range runs {
		before := heap()
		start := time.Now()
		m, err := matchers.Compile(set)
		if err != nil {
			return err
		}
		times = append(times, time.Since(start))
		after := heap()
		held = append(held, float64(after.HeapAlloc)-float64(before.HeapAlloc))
		made = append(made, float64(after.TotalAlloc-before.TotalAlloc))
		runtime.KeepAlive(m)
	}
	t := report.Table{
		Title:   fmt.Sprintf("Compiling %d patterns, %d runs", entries, runs),
		Columns: []string{"median ms", "best ms", "MiB held", "MiB allocated"},
	}
	median := report.Median(times)
	t.Add(millis(median), millis(times[0]), mebi(report.Median(held)), mebi(report.Median(made)))
	out.Tables = append(out.Tables, t)
	out.Goals = append(out.Goals,
		report.Goal{What: "1000 entries compile in ms", Value: float64(median) / 1e6, Bound: 100},
		report.Goal{What: "… and hold MiB", Value: report.Median(held) / (1 << 20), Bound: 5})
	return nil
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
