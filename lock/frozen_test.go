package lock_test

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
	"github.com/keywright/keywright/lock"
)

// frozen represents a process whose holder gives its lock back over a network that drops
// everything, so that the turn of the one after it comes and does not come.
type frozen struct {
	s        *keywrighttest.Server
	p        *keywrighttest.Proxy
	c        *keywright.Client
	far      lock.Lock
	near     lock.Lock
	released chan error
	cancel   []context.CancelFunc
	ended    []chan error
}

// freeze makes it, with so many waiters after the holder. The releasing call is
// under way, or, with a holder elsewhere, the first waiter is in the queue.
func freeze(t *testing.T, waiters int, elsewhere bool) *frozen {
	f := &frozen{s: keywrighttest.Start(t, keywrighttest.Redis), released: make(chan error, 1)}
	f.p = keywrighttest.NewProxy(t, f.s.Addr(), keywrighttest.Rules{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var err error
	f.c, err = keywright.Open(ctx, "redis://"+f.p.Addr(), keywright.Options{Timeout: 30 * time.Second})
	must(t, err)
	t.Cleanup(func() { f.p.Thaw(); f.c.Close() })
	f.far = lock.Open(f.c, "lock:a", lock.Options{Lease: time.Hour})
	f.near = lock.Open(open(t, f.s.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Hour})
	var lease *lock.Lease
	if elsewhere {
		lease = take(t, t.Context(), f.near)
	} else {
		lease = take(t, t.Context(), f.far)
	}
	for n := range waiters {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		ended := make(chan error, 1)
		f.cancel, f.ended = append(f.cancel, cancel), append(f.ended, ended)
		go func() { _, err := f.far.Acquire(ctx); ended <- err }()
		if elsewhere && n == 0 {
			awaitWaiters(t, f.near, 1)
		} else {
			lock.AwaitLine(t, f.far, n+1, elsewhere)
		}
	}
	f.p.Freeze()
	if elsewhere {
		t.Cleanup(func() { _ = lease.Release(context.Background()) })
		return f
	}
	go func() { f.released <- lease.Release(context.Background()) }()
	lock.AwaitLine(t, f.far, waiters-1, false) // the release is about to put the first one into the queue
	return f
}

// within gives what a channel says, and fails if it says nothing while the
// server is frozen.
func within(t *testing.T, what string, c <-chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing, while the server is frozen", what)
		return nil
	}
}

// TestCancelledIsPrompt: whose context ends returns, whatever the server does;
// what it may have by then goes to someone who wants it.
func TestCancelledIsPrompt(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		f := freeze(t, 3, elsewhere)
		for i := range 2 { // the turn of the first is coming, and that of the second when the first has gone
			f.cancel[i]()
			if err := within(t, "a cancelled waiter", f.ended[i]); !errors.Is(err, context.Canceled) {
				t.Errorf("waiter %d: %v", i, err)
			}
		}
		f.p.Thaw()
		if elsewhere {
			h, err := f.near.Holder(t.Context())
			must(t, err)
			_, err = f.near.Break(t.Context(), h.Token)
			must(t, err)
		} else {
			must(t, within(t, "the release", f.released))
		}
		must(t, within(t, "the last waiter", f.ended[2])) // it has the lock, for an hour
		f.cancel[2]()
		lease, err := f.far.Holder(t.Context())
		must(t, err)
		_, err = f.near.Break(t.Context(), lease.Token)
		must(t, err)
		must(t, take(t, t.Context(), f.near).Release(t.Context())) // no one is left in the queue
	}
}

// TestClosedIsPrompt: a client that is closed leaves no one waiting for a turn
// that does not come.
func TestClosedIsPrompt(t *testing.T) {
	t.Parallel()
	for _, elsewhere := range []bool{false, true} {
		f := freeze(t, 3, elsewhere)
		closed := make(chan error, 1)
		var wg sync.WaitGroup
		wg.Go(func() { f.c.Close(); closed <- nil })
		for i := range f.ended {
			if err := within(t, "a waiter of a closed client", f.ended[i]); err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("waiter %d: %v", i, err)
			}
		}
		f.p.Thaw()
		if !elsewhere {
			_ = within(t, "the release", f.released) // its reply may have come or not
		}
		must(t, within(t, "close", closed))
		if n := lock.WaitedLocks(f.far); n != 0 {
			t.Errorf("%d rooms are left", n)
		}
		wg.Wait()
	}
}

// TestQuorumLeavesNothing: its context ends with the caller's, and nothing waits
// for it meanwhile (goleak looks at the end of all tests).
func TestQuorumLeavesNothing(t *testing.T) {
	t.Parallel()
	var locks []lock.Lock
	for range 3 {
		locks = append(locks,
			lock.Open(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL(), keywright.Options{}), "lock:q", lock.Options{}))
	}
	q, err := lock.NewQuorum(locks...)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	lease, err := q.Try(ctx)
	must(t, err)
	cancel()
	ended(t, lease.Context(), 20*time.Second)
	if cause := context.Cause(lease.Context()); !errors.Is(cause, context.Canceled) {
		t.Errorf("%v", cause)
	}
	_ = lease.Release(t.Context())
}

// TestCloseDoesNotWait: a client is closed while its waiters ask a server that
// is frozen; they get an error, and nothing is left running.
func TestCloseDoesNotWait(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var underWay atomic.Int64
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Timeout: time.Hour, Hooks: []keywright.Hook{{
		Start: func(ctx context.Context, _ keywright.Call) context.Context { underWay.Add(1); return ctx },
		Done:  func(context.Context, keywright.Call, keywright.Outcome) { underWay.Add(-1) },
	}}})
	must(t, err)
	held := take(t, t.Context(), lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{}))
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := lock.Open(c, "lock:a", lock.Options{}).Acquire(t.Context()); err == nil {
				t.Error("acquired of a frozen server")
			}
		})
	}
	awaitWaiters(t, lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{}), 1)
	s.Stop()
	until(t, "a waiter asks", func() bool { return underWay.Load() > 0 }) // they look again, once a second
	expect.Return(t, "close, and the waiters", func() { c.Close(); wg.Wait() })
	s.Continue()
	_ = held.Release(t.Context())
}
