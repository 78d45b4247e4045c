//doc:begin program

// Command worker puts jobs into a queue, and works on them.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"killed/appkeys"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/queue"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: worker URL enqueue N | hang | work N")
	}
	client, err := keywright.Open(ctx, args[0], keywright.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	app := appkeys.New(client)
	n := 0
	if len(args) > 2 {
		if n, err = strconv.Atoi(args[2]); err != nil {
			return err
		}
	}
	switch args[1] {
	case "enqueue":
		return enqueue(ctx, app, n)
	case "hang":
		return work(ctx, app, 1, func(ctx context.Context) { <-ctx.Done() }) // a job that does not end
	default:
		return work(ctx, app, n, func(context.Context) {})
	}
}

func enqueue(ctx context.Context, app *appkeys.Keyspace, n int) error {
	for i := range n {
		id, err := app.Tasks().Enqueue(ctx, queue.Task[appkeys.TasksValue]{
			ID: fmt.Sprint("task-", i+1), Lane: "high", Payload: appkeys.TasksValue{Order: int64(i + 1)},
		})
		if err != nil {
			return err
		}
		fmt.Println("enqueued", id)
	}
	return nil
}

// work handles n jobs, one after the other.
func work(ctx context.Context, app *appkeys.Keyspace, n int, handle func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	worker := app.Tasks().Worker(func(ctx context.Context, job *queue.Job[appkeys.TasksValue]) error {
		fmt.Printf("began %s, attempt %d\n", job.ID, job.Attempt)
		handle(ctx)
		if n--; n == 0 {
			stop() // Run reports what is done, and returns
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 1})
	err := worker.Run(ctx)
	if err == nil {
		fmt.Println("done")
	}
	return err
}

//doc:end
