package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestClockSteps moves the server's clock under workers, delayed jobs and
// retries. A job may run twice or later than it was to, which the page of queues
// says; none is lost.
func TestClockSteps(t *testing.T) {
	gate.Skip(t, "leases of 400 ms")
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand, keywrighttest.MovableClock())
			o := queue.Options{Lease: 400 * time.Millisecond, Backoff: time.Millisecond, Crashes: 1000}
			var mu sync.Mutex
			done := map[string]bool{}
			count := func() int { mu.Lock(); defer mu.Unlock(); return len(done) }
			for range 3 {
				q := queue.Open(open(t, s.URL()), "mail", value.Text(0), o)
				started(t, q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
					_, _ = q.Stats(ctx) // a clock is moved while some are in hand
					if j.Attempt == 1 && len(j.ID)%2 == 0 {
						return errors.New("once more")
					}
					mu.Lock()
					defer mu.Unlock()
					done[j.ID] = true
					return nil
				}, queue.WorkerOptions{Concurrency: 4, Batch: 2}))
			}
			q := queue.Open(open(t, s.URL()), "mail", value.Text(0), o)
			ids := map[string]bool{}
			for round, ahead := range []time.Duration{0, time.Minute, -time.Hour, 0, time.Hour, -time.Minute, 0, 2 * time.Hour} {
				s.MoveClock(ahead)
				before := count()
				for i := range 60 {
					task := queue.Task[string]{ID: fmt.Sprint("job-", round*60+i), Payload: "x"}
					if i%10 == 0 {
						task.In = 20 * time.Millisecond
					}
					id, err := q.Enqueue(t.Context(), task)
					must(t, err)
					ids[id] = true
				}
				eventually(t, "work goes on", func() bool { return count() >= before+20 })
			}
			// The clock ends ahead of all that it was: whatever was put off is due.
			eventually(t, "all are done", func() bool { return count() == len(ids) })
			eventually(t, "nothing is left", func() bool {
				stats, err := q.Stats(t.Context())
				must(t, err)
				return stats.Waiting()+stats.Leased+stats.Delayed+stats.Dead == 0
			})
		})
	}
}

// rated runs two jobs of a queue with a rate, and puts the server's clock back by
// an hour in between. It gives what was wrong.
func rated(t *testing.T, guards ...string) []string {
	queue.Mutate(t, guards...)
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.MovableClock())
	client, begun := watched(t, s.URL())
	q := queue.Open(client, "mail", value.Text(0), queue.Options{Rate: 1000, Per: time.Second})
	ran := make(chan string, 2)
	started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error { ran <- j.ID; return nil },
		queue.WorkerOptions{Concurrency: 1}))
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
	<-ran
	s.MoveClock(-time.Hour)
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
	before := begun("fetch") // a worker that must wait for its rate asks again soon, else once a second
	eventually(t, "it runs, or the worker has often asked for it", func() bool {
		return len(ran) > 0 ||
			begun("fetch") > before+5
	})
	if len(ran) == 0 {
		return []string{"a job waits for the rate of a time that was put back"}
	}
	return nil
}
