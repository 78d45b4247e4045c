package queue_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// cancelled cancels a job whose worker is cut off, and says how its handler ends
// when the worker is back, or that it does not. It gives what was wrong.
func cancelled(t *testing.T, ends string, guards ...string) (wrong []string) {
	queue.Mutate(t, guards...)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	o := queue.Options{Lease: 300 * time.Millisecond, Backoff: time.Millisecond}
	if ends != "" {
		o.Lease = time.Hour
	}
	far, near := queue.Open(open(t, "redis://"+p.Addr()), "mail", value.Text(0), o), queue.Open(open(t, s.URL()),
		"mail", value.Text(0), o)
	ctx := t.Context()
	running, leave, again := make(chan struct{}), make(chan struct{}), make(chan struct{}, 10)
	release := sync.OnceFunc(func() { p.Thaw(); close(leave) })
	defer release()
	stopFar := started(t, far.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		if j.Attempt > 1 {
			again <- struct{}{}
			return nil
		}
		close(running)
		<-leave
		if ends == "fails" {
			return errors.New("no")
		}
		return context.Cause(ctx)
	}, queue.WorkerOptions{Concurrency: 1, Grace: time.Second}))
	id, err := near.Enqueue(ctx, queue.Task[string]{Payload: "cancelled", Unique: "u"})
	must(t, err)
	<-running
	p.Freeze()
	if ok, err := near.Cancel(ctx, id); !ok || err != nil {
		t.Errorf("cancel: %v %v", ok, err)
	}
	if ends != "" {
		// The worker says how it ends before it can receive the cancel: what it has
		// asked meanwhile is not answered.
		p.Cut()
		release()
		if ends == "stops" {
			stopFar()
		}
	}
	var ran atomic.Int64
	done := make(chan struct{})
	stopNear := started(t, near.Worker(func(_ context.Context, j *queue.Job[string]) error {
		if j.Payload == "cancelled" {
			ran.Add(1)
			return nil
		}
		close(done)
		return nil
	}, queue.WorkerOptions{Concurrency: 1}))
	gone := func() bool { _, err := near.State(ctx, id); return errors.Is(err, keywright.ErrNotFound) }
	eventually(t, "it is over", func() bool { return gone() || ran.Load() > 0 || len(again) > 0 })
	if ends != "" {
		stopFar()
	}
	if ran.Load()+int64(len(again)) == 0 {
		must(t, expect.Err(near.Enqueue(ctx, queue.Task[string]{Unique: "u"}))) // its name is free again
		<-done
	}
	if n := ran.Load() + int64(len(again)); n > 0 {
		wrong = append(wrong, "a job that was cancelled has run again")
	}
	release()
	stopFar()
	stopNear()
	return wrong
}

// TestCancelledIsOver: a job that was cancelled does not run again, whatever its
// worker does or says before it receives that.
func TestCancelledIsOver(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]string{"its worker is cut off": "", "its handler fails": "fails",
		"its worker stops": "stops"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, w := range cancelled(t, ends) {
				t.Error(w)
			}
		})
	}
}
