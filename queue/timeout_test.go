package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestTimeout: the context of a run that takes longer than its time limit ends, and the
// run has failed. A job has the limit of its own, else that of the queue.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		o    queue.Options
		task queue.Task[string]
	}{
		"of the queue":         {queue.Options{Timeout: 10 * time.Millisecond}, queue.Task[string]{}},
		"of the job":           {queue.Options{Timeout: time.Hour}, queue.Task[string]{Timeout: 10 * time.Millisecond}},
		"of a job with a name": {queue.Options{}, queue.Task[string]{ID: "one", Timeout: 10 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one.o.Retry, one.o.Backoff = 2, time.Millisecond
			q := queue.Open(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()), "mail", value.Text(0), one.o)
			must(t, expect.Err(q.Enqueue(t.Context(), one.task)))
			dead := make(chan queue.Dead, 1)
			started(t, q.Worker(func(ctx context.Context, _ *queue.Job[string]) error {
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), queue.ErrTimeout) {
					t.Errorf("its context ends with %v", context.Cause(ctx))
				}
				return ctx.Err()
			}, queue.WorkerOptions{OnDead: func(d queue.Dead) { dead <- d }}))
			d := <-dead
			if want := "the time limit of the run is over after 10ms: context canceled"; d.Reason != want || d.Attempts != 2 {
				t.Errorf("%+v, want %q", d, want)
			}
		})
	}
}

// TestOverdue: Stats says which runs last too long.
func TestOverdue(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.MovableClock())
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{Lease: 3 * time.Hour})
	for range 2 {
		must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
	}
	began, leave := make(chan struct{}, 2), make(chan struct{})
	started(t, q.Worker(func(context.Context, *queue.Job[string]) error { began <- struct{}{}; <-leave; return nil },
		queue.WorkerOptions{}))
	t.Cleanup(func() { close(leave) })
	for range 2 {
		<-began
	}
	st, err := q.Stats(t.Context())
	if must(t, err); st.Overdue != 0 || st.OldestRun > time.Hour || st.Leased != 2 || st.Unseen != 0 {
		t.Errorf("%+v", st)
	}
	s.MoveClock(2 * time.Hour)
	st, err = q.Stats(t.Context())
	if must(t, err); st.Overdue != 2 || st.OldestRun < 2*time.Hour || st.OldestRun > 3*time.Hour {
		t.Errorf("two hours later: %+v", st)
	}
	st, err = q.With(queue.Options{Timeout: 3 * time.Hour}).Stats(t.Context())
	if must(t, err); st.Overdue != 0 {
		t.Errorf("with a limit of three hours: %+v", st)
	}
	for n := range 1000 { // more than are looked at; no lease is over, or the worker would take it
		s.Do("ZADD", "{mail}:leases", "9999999999999", "job"+string(rune('a'+n%26))+time.Duration(n).String())
	}
	st, err = q.Stats(t.Context())
	if must(t, err); st.Leased != 1002 || st.Unseen != 2 {
		t.Errorf("%+v", st)
	}
}
