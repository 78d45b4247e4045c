package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestRunNow: a job that waits for its time, or for another attempt, runs at once, with the attempts that it has had;
// one that waits in its lane, is dead or is not there is left as it is.
func TestRunNow(t *testing.T) {
	t.Parallel()
	servertest.Clients(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		ctx := t.Context()
		q := queue.Open(c, "mail", value.Text(0), queue.Options{Retry: 3})
		type run struct {
			id      string
			attempt int64
		}
		ran := make(chan run, 10)
		work := func(fail bool) (stop func()) {
			return started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
				ran <- run{j.ID, j.Attempt}
				if fail {
					return queue.RetryIn(time.Hour, errors.New("no"))
				}
				return nil
			}, queue.WorkerOptions{Concurrency: 1}))
		}
		_, err := q.Enqueue(ctx, queue.Task[string]{ID: "again"})
		must(t, err)
		stop := work(true)
		<-ran
		eventually(t, "it waits for another attempt", func() bool {
			st, err := q.Stats(ctx)
			must(t, err)
			return st.Delayed == 1
		})
		stop()
		_, err = q.Enqueue(ctx, queue.Task[string]{ID: "late", In: time.Hour, Unique: "one"})
		must(t, err)
		for id, want := range map[string]bool{"again": true, "late": true, "nosuch": false} {
			if did, err := q.RunNow(ctx, id); err != nil || did != want {
				t.Errorf("%s: %v, %v", id, did, err)
			}
			if did, err := q.RunNow(ctx, id); err != nil || did {
				t.Errorf("%s, once more: %v, %v", id, did, err)
			}
		}
		if _, err := q.Enqueue(ctx, queue.Task[string]{ID: "other", Unique: "one"}); !errors.Is(err, queue.ErrExists) {
			t.Errorf("its unique name is free: %v", err)
		}
		if st, err := q.Stats(ctx); err != nil || st.Delayed != 0 || st.Waiting() != 2 {
			t.Errorf("%+v, %v", st, err)
		}
		stop = work(false)
		defer stop()
		attempts := map[string]int64{}
		for range 2 {
			r := <-ran
			attempts[r.id] = r.attempt
		}
		if attempts["again"] != 2 || attempts["late"] != 1 {
			t.Errorf("%v", attempts)
		}
	})
}
