// Command matchbench measures how many keys a second are assigned to their
// pattern: keywright's matcher, a list of compiled regexps, and one alternation
// with captures, on the same keys, interleaved.
package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/matchers"
	"github.com/keywright/keywright/bench/patternset"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

func main() { benchmark().Main() }

func benchmark() *harness.Program {
	p := &harness.Program{Name: "matchbench", Rounds: 7, Slice: 200 * time.Millisecond,
		Notes: []string{"M keys/s is per second of CPU of the one thread; ratios are within a round",
			"captures included, but for the rows \"entry only\""}}
	p.Title = func() string { return "Matching: one goroutine, 3 % of the keys match nothing" }
	for _, n := range []int{28, 200, 1000} {
		p.Parts = append(p.Parts, report.Part{Name: fmt.Sprint(n), Run: func(_ context.Context, out *report.Report) error {
			return measure(out, n, p.Rounds, p.Slice)
		}})
	}
	p.Parts = append(p.Parts, report.Part{Name: "compile", Run: compileCost})
	return p
}

// rival represents one way of matching and how it fares.
type rival struct {
	name   string
	build  func(*patternset.Set) (matchers.Func, error)
	keys   int // how many of the keys it runs through before looking at the clock
	peer   int // index of keywright doing the same
	find   matchers.Func
	allocs float64
	turns  int
}

func (r *rival) String() string { return r.name }

// Names that goals refer to.
const (
	ours        = "keywright"
	list        = "regexp list"
	alternation = "regexp alternation"
)

func rivals() []*rival {
	return []*rival{
		{name: ours, build: matchers.Keywright, keys: keyCount},
		{name: list, build: matchers.List, keys: 1000},
		{name: alternation, build: matchers.Alternation, keys: 200},
		{name: "entry only: " + ours, build: matchers.KeywrightNoCaptures, keys: keyCount, peer: 3},
		{name: "entry only: " + list, build: matchers.ListNoCaptures, keys: 1000, peer: 3},
	}
}

// keyCount keys are too many for a branch predictor to learn by heart and few
// enough to stay in a core's cache, as the keys of a SCAN page do that was read
// a moment ago.
const keyCount = 1 << 13

func measure(out *report.Report, n, rounds int, slice time.Duration) error {
	runtime.LockOSThread() // CPU is counted per thread
	defer runtime.UnlockOSThread()
	set := patternset.New(n)
	keys := set.Keys(keyCount, 1)
	all := rivals()
	for _, r := range all {
		var err error
		if r.find, err = r.build(set); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		if err := r.verify(keys[:r.keys]); err != nil {
			return err
		}
		r.allocs = r.countAllocs(keys[:r.keys])
	}
	runs, err := turns.Rounds(rounds, all, func(r *rival) (float64, error) { return r.rate(keys, slice), nil })
	if err != nil {
		return err
	}
	bytes := 0
	for _, key := range keys {
		bytes += len(key.Name)
	}
	t := out.Table(fmt.Sprintf("%d patterns, keys of %.1f bytes on average", n, float64(bytes)/float64(len(keys))),
		"matcher", "M keys/s", "best", "ns/key", "allocs/key", "keywright is × faster")
	for i, r := range all {
		median, best := report.Median(slices.Clone(runs.All[i])), slices.Max(runs.All[i])
		ratio := turns.Ratio(runs.All[r.peer], runs.All[i], func(rate float64) float64 { return rate })
		t.Add(r.name, fmt.Sprintf("%.4g", median/1e6), fmt.Sprintf("%.4g", best/1e6), fmt.Sprintf("%.4g", 1e9/median),
			fmt.Sprintf("%.3g", r.allocs), fmt.Sprintf("%.4g", ratio))
		goals(out, n, r.name, median, r.allocs, ratio)
	}
	return nil
}

func (r *rival) verify(keys []patternset.Key) error {
	for _, key := range keys {
		if got := r.find(key.Name); got != key.Owner {
			return fmt.Errorf("%s: %q belongs to pattern %d, not %d", r.name, key.Name, key.Owner, got)
		}
	}
	return nil
}

// countAllocs returns the least of three counts: the counter is of the whole process,
// and the runtime allocates now and then too.
func (r *rival) countAllocs(keys []patternset.Key) float64 {
	least := ^uint64(0)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, key := range keys {
			r.find(key.Name)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	return float64(least) / float64(len(keys))
}

// rate runs through slices of the keys, another one each time, until the time
// is up.
func (r *rival) rate(keys []patternset.Key, slice time.Duration) float64 {
	done, sum := 0, 0
	from := r.turns * r.keys % len(keys)
	r.turns++
	start, cpu := time.Now(), threadCPU()
	for time.Since(start) < slice {
		for _, key := range keys[from:min(from+r.keys, len(keys))] {
			sum += r.find(key.Name)
			done++
		}
		if from += r.keys; from >= len(keys) {
			from = 0
		}
	}
	sink = sum
	return float64(done) / max(threadCPU()-cpu, time.Microsecond).Seconds() // the CPU clock may tick in steps
}

//lint:ignore U1000 it is written only: that keeps the compiler from dropping the work
var sink int

func threadCPU() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(thread, &usage); err != nil {
		panic("matchbench: getrusage: " + err.Error()) // cannot fail with these arguments
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
