package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

var callers = []int{1, 16, 128}

// bulk says how many jobs a batch has.
const bulk = 100

// enqueueing returns jobs into a queue without workers.
func enqueueing(ctx context.Context, o options) ([]report.Table, []report.Goal, error) {
	all := []*producer{{peer: ours("keywright", 1), size: 1}, {peer: ours("keywright, batches of 100", 1), size: bulk},
		{peer: bareRueidis(), size: 1}, {peer: withAsynq("asynq", 0), size: 1}}
	var racing []turns.Contestant
	for _, p := range all {
		racing = append(racing, p.contestant(o))
	}
	r, err := turns.Race(ctx, racing, callers, o.rounds, o.slice)
	if err != nil {
		return nil, nil, err
	}
	bill := report.Table{Title: fmt.Sprintf("What one job costs to enqueue, %d goroutines", billed),
		Columns: append([]string{"contestant"}, costs.Columns...)}
	for i, p := range all {
		if p.err != nil {
			return nil, nil, p.err
		}
		bill.Add(append([]any{p.peer.name}, p.used.Cells(r.Done(i, billed))...)...)
	}
	const single, batches, asynq = 0, 1, 3
	var goals []report.Goal
	for _, n := range callers[1:] {
		goals = append(goals, report.Goal{What: fmt.Sprintf("enqueue @%d, keywright ÷ asynq", n), Value: r.Ratio(single,
			asynq, n), Bound: 2, AtLeast: true})
	}
	for _, n := range callers {
		goals = append(goals, report.Goal{What: fmt.Sprintf("enqueue @%d, keywright in batches of 100 ÷ asynq", n),
			Value: r.Ratio(batches, asynq, n), Bound: 8, AtLeast: true})
	}
	return []report.Table{r.Table("Enqueue, jobs per second by goroutines, 100 bytes each", asynq), bill}, goals, nil
}

// billed is the number of goroutines at which costs are counted.
const billed = 128

// producer enqueues, alone or by the hundred.
type producer struct {
	peer contestant
	size int
	used costs.Costs
	err  error

	server *live.Server
	queue  jobs
}

// contestant has a new server for each turn, so that no queue grows from one to
// the next. Connections are made and scripts are known before the time counts.
func (p *producer) contestant(o options) turns.Contestant {
	many := make([]string, bulk)
	for i := range many {
		many[i] = payload(i)
	}
	c := turns.Contestant{Name: p.peer.name, Size: p.size, Do: func(ctx context.Context, _,
		n int) error {
		return p.queue.enqueue(ctx, many[n%bulk])
	}}
	if p.size > 1 {
		c.Do = func(ctx context.Context, _, _ int) error { return p.queue.enqueueAll(ctx, many) }
	}
	c.Ready = func(ctx context.Context, goroutines int) (func(), error) {
		if err := p.open(ctx, o); err != nil {
			return nil, err
		}
		if err := warm(ctx, c, goroutines); err != nil {
			p.close()
			return nil, err
		}
		before, err := costs.Read(p.server)
		return func() {
			after, err := costs.Read(p.server)
			if p.err = errors.Join(p.err, err); goroutines == billed {
				p.used.Add(before, after)
			}
			p.close()
		}, err
	}
	return c
}

func (p *producer) open(ctx context.Context, o options) (err error) {
	if p.server, err = live.Start(ctx, o.server); err != nil {
		return err
	}
	if p.queue, err = p.peer.open(ctx, p.server.Addr); err != nil {
		p.server.Stop()
	}
	return err
}

func (p *producer) close() {
	p.queue.close()
	p.server.Stop()
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
