package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/queue"
)

// place says where jobs wait that are all to be handled at once.
type place string

func (p place) String() string { return string(p) }

var places = []place{"waiting", "due at once", "left by a frozen worker", "left by two workers in turn"}

// leave moves waiting jobs to a worker that is gone. ARGV[2] is how many leases of each job had
// ended before; from one on, a worker must announce that it begins the job.
const leave = `local ids = redis.call('LRANGE', KEYS[1], 0, 4999)
for _, id in ipairs(ids) do
  redis.call('ZADD', KEYS[2], ARGV[1], id)
  redis.call('HSET', KEYS[3], id, 'frozen/1 1 1 0 0 ' .. ARGV[2] .. ' r1\n\n')
end
if #ids > 0 then redis.call('LPOP', KEYS[1], #ids) end
return #ids`

// fill puts jobs into a place; all have their turn when it returns.
func (o *options) fill(ctx context.Context, q oursJobs, at place) error {
	tasks := make([]queue.Task[string], o.backlog)
	if at == places[1] {
		for i := range tasks {
			tasks[i].At = time.Unix(1, 0)
		}
	}
	err := turns.Err(q.queue.EnqueueAll(ctx, tasks))
	ended, left := map[place]string{places[2]: "0", places[3]: "1"}[at]
	if !left {
		return err
	}
	k, raw := queue.KeysOf("queue:bench"), q.client.Raw()
	for n := int64(1); n > 0 && err == nil; {
		n, err = raw.Do(ctx, raw.B().Eval().Script(leave).Numkeys(3).Key(k.Lanes[0].Key, k.Leases,
			k.Runs).Arg("1", ended).Build()).AsInt64()
	}
	return err
}

// drained represents when the last job of a place was handled after all had their turn at
// once, and what they cost.
type drained struct {
	last time.Duration
	costs.Costs
}

func (o *options) drain(ctx context.Context, at place) (d drained, err error) {
	err = o.onOurs(ctx, queue.Options{Lease: o.lease}, func(server *live.Server, q oursJobs) error {
		if err := o.fill(ctx, q, at); err != nil {
			return err
		}
		return d.Count(server, func() error {
			began := time.Now()
			all, err := o.handled(ctx, q, o.backlog, 50)
			if err == nil {
				d.last = all[len(all)-1].Sub(began)
			}
			return err
		})
	})
	return d, err
}

// handled runs a worker until so many jobs are handled, and says when each was, in that order.
func (o *options) handled(ctx context.Context, q oursJobs, jobs, concurrency int) (all []time.Time, err error) {
	ctx, stop := context.WithTimeout(ctx, o.limit)
	defer stop()
	var mu sync.Mutex
	err = q.queue.Worker(func(context.Context, *queue.Job[string]) error {
		mu.Lock()
		defer mu.Unlock()
		if all = append(all, time.Now()); len(all) == jobs {
			stop()
		}
		return nil
	}, queue.WorkerOptions{Concurrency: concurrency}).Run(ctx)
	if err == nil && len(all) < jobs {
		err = fmt.Errorf("%d of %d jobs were handled within %v", len(all), jobs, o.limit)
	}
	return all, err
}

func (o *options) backlogs(ctx context.Context, out *report.Report) error {
	runs, err := turns.Rounds(o.drains, places, func(at place) (drained, error) { return o.drain(ctx, at) })
	if err != nil {
		return err
	}
	part := turns.Versus("of waiting ones", "%.2f",
		func(d drained) float64 { return float64(o.backlog) / d.last.Seconds() }, runs.All[0])
	last := turns.Median("the last one after s", "%.1f", func(d drained) float64 { return d.last.Seconds() })
	figures := []turns.Figure[drained]{turns.Median("jobs per second", "%.0f",
		func(d drained) float64 { return float64(o.backlog) / d.last.Seconds() }), part, last}
	runs.Show(out, fmt.Sprintf("%d jobs at once, 50 runners", o.backlog), "jobs are",
		append(figures, turns.Costs(o.backlog, func(d drained) costs.Costs { return d.Costs })...)...)
	for i, at := range places[1:] {
		out.AtLeast(0.5, part.Value(runs.All[i+1]), "jobs %s, part of the rate of waiting ones", at)
		out.AtMost((o.lease + time.Second).Seconds(), last.Value(runs.All[i+1]),
			"jobs %s, the last one after s: a lease and a second", at)
	}
	return nil
}
