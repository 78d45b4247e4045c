package pages

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/pages/appkeys"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// A queue: one job, one worker.
func Example_queue() {
	ctx, client, app, done := open(keywright.Options{})
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	handle := func(_ context.Context, v appkeys.TasksValue, fence int64) error {
		fmt.Println("order", v.Order, fence > 0)
		cancel()
		return nil
	}
	//doc:begin queue
	id, err := app.Tasks().Enqueue(ctx, queue.Task[appkeys.TasksValue]{
		ID: "task-17", Lane: "high", Payload: appkeys.TasksValue{Order: 17},
	})
	check(err)

	worker := app.Tasks().Worker(func(ctx context.Context, job *queue.Job[appkeys.TasksValue]) error {
		return handle(ctx, job.Payload, job.Fence) // nil: done; an error: again later
	}, queue.WorkerOptions{Concurrency: 10})
	err = worker.Run(ctx) // until ctx ends; gives back what it could not finish
	//doc:end
	fmt.Println(id, err)
	//doc:begin undeclared-queue
	mail := queue.Open(client, "mail", value.Text(0), queue.Options{}, "high", "low")
	//doc:end
	stats, err := mail.Stats(context.Background())
	fmt.Println(stats.Waiting(), err)
	// Output:
	// order 17 true
	// task-17 <nil>
	// 0 <nil>
}
