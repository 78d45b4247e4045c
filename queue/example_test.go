package queue_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// A job is enqueued in a lane, and handled by a worker.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	mail := queue.Open(client, "mail", value.Text(0), queue.Options{}, "high", "low")
	if _, err := mail.Enqueue(ctx, queue.Task[string]{Lane: "high", Payload: "to: ann"}); err != nil {
		panic(err)
	}
	worker := mail.Worker(func(_ context.Context, job *queue.Job[string]) error {
		fmt.Println(job.Payload, job.Fence > 0)
		cancel()
		return nil // done; an error: again later
	}, queue.WorkerOptions{})
	fmt.Println(worker.Run(ctx))
	// Output:
	// to: ann true
	// <nil>
}
