package queue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestJobsAreListedWhereTheyAre: those that run with the end of their lease, those that wait for their time with when
// they are due, those of a lane in the order in which they go; page by page.
func TestJobsAreListedWhereTheyAre(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began, ended := make(chan string), make(chan error, 1)
	w := q.Worker(func(ctx context.Context, job *queue.Job[string]) error {
		began <- job.ID
		<-ctx.Done()
		return ctx.Err()
	}, queue.WorkerOptions{AllowEviction: true})
	go func() { ended <- w.Run(ctx) }()
	_, err := q.Enqueue(ctx, queue.Task[string]{ID: "runs"})
	must(t, err)
	if id := <-began; id != "runs" {
		t.Fatal(id)
	}
	now := time.Now()
	for i := range 3 {
		_, err := q.Enqueue(ctx, queue.Task[string]{ID: fmt.Sprint("later-", i), In: time.Duration(i+1) * time.Hour})
		must(t, err)
	}
	running, err := q.Running(ctx, 0, 10)
	must(t, err)
	if len(running) != 1 || running[0].ID != "runs" || running[0].At.Before(now.Add(-time.Minute)) {
		t.Errorf("%+v", running)
	}
	delayed, err := q.Delayed(ctx, 1, 10)
	must(t, err)
	if len(delayed) != 2 || delayed[0].ID != "later-1" || delayed[1].ID != "later-2" ||
		delayed[0].At.Sub(now).Round(time.Hour) != 2*time.Hour {
		t.Errorf("%+v", delayed)
	}
	stop()
	<-ended
	ctx = t.Context()
	for i := range 3 {
		_, err := q.Enqueue(ctx, queue.Task[string]{ID: fmt.Sprint("waits-", i)})
		must(t, err)
	}
	waiting, err := q.Waiting(ctx, "", 0, 1000)
	must(t, err)
	var ids []string
	for _, one := range waiting {
		if one.ID != "runs" { // its worker gave it back
			ids = append(ids, one.ID)
		}
	}
	if fmt.Sprint(ids) != "[waits-0 waits-1 waits-2]" {
		t.Error(ids)
	}
	if none, err := q.Waiting(ctx, "no-lane", 0, 10); err == nil {
		t.Error(none, err)
	}
}
