package queue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
)

// TestEnqueued: a queue counts each job that comes, once, with those that are gone; a job that is refused since another
// has its id is none. The count shares the TTL of the queue's keys, but for a queue that is paused. A state of a wrong
// type refuses the job.
func TestEnqueued(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	q, ctx := declared(open(t, s.URL()), time.Minute, queue.Options{}), t.Context()
	counts := func(want int64) {
		t.Helper()
		stats, err := q.Stats(ctx)
		must(t, err)
		if stats.Enqueued != want {
			t.Errorf("%d jobs are counted, not %d", stats.Enqueued, want)
		}
	}
	lives := func(want bool) {
		t.Helper()
		if ms := s.Do("PTTL", "{mail}:state").(int64); (ms >= 0) != want || ms > time.Minute.Milliseconds() {
			t.Errorf("the state lives for %d ms", ms)
		}
	}
	counts(0)
	for _, put := range []func() error{
		func() error { return expect.Err(q.Enqueue(ctx, queue.Task[string]{})) },
		func() error { return expect.Err(q.EnqueueAll(ctx, make([]queue.Task[string], 3))) },
		func() error { return expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "a"})) },
		func() error { return expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "b", In: time.Hour})) },
	} {
		must(t, put())
		lives(true)
	}
	counts(6)
	if _, err := q.Enqueue(ctx, queue.Task[string]{ID: "a"}); !errors.Is(err, queue.ErrExists) {
		t.Error(err)
	}
	counts(6)
	again := []string{"EVAL", queue.Plain(), "4", "mail", "{mail}:state", "{mail}:job:a", "{mail}:job:c", "60000", "{mail}:ready",
		"12", "-1", "-", "0", "x", "y"}
	for range 2 { // the reply was lost
		s.Do(again...)
	}
	counts(7)
	must(t, expect.Err(q.Cancel(ctx, "a")))
	must(t, q.Pause(ctx))
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{ID: "a"})))
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{})))
	counts(9)
	lives(false)
	must(t, q.Resume(ctx))
	lives(true)

	s.Do("SET", "{mail}:state", "what is this")
	for _, id := range []string{"", "d"} {
		if _, err := q.Enqueue(ctx, queue.Task[string]{ID: id}); err == nil || !strings.Contains(err.Error(), "{mail}:state") {
			t.Error(err)
		}
	}
	if n := s.Do("LLEN", "mail"); n != int64(7) {
		t.Errorf("%v jobs wait", n)
	}
	s.Do("DEL", "{mail}:state")
	s.Do("HSET", "{mail}:state", "enqueued", "many") // nothing of ours
	counts(0)
	must(t, expect.Err(q.Enqueue(ctx, queue.Task[string]{})))
	counts(1)
}
