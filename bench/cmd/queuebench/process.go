package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
)

// payload returns a hundred bytes that begin with the job's number.
func payload(i int) string { return fmt.Sprintf("%08d", i) + strings.Repeat("x", 92) }

// seenJobs counts what handlers have seen: every job once, from the first to the last.
type seenJobs struct {
	seen        []atomic.Int32
	left        atomic.Int64
	first, last atomic.Int64 // Unix nanoseconds
	wrong       atomic.Int64
	done        chan struct{}
}

func newSeenJobs(n int) *seenJobs {
	l := &seenJobs{seen: make([]atomic.Int32, n), done: make(chan struct{})}
	l.left.Store(int64(n))
	return l
}

func (l *seenJobs) handle(payload string) {
	l.first.CompareAndSwap(0, time.Now().UnixNano())
	i, err := strconv.Atoi(payload[:min(8, len(payload))])
	if err != nil || i >= len(l.seen) || len(payload) != 100 || l.seen[i].Add(1) != 1 {
		l.wrong.Add(1)
		return
	}
	if l.left.Add(-1) == 0 {
		l.last.Store(time.Now().UnixNano())
		close(l.done)
	}
}

// rate returns jobs per second, from the first handler's start to the last one's.
func (l *seenJobs) rate(ctx context.Context, limit time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-ctx.Done():
		return 0, fmt.Errorf("%d of %d jobs were not handled: %w", l.left.Load(), len(l.seen), ctx.Err())
	case <-l.done:
	}
	if n := l.wrong.Load(); n > 0 {
		return 0, fmt.Errorf("%d jobs were handled twice or are not what was enqueued", n)
	}
	return float64(len(l.seen)-1) / time.Duration(l.last.Load()-l.first.Load()).Seconds(), nil
}

// process returns one worker with a full queue, from first to last job.
func process(ctx context.Context, peer contestant, concurrency int, o options) (rate float64, used costs.Costs,
	err error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return 0, used, err
	}
	defer server.Stop()
	q, err := peer.open(ctx, server.Addr)
	if err != nil {
		return 0, used, err
	}
	defer q.close()
	for i := 0; i < o.jobs; i += 1000 {
		var some []string
		for n := i; n < min(i+1000, o.jobs); n++ {
			some = append(some, payload(n))
		}
		if err := q.enqueueAll(ctx, some); err != nil {
			return 0, used, err
		}
	}
	before, err := costs.Read(server)
	if err != nil {
		return 0, used, err
	}
	l := newSeenJobs(o.jobs)
	stop, err := q.work(ctx, concurrency, peer.batch, l.handle)
	if err != nil {
		return 0, used, err
	}
	rate, err = l.rate(ctx, o.limit)
	after, err2 := costs.Read(server)
	if err3 := stop(); err == nil {
		err = firstOf(err2, err3)
	}
	used.Add(before, after)
	return rate, used, err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var concurrencies = []int{10, 100}

func processing(ctx context.Context, o options) ([]report.Table, []report.Goal, error) {
	all := []contestant{ours("keywright", 1), ours("keywright, batches of 10", 10), bareRueidis(), withAsynq("asynq", 0)}
	const single, batches, asynq = 0, 1, 3
	rates, used := make([][2][]float64, len(all)), make([][2]costs.Costs, len(all))
	for round := range o.drains {
		for c, n := range concurrencies {
			for turn := range all {
				i := (turn + round) % len(all)
				rate, each, err := process(ctx, all[i], n, o)
				if err != nil {
					return nil, nil, fmt.Errorf("%s with concurrency %d: %w", all[i].name, n, err)
				}
				rates[i][c] = append(rates[i][c], rate)
				used[i][c].Add(costs.Costs{}, each)
			}
		}
	}
	t := report.Table{Title: fmt.Sprintf("Process, no-op jobs per second by concurrency, %d jobs in the queue", o.jobs),
		Columns: []string{"contestant", "c10", "c100", "÷ asynq c10", "c100"}}
	bill := report.Table{Title: "What one job costs to process, concurrency 100",
		Columns: append([]string{"contestant"}, costs.Columns...)}
	for i, peer := range all {
		t.Add(peer.name, fmt.Sprintf("%.0f", turns.Median(rates[i][0])), fmt.Sprintf("%.0f", turns.Median(rates[i][1])),
			fmt.Sprintf("%.2f", turns.Ratio(rates[i][0], rates[asynq][0])), fmt.Sprintf("%.2f", turns.Ratio(rates[i][1],
				rates[asynq][1])))
		bill.Add(append([]any{peer.name}, used[i][1].Cells(float64(o.jobs*o.drains))...)...)
	}
	var goals []report.Goal
	for c, n := range concurrencies {
		goals = append(goals,
			report.Goal{What: fmt.Sprintf("process c%d, keywright ÷ asynq", n), Value: turns.Ratio(rates[single][c],
				rates[asynq][c]), Bound: 3, AtLeast: true},
			report.Goal{What: fmt.Sprintf("process c%d, keywright in batches of 10 ÷ asynq", n),
				Value: turns.Ratio(rates[batches][c], rates[asynq][c]), Bound: 10, AtLeast: true})
	}
	return []report.Table{t, bill}, goals, nil
}
