package lock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// outlast waits until a lease has been renewed for so long, or is lost.
func outlast(lease *lock.Lease, d time.Duration) bool {
	for first := lease.Deadline(); lease.Context().Err() == nil; runtime.Gosched() {
		if lease.Deadline().Sub(first) >= d {
			return true
		}
	}
	return false
}

// fullMemory fills the server while locks are held, alone and together, and while
// some of the same process and of another one wait for them. A lock is then
// renewed, given back and handed on; a new one is refused.
func fullMemory(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	w := s.WatchScripts()
	o := lock.Options{Lease: time.Minute}
	near, far := open(t, s.URL(), keywright.Options{}), open(t, s.URL(), keywright.Options{})
	held := take(t, t.Context(), lock.Open(near, "lock:x", o))
	reader, err := lock.Open(near, "lock:s", o).AcquireShared(t.Context())
	must(t, err)
	var wg sync.WaitGroup
	gave := func(l lock.Lock, given chan<- error, key string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		lease, err := l.Acquire(ctx)
		if err == nil {
			if held := s.Do("GET", key); held != lease.Token() {
				err = fmt.Errorf("%v is held by %v", key, held)
			}
			err = errors.Join(err, lease.Release(ctx))
		}
		given <- err
	}
	given := make(chan error, 3)
	wg.Go(func() { gave(lock.Open(near, "lock:x", o), given, "lock:x") })
	lock.AwaitLine(t, lock.Open(near, "lock:x", o), 1, false)
	wg.Go(func() { gave(lock.Open(far, "lock:s", o), given, "lock:s") })
	awaitWaiters(t, lock.Open(far, "lock:s", o), 1)
	s.Do("CONFIG", "SET", "maxmemory", "1000000")
	if err := errors.Join(held.Renew(t.Context()), reader.Renew(t.Context()), held.Context().Err(),
		reader.Context().Err()); err != nil {
		wrong = append(wrong, fmt.Sprintf("renew: %v", err))
	}
	if _, err := lock.Open(near, "lock:new", o).Try(t.Context()); err == nil ||
		s.Do("EXISTS", "lock:new", "{lock:new}:fence") != int64(0) {
		wrong = append(wrong, fmt.Sprintf("a new lock on a full server: %v", err))
	}
	for _, lease := range []*lock.Lease{held, reader} {
		if err := lease.Release(t.Context()); err != nil {
			wrong = append(wrong, fmt.Sprintf("release: %v", err))
		}
	}
	if len(wrong) > 0 { // without the guard: those that wait are not to wait for long
		s.Do("CONFIG", "SET", "maxmemory", "0")
		s.Do("DEL", "lock:x", "{lock:x}:waiters", "{lock:s}:shared", "{lock:s}:waiters")
	}
	for range 2 {
		if err := <-given; err != nil {
			wrong = append(wrong, fmt.Sprintf("handed on: %v", err))
		}
	}
	wg.Wait()
	if broken := w.Broken(); len(broken) > 0 {
		wrong = append(wrong, broken...)
	}
	return wrong
}

// TestFullMemory: full memory never takes a lock from a holder, nor from one that
// it is handed on to.
func TestFullMemory(t *testing.T) {
	for _, w := range fullMemory(t) {
		t.Error(w)
	}
}
