package lock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// TestHandOver: a lease moves from one process to another with its fencing token, and no
// other holder gets it in between.
func TestHandOver(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string) {
		ctx := t.Context()
		o := lock.Options{Lease: time.Minute, Owner: "agent-7"}
		here, there := lock.Open(open(t, url, keywright.Options{}), "lock:a", o),
			lock.Open(open(t, url, keywright.Options{}), "lock:a", o)
		lease := take(t, ctx, here)
		token, err := lease.Detach()
		must(t, err)
		if token != lease.Token() || lease.Context().Err() == nil {
			t.Errorf("after it was detached: %q, %v", token, lease.Context().Err())
		}
		must(t, lease.Release(ctx)) // does nothing
		if _, err := here.Try(ctx); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("a detached lock is taken by another one: %v", err)
		}
		if _, err := lease.Detach(); !errors.Is(err, lock.ErrLost) {
			t.Errorf("detached twice: %v", err)
		}
		again, err := there.Resume(ctx, token)
		must(t, err)
		if again.Fence() != lease.Fence() || again.Token() != token || time.Until(again.Deadline()) < 30*time.Second {
			t.Errorf("fence %d, was %d; it lasts for %v", again.Fence(), lease.Fence(), time.Until(again.Deadline()))
		}
		must(t, again.Release(ctx))
		next := take(t, ctx, here)
		for _, token := range []string{token, "", strings.ToLower(next.Token())} {
			if _, err := there.Resume(ctx, token); !errors.Is(err, lock.ErrLost) {
				t.Errorf("resumed by %q: %v", token, err)
			}
		}
		must(t, next.Release(ctx))
	})
}

// TestDetachServesOthers: callers of the process that waited for a lease which is
// detached wait on, and are served when the process that resumed it has released it.
func TestDetachServesOthers(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	o := lock.Options{Lease: time.Minute}
	here, there := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", o),
		lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", o)
	lease, err := here.Acquire(t.Context())
	must(t, err)
	outer, err := here.Acquire(lease.Context()) // the same lease, further down
	must(t, err)
	served := make(chan error, 1)
	go func() {
		next, err := here.Acquire(t.Context())
		if err == nil {
			err = next.Release(t.Context())
		}
		served <- err
	}()
	lock.AwaitLine(t, here, 1, false)
	token, err := outer.Detach()
	must(t, err)
	must(t, outer.Release(t.Context()))
	must(t, lease.Release(t.Context()))
	again, err := there.Resume(t.Context(), token)
	must(t, err)
	must(t, again.Release(t.Context()))
	must(t, <-served)
}

// TestDetachNeedsALease: what is held with others, or is over, is not detached.
func TestDetachNeedsALease(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{NoCache: true})
	shared, err := lock.Open(c, "lock:b", lock.Options{Lease: time.Minute}).TryShared(t.Context())
	must(t, err)
	if _, err := shared.Detach(); err == nil {
		t.Error("a lease held with others is detached")
	}
	must(t, shared.Release(t.Context()))
	l := lock.Open(c, "lock:a", lock.Options{Lease: 20 * time.Millisecond, NoRenewal: true})
	var lease *lock.Lease
	until(t, "a reply is faster than the lease", func() bool {
		lease, err = l.Try(t.Context())
		return err == nil
	})
	<-lease.Context().Done()
	if _, err := lease.Detach(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("a lease that is over is detached: %v", err)
	}
	s.Do("DEL", "lock:a")
	if _, err := l.Resume(t.Context(), lease.Token()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("a lease that is gone is resumed: %v", err)
	}
}

// TestALeaseThatIsOverAtOnce: a lock that was given and is over when the reply comes is not said to be another's.
func TestALeaseThatIsOverAtOnce(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: 50 * time.Millisecond})
	c := open(t, "redis://"+p.Addr(), keywright.Options{NoCache: true})
	_, err := lock.Open(c, "lock:a", lock.Options{Lease: 20 * time.Millisecond, NoRenewal: true}).Try(t.Context())
	if !errors.Is(err, lock.ErrHeld) ||
		!strings.Contains(err.Error(), "the lease of 20ms was over before the reply came") {
		t.Error(err)
	}
}
