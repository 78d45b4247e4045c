package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/queue"
)

// rated runs jobs of a queue with a rate per second, and gives when each began.
func rated(ctx context.Context, o options, rate int) ([]time.Time, error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	c, q, err := openOurs(ctx, server.Addr, queue.Options{Rate: rate, Per: time.Second})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	jobs := max(int(o.rated.Seconds()*float64(rate)), 2)
	if _, err := q.EnqueueAll(ctx, make([]queue.Task[string], jobs)); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, o.limit)
	defer stop()
	var mu sync.Mutex
	var began []time.Time
	err = q.Worker(func(context.Context, *queue.Job[string]) error {
		mu.Lock()
		defer mu.Unlock()
		if began = append(began, time.Now()); len(began) == jobs {
			stop()
		}
		return nil
	}, queue.WorkerOptions{}).Run(ctx)
	if err == nil && len(began) < jobs {
		err = fmt.Errorf("%d of %d jobs began within %v", len(began), jobs, o.limit)
	}
	slices.SortFunc(began, time.Time.Compare)
	return began, err
}

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

func rates(ctx context.Context, o options) ([]report.Table, []report.Goal, error) {
	t := report.Table{Title: "A rate, one job at once", Columns: []string{"declared per s", "reached per s",
		"most within a second"}}
	var goals []report.Goal
	for _, rate := range []int{20, 100, 1000} {
		began, err := rated(ctx, o, rate)
		if err != nil {
			return nil, nil, fmt.Errorf("a rate of %d: %w", rate, err)
		}
		reached := float64(len(began)-1) / began[len(began)-1].Sub(began[0]).Seconds()
		most := fullest(began)
		t.Add(rate, fmt.Sprintf("%.1f", reached), most)
		goals = append(goals, report.Goal{What: fmt.Sprintf("rate of %d per second, part of it that is reached", rate),
			Value: reached / float64(rate), Bound: 0.98, AtLeast: true},
			report.Goal{What: fmt.Sprintf("rate of %d per second, most jobs within a second", rate), Value: float64(most),
				Bound: float64(rate + 1)})
	}
	return []report.Table{t}, goals, nil
}
