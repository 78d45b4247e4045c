package main

import (
	"context"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// defaultLease says what keywright's queue takes if no lease is given. asynq's is
// 30 s and cannot be changed.
const defaultLease = 15 * time.Second

func ours(name string, batch int) contestant {
	return oursWith(name, batch, queue.Options{Lease: defaultLease})
}

func oursWith(name string, batch int, o queue.Options) contestant {
	return contestant{name, batch, 0, func(ctx context.Context, addr string) (jobs, error) {
		c, err := keywright.Open(ctx, "redis://"+addr, keywright.Options{})
		if err != nil {
			return nil, err
		}
		return oursJobs{c, queue.Open(c, "queue:bench", value.Text(0), o)}, nil
	}}
}

type oursJobs struct {
	client *keywright.Client
	queue  queue.Queue[string]
}

func (q oursJobs) close() { q.client.Close() }

func (q oursJobs) enqueue(ctx context.Context, payload string) error {
	return turns.Err(q.queue.Enqueue(ctx, queue.Task[string]{Payload: payload}))
}

func (q oursJobs) enqueueAll(ctx context.Context, payloads []string) error {
	tasks := make([]queue.Task[string], len(payloads))
	for i, p := range payloads {
		tasks[i].Payload = p
	}
	return turns.Err(q.queue.EnqueueAll(ctx, tasks))
}

func (q oursJobs) work(ctx context.Context, concurrency, batch int, handle func(string)) (func() error, error) {
	ctx, cancel := context.WithCancel(ctx)
	worker := q.queue.Worker(func(_ context.Context, job *queue.Job[string]) error {
		handle(job.Payload)
		return nil
	}, queue.WorkerOptions{Concurrency: concurrency, Batch: batch})
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	return func() error { cancel(); return <-ended }, nil
}
