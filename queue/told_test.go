package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// cutReplies lets a worker end jobs while replies to it are lost: those that say that they
// are done, or dead. It gives what was wrong.
func cutReplies(t *testing.T, cut int64, jobs int) (wrong []string) {
	s := keywrighttest.Start(t, gate.Pick(t, keywrighttest.Brands())[0])
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{CutAfter: cut})
	o := queue.Options{Lease: 2 * time.Second}
	near, far := queue.Open(open(t, s.URL()), "mail", value.Text(0), o),
		queue.Open(open(t, "redis://"+p.Addr()), "mail", value.Text(0), o)
	tasks := make([]queue.Task[string], jobs)
	for i := range tasks {
		tasks[i].Payload = []string{"done", "dead"}[i%2]
	}
	_, err := near.EnqueueAll(t.Context(), tasks)
	must(t, err)
	var dead, lost, failures atomic.Int64
	stop := started(t, far.Worker(func(_ context.Context, j *queue.Job[string]) error {
		if j.Payload == "dead" {
			return queue.Discard(errors.New("in vain"))
		}
		return nil
	}, queue.WorkerOptions{Concurrency: 4, OnDead: func(queue.Dead) { dead.Add(1) }, OnError: func(err error) {
		if failures.Add(1); errors.Is(err, queue.ErrLost) {
			lost.Add(1)
		}
	}}))
	eventually(t, "all are done or dead", func() bool {
		st, err := near.Stats(t.Context())
		return err == nil && st.Waiting()+st.Leased+st.Delayed == 0
	})
	stop()
	if failures.Load() == 0 {
		wrong = append(wrong, "no reply was lost")
	}
	if n := dead.Load(); n != int64(jobs/2) {
		wrong = append(wrong, fmt.Sprintf("%d deaths were told, of %d", n, jobs/2))
	}
	if n := lost.Load(); n > 0 {
		wrong = append(wrong, fmt.Sprintf("%d jobs were told to be another worker's", n))
	}
	return wrong
}

// TestToldOnce: what has become of a job is reported once, also when the reply that says so
// is lost.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	jobs := 200
	if gate.All() {
		jobs = 2000
	}
	for _, w := range cutReplies(t, 5000, jobs) {
		t.Error(w)
	}
}

// TestAnswersLeave: nothing is kept of a worker that has ended, nor of one that is gone
// for a day.
func TestAnswersLeave(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	_, err := q.EnqueueAll(t.Context(), make([]queue.Task[string], 20))
	must(t, err)
	s.Do("ZADD", "{mail}:workers", "1", "gone/1")
	s.Do("HSET", "{mail}:state", "answer gone/1 0", "x", "answer gone/1 1", "x")
	var done atomic.Int64
	stop := started(t, q.Worker(func(context.Context, *queue.Job[string]) error { done.Add(1); return nil },
		queue.WorkerOptions{}))
	eventually(t, "all are done", func() bool { return done.Load() == 20 })
	eventually(t, "the one that is gone is forgotten", func() bool {
		return s.Do("HEXISTS", "{mail}:state", "answer gone/1 0").(int64) == 0
	})
	stop()
	if n := s.Do("EXISTS", "{mail}:state"); n != int64(0) {
		t.Errorf("the state has %v", s.Do("HGETALL", "{mail}:state"))
	}
}
