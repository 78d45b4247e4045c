package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
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

// keyCases lists the keys that are built and parsed: one number, and a UUID, a day
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
	{"parse visit:{user}:{day}:{id}",
		func() { _, _, sink.n, _ = benchkeys.ParseVisitKey("visit:" + visitor + ":2026-11-20:123456") }, 100, 0},
}

var visitDay = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

func measureKeys(_ context.Context, out *report.Report) error {
	t := out.Table("Keys", "what", "ns", "allocations")
	for _, c := range keyCases {
		ns, allocations := measure(c.run)
		t.Add(c.name, fmt.Sprintf("%.1f", ns), fmt.Sprintf("%.0f", allocations))
		if c.most > 0 {
			out.AtMost(c.most, ns, "%s, ns", c.name)
		}
		out.AtMost(float64(c.may), allocations, "%s, allocations", c.name)
	}
	return nil
}

// measure returns the best of five times a million calls.
func measure(run func()) (ns, allocations float64) {
	const calls = 1_000_000
	var before, after runtime.MemStats
	ns = math.Inf(1)
	for range 5 {
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := time.Now()
		for range calls {
			run()
		}
		ns = min(ns, float64(time.Since(began).Nanoseconds())/calls)
		runtime.ReadMemStats(&after)
		allocations = math.Round(float64(after.Mallocs-before.Mallocs) / calls)
	}
	return ns, allocations
}
