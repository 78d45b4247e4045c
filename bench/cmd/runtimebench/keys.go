package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/bench/benchkeys"
	"github.com/keywright/keywright/bench/report"
)

const visitor = "01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f"

// sink keeps results from being optimised away.
var sink struct {
	key string
	n   int64
}

// keyCases are the keys that are built and parsed: one number, and a UUID, a day
// and a number.
var keyCases = []struct {
	name string
	run  func()
	most float64 // nanoseconds
	may  int64   // allocations
}{
	{"build cache:page:{id}", func() { sink.key, _ = benchkeys.PageKey(123456) }, 60, 1},
	{"build visit:{user}:{day}:{id}", func() { sink.key, _ = benchkeys.VisitKey(visitor, visitDay, 123456) }, 0, 1},
	{"parse cache:page:{id}", func() { sink.n, _ = benchkeys.ParsePageKey("cache:page:123456") }, 100, 0},
	{"parse visit:{user}:{day}:{id}", func() { _, _, sink.n, _ = benchkeys.ParseVisitKey("visit:" + visitor + ":2026-11-20:123456") }, 100, 0},
}

var visitDay = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

func measureKeys() (report.Table, []report.Goal) {
	t := report.Table{Title: "Keys", Columns: []string{"what", "ns", "allocations"}}
	var goals []report.Goal
	for _, c := range keyCases {
		best := testing.BenchmarkResult{}
		for range 3 {
			r := testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.run()
				}
			})
			if best.N == 0 || r.NsPerOp() < best.NsPerOp() {
				best = r
			}
		}
		ns := float64(best.T.Nanoseconds()) / float64(best.N)
		t.Add(c.name, fmt.Sprintf("%.1f", ns), best.AllocsPerOp())
		if c.most > 0 {
			goals = append(goals, report.Goal{What: c.name + ", ns", Value: ns, Bound: c.most})
		}
		goals = append(goals, report.Goal{What: c.name + ", allocations", Value: float64(best.AllocsPerOp()), Bound: float64(c.may)})
	}
	return t, goals
}
