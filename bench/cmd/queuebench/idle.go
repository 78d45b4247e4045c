package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/queue"
)

// idled represents one worker with nothing to do: the commands per second that it sends
// then, and how long single jobs wait for it.
type idled struct {
	commands float64
	waits    []time.Duration
}

func (o *options) idleOf(ctx context.Context, peer contestant) (r idled, err error) {
	err = o.on(ctx, peer, func(server *live.Server, worker jobs) (err error) {
		started := make(chan time.Time, 1)
		stop, err := worker.work(ctx, 10, peer.batch, func(string) { started <- time.Now() })
		if err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, stop()) }()
		live.Pause(ctx, o.idle/4)
		var used costs.Costs
		if err := used.Count(server, func() error { live.Pause(ctx, o.idle); return nil }); err != nil {
			return err
		}
		r.commands = used.Commands / o.idle.Seconds()
		r.waits, err = o.single(ctx, server, peer, started)
		return err
	})
	return r, err
}

// single sends jobs one at a time from a client of its own. The pause before
// each is random over the worker's own interval, so that no worker is met always at
// the same moment of it.
func (o *options) single(ctx context.Context, server *live.Server, peer contestant,
	started <-chan time.Time) (waits []time.Duration, err error) {
	producer, err := peer.open(ctx, server.Addr)
	if err != nil {
		return nil, err
	}
	defer producer.close()
	for i := range o.singles {
		live.Pause(ctx, 50*time.Millisecond+rand.N(20*time.Millisecond+peer.poll))
		began := time.Now()
		if err := producer.enqueue(ctx, payload(i)); err != nil {
			return nil, err
		}
		at, err := await(ctx, started, o.limit)
		if err != nil {
			return nil, err
		}
		waits = append(waits, at.Sub(began))
	}
	return waits, nil
}

// delayed are by how much jobs that are due later begin after their time, one at a time,
// by the clock that worker and server share here.
func (o *options) delayed(ctx context.Context) (late []time.Duration, err error) {
	err = o.onOurs(ctx, queue.Options{}, func(_ *live.Server, q oursJobs) (err error) {
		began := make(chan time.Time, 1)
		stop, err := q.work(ctx, 0, 0, func(string) { began <- time.Now() })
		if err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, stop()) }()
		for range max(o.singles, 100) {
			due := time.Now().Add(20*time.Millisecond + rand.N(100*time.Millisecond)).Truncate(time.Millisecond)
			if _, err := q.queue.Enqueue(ctx, queue.Task[string]{At: due}); err != nil {
				return err
			}
			at, err := await(ctx, began, o.limit)
			if err != nil {
				return err
			}
			late = append(late, at.Sub(due))
		}
		return nil
	})
	return late, err
}

func (o *options) idling(ctx context.Context, out *report.Report) error {
	runs, err := turns.Rounds(o.idles, []contestant{ours("keywright", 1), bareRueidis(), withAsynq("asynq", 0),
		withAsynq("asynq, looks every 10 ms", 10*time.Millisecond)},
		func(c contestant) (idled, error) { return o.idleOf(ctx, c) })
	if err != nil {
		return err
	}
	late, err := o.delayed(ctx)
	if err != nil {
		return fmt.Errorf("delayed jobs: %w", err)
	}
	out.AtMost(10, millis(late, 0.99), "idle queue, keywright, due to handler p99 ms")
	t := out.Table(fmt.Sprintf("Idle queue, %d jobs one at a time, concurrency 10", o.singles*o.idles),
		"contestant", "enqueue → handler p50 ms", "p99 ms", "idle commands/s per worker")
	commands := turns.Median("", "", func(r idled) float64 { return r.commands })
	for i, all := range runs.All {
		var waits []time.Duration
		for _, r := range all {
			waits = append(waits, r.waits...)
		}
		t.Add(runs.Names[i], fmt.Sprintf("%.2f", millis(waits, 0.5)), fmt.Sprintf("%.2f", millis(waits, 0.99)),
			fmt.Sprintf("%.1f", commands.Value(all)))
		if i == 0 {
			out.AtMost(1, millis(waits, 0.5), "idle queue, keywright, enqueue to handler p50 ms")
			out.AtMost(5, commands.Value(all), "idle queue, keywright, commands/s per worker")
		}
	}
	out.Table("Delayed jobs on an idle queue, one at a time", "due → handler p50 ms", "p99 ms").
		Add(fmt.Sprintf("%.2f", millis(late, 0.5)), fmt.Sprintf("%.2f", millis(late, 0.99)))
	return nil
}

// millis returns a percentile of times.
func millis(all []time.Duration, p float64) float64 { return float64(turns.Percentile(all, p)) / 1e6 }
