package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// TestCloseWakesWaiters: one that waits in the server's queue returns when its client is closed, and not when it would
// look at the server again.
func TestCloseWakesWaiters(t *testing.T) {
	lock.NeverPoll(t)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	holder := open(t, s.URL(), keywright.Options{})
	for name, acquire := range map[string]func(lock.Lock) (*lock.Lease, error){
		"lock:a": func(l lock.Lock) (*lock.Lease, error) { return l.Acquire(t.Context()) },
		"lock:b": func(l lock.Lock) (*lock.Lease, error) { return l.AcquireShared(t.Context()) },
	} {
		held := take(t, t.Context(), lock.Open(holder, name, lock.Options{Lease: time.Hour}))
		var answers atomic.Int64
		c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Hooks: []keywright.Hook{{
			Done: func(_ context.Context, call keywright.Call, _ keywright.Outcome) {
				if call.Op == "acquire" {
					answers.Add(1)
				}
			}}}})
		must(t, err)
		ended := make(chan error, 1)
		go func() { _, err := acquire(lock.Open(c, name, lock.Options{})); ended <- err }()
		until(t, "the waiter has its place, and an answer that says so", func() bool {
			return answers.Load() > 0 && s.Do("ZCARD", "{"+name+"}:waiters") == int64(1)
		})
		c.Close()
		expect.Return(t, "the waiter", func() {
			err := <-ended
			// The answer that was counted may not have reached the waiter yet: then it does not know what it says.
			if class, _ := keywright.ClassOf(err); class != keywright.NotApplied && class != keywright.UnknownOutcome ||
				!errors.Is(err, keywright.ErrClosed) {
				t.Errorf("%v", err)
			}
		})
		must(t, held.Release(t.Context()))
	}
}
