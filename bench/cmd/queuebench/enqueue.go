package main

import (
	"context"
	"fmt"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

// bulk says how many jobs a batch has.
const bulk = 100

// billed is the number of goroutines at which costs are counted.
const billed = 128

// enqueueing puts jobs into a queue without workers.
func (o *options) enqueueing(ctx context.Context, out *report.Report) error {
	const single, batches, asynq = 0, 1, 3
	race := o.race(producer{ours("keywright", 1), 1}, producer{ours("keywright, batches of 100", 1), bulk},
		producer{bareRueidis(), 1}, producer{withAsynq("asynq", 0), 1})
	race.Title, race.By = "Enqueue, jobs per second by goroutines, 100 bytes each", asynq
	race.Bill, race.Billed = fmt.Sprintf("What one job costs to enqueue, %d goroutines", billed), []int{billed}
	race.Goals = []turns.Goal{
		{What: "enqueue @%d, keywright ÷ asynq", Of: single, By: asynq, Bound: 2, Callers: turns.Callers[1:]},
		{What: "enqueue @%d, keywright in batches of 100 ÷ asynq", Of: batches, By: asynq, Bound: 8}}
	return race.Show(ctx, out, o.Rounds, o.Slice)
}

// producer enqueues, alone or by the hundred.
type producer struct {
	peer contestant
	size int
}

// race has a new server for each turn, so that no queue grows from one to
// the next. Connections are made and scripts are known before the time counts.
func (o *options) race(all ...producer) turns.Race {
	many := make([]string, bulk)
	for i := range many {
		many[i] = payload(i)
	}
	var server *live.Server
	var queue jobs
	race := turns.Race{Callers: turns.Callers, Server: func() *live.Server { return server }}
	for _, p := range all {
		do := func(ctx context.Context, _, n int) error { return queue.enqueue(ctx, many[n%bulk]) }
		if p.size > 1 {
			do = func(ctx context.Context, _, _ int) error { return queue.enqueueAll(ctx, many) }
		}
		ready := func(ctx context.Context, goroutines int) (_ func(), err error) {
			if server, err = live.Start(ctx, o.Server); err != nil {
				return nil, err
			}
			if queue, err = p.peer.open(ctx, server.Addr); err != nil {
				return server.Stop, err
			}
			return func() { queue.close(); server.Stop() },
				turns.Each(goroutines, 10*goroutines, func(g, i int) error { return do(ctx, g, i/goroutines) })
		}
		race.All = append(race.All, turns.Contestant{Name: p.peer.name, Size: p.size, Do: do, Ready: ready})
	}
	return race
}
