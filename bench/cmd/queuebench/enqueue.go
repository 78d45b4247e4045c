package main

import (
	"context"
	"fmt"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

var callers = []int{1, 16, 128}

// bulk is how many jobs a batch has.
const bulk = 100

// enqueueing is jobs into a queue that nobody works on. The server is emptied
// behind every turn.
func enqueueing(ctx context.Context, server *live.Server, o options) (report.Table, []report.Goal, error) {
	many := make([]string, bulk)
	for i := range many {
		many[i] = payload(i)
	}
	var all []turns.Contestant
	for i, who := range []contestant{ours("keywright", 1), ours("keywright, batches of 100", 1), bareRueidis(), withAsynq("asynq", 0)} {
		q, err := who.open(ctx, server.Addr)
		if err != nil {
			return report.Table{}, nil, fmt.Errorf("%s: %w", who.name, err)
		}
		defer q.close()
		one := turns.Contestant{Name: who.name, Do: func(ctx context.Context, _, n int) error { return q.enqueue(ctx, many[n%bulk]) }}
		if i == 1 {
			one.Size, one.Do = bulk, func(ctx context.Context, _, _ int) error { return q.enqueueAll(ctx, many) }
		}
		all = append(all, one)
	}
	r, err := turns.Race(ctx, all, callers, o.rounds, o.slice, func() error { return server.Do("FLUSHALL") })
	if err != nil {
		return report.Table{}, nil, err
	}
	const single, batches, asynq = 0, 1, 3
	var goals []report.Goal
	for _, n := range callers[1:] {
		goals = append(goals, report.Goal{What: fmt.Sprintf("enqueue @%d, keywright ÷ asynq", n), Value: r.Ratio(single, asynq, n), Bound: 2, AtLeast: true})
	}
	for _, n := range callers {
		goals = append(goals, report.Goal{What: fmt.Sprintf("enqueue @%d, keywright in batches of 100 ÷ asynq", n), Value: r.Ratio(batches, asynq, n), Bound: 8, AtLeast: true})
	}
	return r.Table("Enqueue, jobs per second by goroutines, 100 bytes each", asynq), goals, nil
}
