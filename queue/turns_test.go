package queue_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestTurns: sixteen calls with many jobs each are under way at a time. A caller
// that leaves while it waits for a turn has put nothing into the queue.
func TestTurns(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	q := queue.Open(open(t, "redis://"+p.Addr()), "mail", value.Text(0), queue.Options{})
	jobs := []queue.Task[string]{{Payload: "a"}, {Payload: "b"}}
	_, err := q.EnqueueAll(t.Context(), jobs)
	must(t, err)
	p.Freeze()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := q.EnqueueAll(t.Context(), jobs); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "sixteen are under way", func() bool { return queue.Bulks(q) == 16 })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := q.EnqueueAll(ctx, jobs)
		left <- err
	}()
	cancel()
	err = <-left
	if class, _ := keywright.ClassOf(err); !errors.Is(err, context.Canceled) || class != keywright.NotApplied {
		t.Errorf("a caller that waits for a turn and leaves: %v (%v)", err, class)
	}
	p.Thaw()
	all.Wait()
	stats, err := q.Stats(t.Context())
	must(t, err)
	if n := stats.Waiting(); n != 34 || queue.Bulks(q) != 0 {
		t.Errorf("%d jobs of 34, %d calls under way", n, queue.Bulks(q))
	}
}

// TestBehindTheID: the id of a job need not be what its key ends with.
func TestBehindTheID(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	keys, codec := queue.KeysOf("mail"), value.Text(0)
	keys.Job.After = ":job"
	q := queue.New(keywright.Binding{Client: open(t, s.URL()),
		Entry: &keywright.Entry{Name: "mail", Pattern: "mail", Type: "list"}}, keys, &codec,
		&queue.Options{})
	ids, err := q.EnqueueAll(t.Context(), []queue.Task[string]{{}, {}, {ID: "own"}})
	must(t, err)
	one, err := q.Enqueue(t.Context(), queue.Task[string]{})
	must(t, err)
	some, err := q.EnqueueAll(t.Context(), []queue.Task[string]{{}, {}})
	must(t, err)
	ids = append(append(ids, one), some...)
	ran := make(chan string, len(ids))
	stop := started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error { ran <- j.ID; return nil },
		queue.WorkerOptions{Concurrency: 1}))
	for _, id := range ids {
		if got := <-ran; got != id {
			t.Errorf("%s ran, not %s", got, id)
		}
	}
	stop()
}
