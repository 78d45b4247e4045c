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

// TestTurns: sixteen calls with many jobs each are under way at a time. Whoever
// leaves while waiting for a turn has put nothing into the queue.
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
		t.Errorf("who waits for a turn and leaves: %v (%v)", err, class)
	}
	p.Thaw()
	all.Wait()
	stats, err := q.Stats(t.Context())
	must(t, err)
	if n := stats.Waiting(); n != 34 || queue.Bulks(q) != 0 {
		t.Errorf("%d jobs of 34, %d calls under way", n, queue.Bulks(q))
	}
}
