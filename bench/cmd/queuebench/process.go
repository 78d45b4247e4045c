package main

import (
	"cmp"
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

// processed represents one worker's way through a full queue.
type processed struct {
	rate float64 // from first to last job
	costs.Costs
}

// process lets one worker handle a full queue.
func (o *options) process(ctx context.Context, peer contestant, concurrency int) (r processed, err error) {
	err = o.on(ctx, peer, func(server *live.Server, q jobs) error {
		for i := 0; i < o.jobs; i += 1000 {
			var some []string
			for n := i; n < min(i+1000, o.jobs); n++ {
				some = append(some, payload(n))
			}
			if err := q.enqueueAll(ctx, some); err != nil {
				return err
			}
		}
		l := newSeenJobs(o.jobs)
		stop := func() error { return nil }
		err := r.Count(server, func() (err error) {
			if stop, err = q.work(ctx, concurrency, peer.batch, l.handle); err == nil {
				r.rate, err = l.rate(ctx, o.limit)
			}
			return err
		})
		return cmp.Or(err, stop())
	})
	return r, err
}

var concurrencies = []int{10, 100}

func (o *options) processing(ctx context.Context, out *report.Report) error {
	const single, batches, asynq = 0, 1, 3
	all := []contestant{ours("keywright", 1), ours("keywright, batches of 10", 10), bareRueidis(), withAsynq("asynq", 0)}
	runs, err := turns.Rounds(o.drains, all, func(c contestant) (both [2]processed, err error) {
		for i, n := range concurrencies {
			if both[i], err = o.process(ctx, c, n); err != nil {
				return both, fmt.Errorf("with concurrency %d: %w", n, err)
			}
		}
		return both, nil
	})
	if err != nil {
		return err
	}
	rate := func(i int) func([2]processed) float64 { return func(r [2]processed) float64 { return r[i].rate } }
	peer := runs.All[asynq]
	runs.Show(out, fmt.Sprintf("Process, no-op jobs per second by concurrency, %d jobs in the queue", o.jobs),
		"contestant",
		turns.Median("c10", "%.0f", rate(0)), turns.Median("c100", "%.0f", rate(1)),
		turns.Versus("÷ asynq c10", "%.2f", rate(0), peer), turns.Versus("c100", "%.2f", rate(1), peer))
	runs.Show(out, "What one job costs to process, concurrency 100", "contestant",
		turns.Costs(o.jobs, func(r [2]processed) costs.Costs { return r[1].Costs })...)
	for i, n := range concurrencies {
		out.AtLeast(3, turns.Ratio(runs.All[single], peer, rate(i)), "process c%d, keywright ÷ asynq", n)
		out.AtLeast(10, turns.Ratio(runs.All[batches], peer, rate(i)), "process c%d, keywright in batches of 10 ÷ asynq", n)
	}
	return nil
}
