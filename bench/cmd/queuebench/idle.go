package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/queue"
)

// idleOf returns one worker with nothing to do: the commands per second that it sends
// then, and how long single jobs wait for it.
func idleOf(ctx context.Context, peer contestant, o options) (commands float64, waits []time.Duration, err error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return 0, nil, err
	}
	defer server.Stop()
	worker, err := peer.open(ctx, server.Addr)
	if err != nil {
		return 0, nil, err
	}
	defer worker.close()
	started := make(chan time.Time, 1)
	stop, err := worker.work(ctx, 10, peer.batch, func(string) { started <- time.Now() })
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = firstOf(err, stop()) }()
	pause(ctx, o.idle/4)
	before, err := server.Commands()
	if err != nil {
		return 0, nil, err
	}
	pause(ctx, o.idle)
	after, err := server.Commands()
	if err != nil {
		return 0, nil, err
	}
	waits, err = single(ctx, server, peer, started, o)
	return float64(after-before) / o.idle.Seconds(), waits, err
}

// single sends jobs one at a time from a client of its own. The pause before
// each is random over the worker's own interval, so that no worker is met always at
// the same moment of it.
func single(ctx context.Context, server *live.Server, peer contestant, started <-chan time.Time,
	o options) (waits []time.Duration, err error) {
	producer, err := peer.open(ctx, server.Addr)
	if err != nil {
		return nil, err
	}
	defer producer.close()
	for i := range o.singles {
		pause(ctx, 50*time.Millisecond+time.Duration(rand.Int64N(int64(20*time.Millisecond+peer.poll))))
		began := time.Now()
		if err := producer.enqueue(ctx, payload(i)); err != nil {
			return nil, err
		}
		select {
		case at := <-started:
			waits = append(waits, at.Sub(began))
		case <-time.After(o.limit):
			return nil, errors.New("a job was not handled")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return waits, nil
}

// delayed are by how much jobs that are due later begin after their time, one at a time,
// by the clock that worker and server share here.
func delayed(ctx context.Context, o options) (late []time.Duration, err error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	c, q, err := openOurs(ctx, server.Addr, queue.Options{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	life, stop := context.WithCancel(ctx)
	began, ended := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		ended <- q.Worker(func(context.Context, *queue.Job[string]) error { began <- time.Now(); return nil },
			queue.WorkerOptions{}).Run(life)
	}()
	defer func() { stop(); err = firstOf(err, <-ended) }()
	for range max(o.singles, 100) {
		due := time.Now().Add(20*time.Millisecond + time.Duration(rand.Int64N(int64(100*time.Millisecond)))).Truncate(
			time.Millisecond)
		if _, err := q.Enqueue(ctx, queue.Task[string]{At: due}); err != nil {
			return nil, err
		}
		select {
		case at := <-began:
			late = append(late, at.Sub(due))
		case <-time.After(o.limit):
			return nil, errors.New("a delayed job was not handled")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return late, nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func idling(ctx context.Context, o options) ([]report.Table, []report.Goal, error) {
	all := []contestant{ours("keywright", 1), bareRueidis(), withAsynq("asynq", 0),
		withAsynq("asynq, looks every 10 ms", 10*time.Millisecond)}
	t := report.Table{Title: fmt.Sprintf("Idle queue, %d jobs one at a time, concurrency 10", o.singles*o.idles),
		Columns: []string{"contestant", "enqueue → handler p50 ms", "p99 ms", "idle commands/s per worker"}}
	waits, commands := make([][]time.Duration, len(all)), make([][]float64, len(all))
	for round := range o.idles {
		for turn := range all {
			i := (turn + round) % len(all)
			each, some, err := idleOf(ctx, all[i], o)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", all[i].name, err)
			}
			waits[i], commands[i] = append(waits[i], some...), append(commands[i], each)
		}
	}
	for i, peer := range all {
		t.Add(peer.name, millis(turns.Percentile(waits[i], 0.5)), millis(turns.Percentile(waits[i], 0.99)),
			fmt.Sprintf("%.1f", turns.Median(commands[i])))
	}
	late, err := delayed(ctx, o)
	if err != nil {
		return nil, nil, fmt.Errorf("delayed jobs: %w", err)
	}
	d := report.Table{Title: "Delayed jobs on an idle queue, one at a time",
		Columns: []string{"due → handler p50 ms", "p99 ms"}}
	d.Add(millis(turns.Percentile(late, 0.5)), millis(turns.Percentile(late, 0.99)))
	return []report.Table{t, d}, []report.Goal{
		{What: "idle queue, keywright, due to handler p99 ms", Value: float64(turns.Percentile(late, 0.99)) / 1e6, Bound: 10},
		{What: "idle queue, keywright, enqueue to handler p50 ms", Value: float64(turns.Percentile(waits[0], 0.5)) / 1e6,
			Bound: 1},
		{What: "idle queue, keywright, commands/s per worker", Value: turns.Median(commands[0]), Bound: 5},
	}, nil
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
