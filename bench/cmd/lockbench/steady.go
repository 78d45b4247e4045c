package main

import (
	"context"
	"fmt"
	"sync"
	"time"

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

// steadyRun represents one contestant's time with the lock.
type steadyRun struct {
	rate, jain float64
	traffic    // per acquisition
	p99, worst time.Duration
}

// rushOnce lets every waiter take the lock again as soon as it has given it back.
func (f *field) rushOnce(ctx context.Context, who contestant) (r steadyRun, err error) {
	c, err := f.openCrowd(ctx, who)
	defer c.close()
	if err != nil {
		return r, err
	}
	t := tally{shares: make([]float64, f.clients)}
	var elapsed time.Duration
	sent, err := c.traffic(func() error {
		limited, cancel := context.WithTimeout(ctx, f.steady)
		defer cancel()
		began := time.Now()
		c.each(func(client, _ int, m mutex) {
			for limited.Err() == nil {
				asked := time.Now()
				err := m.lock(limited)
				waited := time.Since(asked)
				if err == nil {
					_, err = c.hold(ctx, m)
				}
				t.add(client, waited, err, limited.Err() != nil)
				if err != nil {
					return
				}
			}
		})
		elapsed = time.Since(began)
		return t.err
	})
	return steadyRun{rate: float64(len(t.waits)) / elapsed.Seconds(), jain: turns.Jain(t.shares),
		traffic: sent.per(len(t.waits)), p99: turns.Percentile(t.waits, 0.99), worst: t.worst}, err
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

func (f *field) rush(ctx context.Context, out *report.Report) error {
	return turns.Compare(out, fmt.Sprintf("Steady: %d clients × %d waiters, each locks again at once, hold %v, %v",
		f.clients, f.waiters, f.hold, f.steady), f.rushes, relocking(),
		func(who contestant) (steadyRun, error) { return f.rushOnce(ctx, who) },
		turns.Median("locks/s", "%.0f", func(r steadyRun) float64 { return r.rate }),
		turns.Median("Jain over clients", "%.3f", func(r steadyRun) float64 { return r.jain }).
			AtLeast(0.99, "steady, keywright, fair, Jain's index"),
		turns.Median("wait p99 ms", "%.0f", func(r steadyRun) float64 { return millis(r.p99) }),
		turns.Median("worst ms", "%.0f", func(r steadyRun) float64 { return millis(r.worst) }),
		turns.Median("calls per lock", "%.1f", func(r steadyRun) float64 { return r.calls }),
		turns.Median("server commands per lock", "%.1f", func(r steadyRun) float64 { return r.commands }))
}
