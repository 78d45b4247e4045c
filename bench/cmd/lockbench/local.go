package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/lock"
)

// local lets many goroutines of one process wait for one lock: one of them gives
// up, another lock is taken meanwhile, and then all are served. Peers have no
// line in the process.
func local(ctx context.Context, server *live.Server, o options) ([]report.Table, []report.Goal, error) {
	t := report.Table{Title: fmt.Sprintf("Local: %d waiters of one process, median of %d", o.local, o.shots),
		Columns: []string{"contestant", "one gives up ms", "another lock meanwhile ms", "all are served ms",
			"server commands per lock"}}
	for _, mode := range []struct {
		name   string
		shared bool
	}{{"keywright, writers", false}, {"keywright, readers", true}} {
		var gone, other, served []time.Duration
		var perLock []float64
		for range o.shots {
			r, err := localOnce(ctx, server, o.local, mode.shared)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", mode.name, err)
			}
			gone, other, served, perLock = append(gone, r.gone), append(other, r.other), append(served, r.served),
				append(perLock, r.commands)
		}
		t.Add(mode.name, millis(turns.Median(gone)), millis(turns.Median(other)), millis(turns.Median(served)),
			fmt.Sprintf("%.1f", turns.Median(perLock)))
	}
	return []report.Table{t}, nil, nil
}

type localRun struct {
	gone, other, served time.Duration
	commands            float64
}

func localOnce(ctx context.Context, server *live.Server, n int, shared bool) (r localRun, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	c, err := keywright.Open(ctx, "redis://"+server.Addr, keywright.Options{})
	if err != nil {
		return r, err
	}
	defer c.Close()
	l := lock.Open(c, "lock:local", lock.Options{Lease: time.Minute})
	holder, err := l.Acquire(ctx)
	if err != nil {
		return r, err
	}
	var all sync.WaitGroup
	errs := make(chan error, n)
	begun := make(chan struct{}, n)
	for range n {
		all.Go(func() {
			begun <- struct{}{}
			errs <- localTurn(ctx, l, shared)
		})
	}
	for range n {
		<-begun
	}
	wait(ctx, settle)
	leaving, leave := context.WithCancel(ctx)
	left := make(chan error, 1)
	go func() { _, err := l.Acquire(leaving); left <- err }()
	wait(ctx, settle)
	began := time.Now()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		return r, fmt.Errorf("one that gives up: %w", err)
	}
	r.gone, began = time.Since(began), time.Now()
	if err := localTurn(ctx, lock.Open(c, "lock:other", lock.Options{}), false); err != nil {
		return r, err
	}
	r.other = time.Since(began)
	before, err := server.Commands()
	if err != nil {
		return r, err
	}
	began = time.Now()
	if err := holder.Release(ctx); err != nil {
		return r, err
	}
	all.Wait()
	r.served = time.Since(began)
	after, err := server.Commands()
	r.commands = float64(after-before) / float64(n)
	for range n {
		err = errors.Join(err, <-errs)
	}
	return r, err
}

func localTurn(ctx context.Context, l lock.Lock, shared bool) error {
	acquire := l.Acquire
	if shared {
		acquire = l.AcquireShared
	}
	lease, err := acquire(ctx)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}
