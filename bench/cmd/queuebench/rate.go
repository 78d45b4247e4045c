package main

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/queue"
)

// fullest returns the most jobs that began within any second.
func fullest(began []time.Time) (most int) {
	from := 0
	for to := range began {
		for began[to].Sub(began[from]) >= time.Second {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}

// rates handles jobs of queues with a rate per second.
func (o *options) rates(ctx context.Context, out *report.Report) error {
	t := out.Table("A rate, one job at once", "declared per s", "reached per s", "most within a second")
	for _, rate := range []int{20, 100, 1000} {
		jobs := max(int(o.rated.Seconds()*float64(rate)), 2)
		err := o.onOurs(ctx, queue.Options{Rate: rate, Per: time.Second}, func(_ *live.Server, q oursJobs) error {
			if _, err := q.queue.EnqueueAll(ctx, make([]queue.Task[string], jobs)); err != nil {
				return err
			}
			began, err := o.handled(ctx, q, jobs, 1)
			if err != nil {
				return err
			}
			reached, most := float64(jobs-1)/began[len(began)-1].Sub(began[0]).Seconds(), fullest(began)
			t.Add(rate, fmt.Sprintf("%.1f", reached), most)
			out.AtLeast(0.98, reached/float64(rate), "rate of %d per second, part of it that is reached", rate)
			out.AtMost(float64(rate+1), float64(most), "rate of %d per second, most jobs within a second", rate)
			return nil
		})
		if err != nil {
			return fmt.Errorf("a rate of %d: %w", rate, err)
		}
	}
	return nil
}
