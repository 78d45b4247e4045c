package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/lock"
)

// relocking takes part where each caller wants the lock again at once.
func relocking() []contestant {
	return []contestant{ours("keywright, fair", lock.Fair), ours("keywright, fast", lock.Fast),
		withRedsync("redsync", 16, 0),
		withRedislock("redislock, every 50 ms", 16, 50*time.Millisecond), withRueidislock()}
}

// run is one contestant's time with the lock.
type steadyRun struct {
	rate, jain      float64
	calls, commands float64 // per acquisition
	p99, worst      time.Duration
}

// rush lets every waiter take the lock again as soon as it has given it back.
func rush(ctx context.Context, server *live.Server, who contestant, o options) (r steadyRun, err error) {
	c, err := openCrowd(ctx, server, who, o)
	defer c.close()
	if err != nil {
		return r, err
	}
	before, err := c.traffic()
	if err != nil {
		return r, err
	}
	t := tally{shares: make([]float64, o.clients)}
	limited, cancel := context.WithTimeout(ctx, o.steady)
	defer cancel()
	began := time.Now()
	c.each(func(client, _ int, m mutex) {
		for limited.Err() == nil {
			asked := time.Now()
			err := m.lock(limited)
			waited := time.Since(asked)
			if err == nil {
				_, err = c.hold(ctx, m, o.hold)
			}
			t.add(client, waited, err, limited.Err() != nil)
			if err != nil {
				return
			}
		}
	})
	elapsed := time.Since(began)
	if t.err != nil {
		return r, t.err
	}
	after, err := c.traffic()
	if err != nil {
		return r, err
	}
	locks := float64(len(t.waits))
	return steadyRun{rate: locks / elapsed.Seconds(), jain: turns.Jain(t.shares),
			calls:    float64(after.calls-before.calls) / locks,
			commands: float64(after.commands-before.commands) / locks, p99: turns.Percentile(t.waits, 0.99), worst: t.worst},
		c.exclusive()
}

// tally describes what the waiters report.
type tally struct {
	sync.Mutex
	shares []float64 // acquisitions by client
	waits  []time.Duration
	worst  time.Duration // of those that waited in vain at the end, too
	err    error
}

func (t *tally) add(client int, waited time.Duration, err error, over bool) {
	t.Lock()
	defer t.Unlock()
	t.worst = max(t.worst, waited)
	switch {
	case err == nil:
		t.shares[client]++
		t.waits = append(t.waits, waited)
	case !over && t.err == nil:
		t.err = err
	}
}

func steady(ctx context.Context, server *live.Server, o options) ([]report.Table, []report.Goal, error) {
	all := relocking()
	runs := make([][]steadyRun, len(all))
	for round := range o.rushes {
		for turn := range all {
			i := (turn + round) % len(all)
			r, err := rush(ctx, server, all[i], o)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", all[i].name, err)
			}
			runs[i] = append(runs[i], r)
		}
	}
	t := report.Table{Title: fmt.Sprintf("Steady: %d clients × %d waiters, each locks again at once, hold %v, %v",
		o.clients, o.waiters, o.hold, o.steady),
		Columns: []string{"contestant", "locks/s", "Jain over clients", "wait p99 ms", "worst ms", "calls per lock",
			"server commands per lock"}}
	median := func(i int, of func(steadyRun) float64) float64 {
		var values []float64
		for _, r := range runs[i] {
			values = append(values, of(r))
		}
		return turns.Median(values)
	}
	for i, who := range all {
		t.Add(who.name, fmt.Sprintf("%.0f", median(i, func(r steadyRun) float64 { return r.rate })),
			fmt.Sprintf("%.3f", median(i, jain)),
			fmt.Sprintf("%.0f", median(i, func(r steadyRun) float64 { return float64(r.p99) / 1e6 })),
			fmt.Sprintf("%.0f", median(i, func(r steadyRun) float64 { return float64(r.worst) / 1e6 })),
			fmt.Sprintf("%.1f", median(i, func(r steadyRun) float64 { return r.calls })),
			fmt.Sprintf("%.1f", median(i, func(r steadyRun) float64 { return r.commands })))
	}
	return []report.Table{t},
		[]report.Goal{{What: "steady, keywright, fair, Jain's index", Value: median(0, jain), Bound: 0.99,
			AtLeast: true}}, nil
}

func jain(r steadyRun) float64 { return r.jain }
