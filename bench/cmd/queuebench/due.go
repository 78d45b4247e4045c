package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// places say where jobs wait that are all to be handled at once.
var places = []string{"waiting", "due at once", "left by a frozen worker", "left by two workers in turn"}

// leave moves waiting jobs to a worker that is gone. ARGV[2] is how many leases of each job had
// ended before; from one on, a worker must announce that it begins the job.
const leave = `local ids = redis.call('LRANGE', KEYS[1], 0, 4999)
for _, id in ipairs(ids) do
  redis.call('ZADD', KEYS[2], ARGV[1], id)
  redis.call('HSET', KEYS[3], id, 'frozen/1 1 1 0 0 ' .. ARGV[2] .. ' r1\n\n')
end
if #ids > 0 then redis.call('LPOP', KEYS[1], #ids) end
return #ids`

// backlog puts jobs into a place; all have their turn when it returns.
func backlog(ctx context.Context, c *keywright.Client, q queue.Queue[string], place string, jobs int) error {
	tasks := make([]queue.Task[string], jobs)
	if place == places[1] {
		for i := range tasks {
			tasks[i].At = time.Unix(1, 0)
		}
	}
	_, err := q.EnqueueAll(ctx, tasks)
	ended, left := map[string]string{places[2]: "0", places[3]: "1"}[place]
	if !left {
		return err
	}
	k, raw := queue.KeysOf("queue:bench"), c.Raw()
	for n := int64(1); n > 0 && err == nil; {
		n, err = raw.Do(ctx, raw.B().Eval().Script(leave).Numkeys(3).Key(k.Lanes[0].Key, k.Leases,
			k.Runs).Arg("1", ended).Build()).AsInt64()
	}
	return err
}

// drain says when the last job of a place is handled after all have had their turn at
// once, and what they cost.
func drain(ctx context.Context, o options, place string) (last time.Duration, used costs.Costs, err error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return 0, used, err
	}
	defer server.Stop()
	c, q, err := openOurs(ctx, server.Addr, queue.Options{Lease: o.lease})
	if err != nil {
		return 0, used, err
	}
	defer c.Close()
	if err := backlog(ctx, c, q, place, o.backlog); err != nil {
		return 0, used, err
	}
	before, err := costs.Read(server)
	if err != nil {
		return 0, used, err
	}
	began := time.Now()
	over, err := handled(ctx, q, o.backlog, o.limit)
	after, err2 := costs.Read(server)
	used.Add(before, after)
	return over.Sub(began), used, firstOf(err, err2)
}

func openOurs(ctx context.Context, addr string, o queue.Options) (*keywright.Client, queue.Queue[string], error) {
	c, err := keywright.Open(ctx, "redis://"+addr, keywright.Options{})
	if err != nil {
		return nil, queue.Queue[string]{}, err
	}
	return c, queue.Open(c, "queue:bench", value.Text(0), o), nil
}

// handled runs a worker until so many jobs are handled, and says when.
func handled(ctx context.Context, q queue.Queue[string], jobs int, limit time.Duration) (time.Time, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	var n atomic.Int64
	var over time.Time
	worker := q.Worker(func(context.Context, *queue.Job[string]) error {
		if n.Add(1) == int64(jobs) {
			over = time.Now()
			stop()
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 50})
	err := worker.Run(ctx)
	if err == nil && n.Load() < int64(jobs) {
		err = fmt.Errorf("%d of %d jobs were handled within %v", n.Load(), jobs, limit)
	}
	return over, err
}

func backlogs(ctx context.Context, o options) ([]report.Table, []report.Goal, error) {
	rates, lasts, used := make([][]float64, len(places)), make([][]float64, len(places)), make([]costs.Costs, len(places))
	for round := range o.drains {
		for turn := range places {
			i := (turn + round) % len(places)
			last, each, err := drain(ctx, o, places[i])
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", places[i], err)
			}
			rates[i] = append(rates[i], float64(o.backlog)/last.Seconds())
			lasts[i] = append(lasts[i], last.Seconds())
			used[i].Add(costs.Costs{}, each)
		}
	}
	t := report.Table{Title: fmt.Sprintf("%d jobs at once, 50 runners", o.backlog),
		Columns: append([]string{"jobs are", "jobs per second", "of waiting ones", "the last one after s"}, costs.Columns...)}
	var goals []report.Goal
	for i, place := range places {
		part := turns.Ratio(rates[i], rates[0])
		t.Add(append([]any{place, fmt.Sprintf("%.0f", turns.Median(rates[i])), fmt.Sprintf("%.2f", part),
			fmt.Sprintf("%.1f", turns.Median(lasts[i]))},
			used[i].Cells(float64(o.backlog*o.drains))...)...)
		if i > 0 {
			goals = append(goals, report.Goal{What: "jobs " + place + ", part of the rate of waiting ones", Value: part,
				Bound: 0.5, AtLeast: true}, report.Goal{What: "jobs " + place + ", the last one after s: a lease and a second",
				Value: turns.Median(lasts[i]), Bound: (o.lease + time.Second).Seconds()})
		}
	}
	return []report.Table{t}, goals, nil
}
