package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/lock"
)

// waiting represents a way in which goroutines of one process wait for a lock.
type waiting struct {
	name    string
	acquire func(l lock.Lock, ctx context.Context) (*lock.Lease, error)
}

func (w waiting) String() string { return w.name }

// turn takes a lock and gives it back.
func (w waiting) turn(ctx context.Context, l lock.Lock) error {
	lease, err := w.acquire(l, ctx)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

var writers = waiting{"keywright, writers", lock.Lock.Acquire}

// localRun represents one time that they do.
type localRun struct {
	gone, other, served time.Duration
	used                costs.Costs
}

// locally lets many goroutines of one process wait for one lock: one of them gives
// up, another lock is taken meanwhile, and then all are served. Peers have no
// line in the process.
func (f *field) locally(ctx context.Context, out *report.Report) error {
	return turns.Compare(out, fmt.Sprintf("Local: %d waiters of one process, median of %d", f.local, f.shots), f.shots,
		[]waiting{writers, {"keywright, readers", lock.Lock.AcquireShared}},
		func(w waiting) (localRun, error) { return f.localOnce(ctx, w) },
		turns.Median("one gives up ms", "%.1f", func(r localRun) float64 { return millis(r.gone) }),
		turns.Median("another lock meanwhile ms", "%.1f", func(r localRun) float64 { return millis(r.other) }),
		turns.Median("all are served ms", "%.1f", func(r localRun) float64 { return millis(r.served) }),
		turns.Median("server commands per lock", "%.1f",
			func(r localRun) float64 { return r.used.Commands / float64(f.local) }))
}

func (f *field) localOnce(ctx context.Context, w waiting) (r localRun, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	c, err := keywright.Open(ctx, f.server.URL(), keywright.Options{})
	if err != nil {
		return r, err
	}
	defer c.Close()
	l := lock.Open(c, "lock:local", lock.Options{Lease: time.Minute})
	holder, err := l.Acquire(ctx)
	if err != nil {
		return r, err
	}
	var begun sync.WaitGroup
	begun.Add(f.local)
	all := make(chan error, 1)
	go func() {
		all <- turns.Each(f.local, f.local, func(int, int) error { begun.Done(); return w.turn(ctx, l) })
	}()
	begun.Wait()
	live.Pause(ctx, settle)
	leaving, leave := context.WithCancel(ctx)
	left := make(chan error, 1)
	go func() { _, err := l.Acquire(leaving); left <- err }()
	live.Pause(ctx, settle)
	began := time.Now()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		return r, fmt.Errorf("one that gives up: %w", err)
	}
	r.gone, began = time.Since(began), time.Now()
	if err := writers.turn(ctx, lock.Open(c, "lock:other", lock.Options{})); err != nil {
		return r, err
	}
	r.other = time.Since(began)
	err = r.used.Count(f.server, func() error {
		began := time.Now()
		err := holder.Release(ctx)
		if err == nil {
			err = <-all
		}
		r.served = time.Since(began)
		return err
	})
	return r, err
}
