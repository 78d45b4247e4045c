package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestSlowReplies: a worker whose replies take more than a third of the lease keeps
// its job for as long as that runs, and no other worker begins it. A machine that is
// too busy for a short lease is slow enough for a long one.
func TestSlowReplies(t *testing.T) {
	gate.Skip(t, "measures how long a lease is kept")
	t.Parallel()
	var wrong error
	for lease := 250 * time.Millisecond; lease <= 8*time.Second; lease *= 2 {
		if wrong = kept(t, lease); wrong == nil {
			return
		}
		t.Logf("with a lease of %v: %v", lease, wrong)
	}
	t.Error(wrong)
}

// kept runs a job for three leases, with replies that take two fifths of one, while
// another worker looks for jobs.
func kept(t *testing.T, lease time.Duration) error {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: lease * 2 / 5})
	c, err := keywright.Open(t.Context(), "redis://"+p.Addr(), keywright.Options{Timeout: 10 * lease, Connections: -1})
	must(t, err)
	defer c.Close()
	o := queue.Options{Lease: lease}
	far, near := queue.Open(c, "mail", value.Text(0), o), queue.Open(open(t, s.URL()), "mail", value.Text(0), o)
	known := make(chan struct{}) // a script that the server does not know takes a round trip more
	must(t, expect.Err(near.Enqueue(t.Context(), queue.Task[string]{})))
	teach := started(t,
		near.Worker(func(context.Context, *queue.Job[string]) error { close(known); return nil }, queue.WorkerOptions{}))
	<-known
	teach()
	began, done := make(chan struct{}, 10), make(chan error, 10)
	stop := started(t, far.Worker(func(ctx context.Context, _ *queue.Job[string]) error {
		began <- struct{}{}
		over := time.After(3 * lease)
		select {
		case <-ctx.Done():
		case <-over:
		}
		done <- context.Cause(ctx)
		return ctx.Err()
	}, queue.WorkerOptions{Concurrency: 1, Grace: 10 * lease}))
	defer stop()
	id, err := near.Enqueue(t.Context(), queue.Task[string]{Retry: 5})
	must(t, err)
	<-began
	var others atomic.Int64
	defer started(t, near.Worker(func(context.Context, *queue.Job[string]) error { others.Add(1); return nil },
		queue.WorkerOptions{Concurrency: 1}))()
	if err := <-done; err != nil {
		return fmt.Errorf("its context ended: %w", err)
	}
	stop()
	if n := len(began) + int(others.Load()); n > 0 {
		return fmt.Errorf("it ran %d times more", n)
	}
	if _, err := near.State(t.Context(), id); !errors.Is(err, keywright.ErrNotFound) {
		return fmt.Errorf("it is not done: %w", err)
	}
	return nil
}

// TestSignsOfLifeGoOn: a sign of life that is not answered holds up no other one.
func TestSignsOfLifeGoOn(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	c, begun := watched(t, "redis://"+p.Addr())
	q := queue.Open(c, "mail", value.Text(0), queue.Options{Lease: 6 * time.Second})
	running, leave := make(chan context.Context), make(chan struct{})
	stop := started(t, q.Worker(func(ctx context.Context, _ *queue.Job[string]) error {
		running <- ctx
		<-leave
		return nil
	}, queue.WorkerOptions{Concurrency: 1, Grace: time.Second}))
	must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{})))
	job := <-running
	p.Freeze()
	before := begun("beat")
	eventually(t, "two more are sent, or the job is lost",
		func() bool { return begun("beat") > before+1 || job.Err() != nil })
	if job.Err() != nil {
		t.Error("the lease ended, and one sign of life was sent")
	}
	p.Thaw()
	close(leave)
	stop()
}

// TestCloseEndsItsJobs: when the client is closed, the contexts of the jobs end, and Run
// does, also within its Grace. The jobs run again elsewhere.
func TestCloseEndsItsJobs(t *testing.T) {
	t.Parallel()
	for _, stopping := range []bool{false, true} {
		t.Run(fmt.Sprint("stopping ", stopping), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			o := queue.Options{Lease: time.Second}
			c, other := open(t, s.URL()), queue.Open(open(t, s.URL()), "mail", value.Text(0), o)
			running, causes, ends := make(chan struct{}), make(chan error, 1), make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := queue.Open(c, "mail", value.Text(0), o).Worker(func(ctx context.Context, _ *queue.Job[string]) error {
				close(running)
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return ctx.Err()
			}, queue.WorkerOptions{Concurrency: 4, Grace: time.Hour})
			go func() { ends <- w.Run(ctx) }()
			must(t, expect.Err(other.Enqueue(t.Context(), queue.Task[string]{})))
			<-running
			if stopping {
				cancel()
			}
			c.Close()
			eventually(t, "Run returns", func() bool { return len(ends) > 0 })
			if err := <-ends; errors.Is(err, keywright.ErrClosed) == stopping {
				t.Errorf("Run ended with %v", err)
			}
			if cause := <-causes; !errors.Is(cause, keywright.ErrClosed) {
				t.Errorf("the job's context ended with %v", cause)
			}
			again := make(chan struct{})
			started(t, other.Worker(func(context.Context, *queue.Job[string]) error { close(again); return nil },
				queue.WorkerOptions{}))
			<-again
		})
	}
}
