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

// TestNamedJobsOfManyAreLookedUp: of thousands that wait for their time, or are dead, those that are named are found by
// their names; those that are elsewhere are left out.
func TestNamedJobsOfManyAreLookedUp(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	s.Do("EVAL", `for i = 1, 3000 do
	redis.call('ZADD', '{mail}:delayed', 1000 * i, 'later'..i)
	redis.call('ZADD', '{mail}:dead', 1000 * i, 'dead'..i)
end
redis.call('HSET', '{mail}:runs', 'dead7', '- 6 5 1 0 0 r1\nwhy\n')`, "0")
	delayed, err := q.DelayedOf(t.Context(), "later2999", "dead1", "later1")
	must(t, err)
	if fmt.Sprint(delayed) != fmt.Sprint([]queue.Listed{{ID: "later2999", At: time.UnixMilli(2999000)},
		{ID: "later1", At: time.UnixMilli(1000)}}) {
		t.Error(delayed)
	}
	dead, err := q.DeadOf(t.Context(), "later1", "dead7")
	must(t, err)
	if len(dead) != 1 || dead[0] != (queue.Dead{ID: "dead7", Reason: "why", Attempts: 5, Crashes: 1,
		Since: time.UnixMilli(7000)}) {
		t.Errorf("%+v", dead)
	}
	if none, err := q.DeadOf(t.Context()); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
	if _, err := q.DelayedOf(t.Context(), make([]string, 1001)...); err == nil {
		t.Error("a thousand and one names are too many for one call")
	}
}
