package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

var callers = []int{1, 16, 128}

// bulk is how many jobs a batch has.
const bulk = 100

// enqueueing is jobs into a queue that nobody works on.
func enqueueing(ctx context.Context, o options) ([]report.Table, []report.Goal, error) {
	all := []turns.Contestant{producing(ours("keywright", 1), 1, o), producing(ours("keywright, batches of 100", 1), bulk, o),
		producing(bareRueidis(), 1, o), producing(withAsynq("asynq", 0), 1, o)}
	r, err := turns.Race(ctx, all, callers, o.rounds, o.slice)
	if err != nil {
		return nil, nil, err
	}
	const single, batches, asynq = 0, 1, 3
	var goals []report.Goal
	for _, n := range callers[1:] {
		goals = append(goals, report.Goal{What: fmt.Sprintf("enqueue @%d, keywright ÷ asynq", n), Value: r.Ratio(single, asynq, n), Bound: 2, AtLeast: true})
	}
	for _, n := range callers {
		goals = append(goals, report.Goal{What: fmt.Sprintf("enqueue @%d, keywright in batches of 100 ÷ asynq", n), Value: r.Ratio(batches, asynq, n), Bound: 8, AtLeast: true})
	}
	return []report.Table{r.Table("Enqueue, jobs per second by goroutines, 100 bytes each", asynq)}, goals, nil
}

// producing has a new server for each turn, so that no queue grows from one to
// the next. Connections are made and scripts are known before the time counts.
func producing(who contestant, size int, o options) turns.Contestant {
	many := make([]string, bulk)
	for i := range many {
		many[i] = payload(i)
	}
	var q jobs
	c := turns.Contestant{Name: who.name, Size: size, Do: func(ctx context.Context, _, n int) error { return q.enqueue(ctx, many[n%bulk]) }}
	if size > 1 {
		c.Do = func(ctx context.Context, _, _ int) error { return q.enqueueAll(ctx, many) }
	}
	c.Ready = func(ctx context.Context, goroutines int) (func(), error) {
		server, err := live.Start(ctx, o.server)
		if err != nil {
			return nil, err
		}
		if q, err = who.open(ctx, server.Addr); err != nil {
			server.Stop()
			return nil, err
		}
		done := func() { q.close(); server.Stop() }
		if err := warm(ctx, c, goroutines); err != nil {
			done()
			return nil, err
		}
		return done, nil
	}
	return c
}

func warm(ctx context.Context, c turns.Contestant, goroutines int) error {
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for n := range 10 {
				errs[g] = errors.Join(errs[g], c.Do(ctx, g, n))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
