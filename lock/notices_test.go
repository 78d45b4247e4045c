package lock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// receivedNotices describes what hooks and the log have received.
type receivedNotices struct {
	mu   sync.Mutex
	all  []keywright.Notice
	text bytes.Buffer
}

func (h *receivedNotices) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *receivedNotices) kinds() (out string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.all {
		out += string(n.Kind) + " "
	}
	return out
}

func (h *receivedNotices) options() keywright.Options {
	note := func(_ context.Context, n keywright.Notice) {
		if !strings.HasPrefix(string(n.Kind), "lock_") {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all = append(h.all, n)
	}
	return keywright.Options{Hooks: []keywright.Hook{{Notice: note}}, Logger: slog.New(slog.NewTextHandler(h, nil))}
}

// TestNotices: a lock that is taken, given back or lost is one notice; only the
// loss is a line of the log.
func TestNotices(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	h := &receivedNotices{}
	l := lock.Open(open(t, s.URL(), h.options()), "lock:secret", lock.Options{})
	other := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:secret", lock.Options{})
	held := take(t, t.Context(), other)
	var wg sync.WaitGroup
	wg.Go(func() {
		lease := take(t, context.WithoutCancel(t.Context()), l)
		inner, err := l.Acquire(lease.Context()) // once more is no other lock
		must(t, err)
		must(t, inner.Release(t.Context()))
		must(t, lease.Release(t.Context()))
	})
	awaitWaiters(t, other, 1)
	must(t, held.Release(t.Context()))
	wg.Wait()
	if got := h.kinds(); got != "lock_acquired lock_released " || h.all[0].Elapsed <= 0 || h.all[1].Elapsed <= 0 ||
		h.all[0].Entry != "lock" {
		t.Fatalf("%s%+v", got, h.all)
	}
	lease := take(t, t.Context(), l)
	broken, err := other.Break(t.Context(), lease.Token())
	must(t, err)
	if err := lease.Renew(t.Context()); !broken || !errors.Is(err, lock.ErrLost) {
		t.Errorf("%t %v", broken, err)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Error(err)
	}
	gone := take(t, t.Context(), l)
	s.Do("DEL", "lock:secret")
	if err := gone.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Error(err)
	}
	until(t, "the losses are told", func() bool {
		return strings.HasPrefix(h.kinds(), "lock_acquired lock_released lock_acquired lock_lost lock_acquired lock_lost")
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.all[len(h.all)-1]; len(h.all) != 6 || last.Elapsed <= 0 || !errors.Is(last.Err, lock.ErrLost) {
		t.Errorf("%+v", h.all)
	}
	if text := h.text.String(); strings.Count(text, "a lock was lost") != 2 || strings.Count(text, "\n") != 2 ||
		strings.Contains(text, "secret") {
		t.Errorf("%s", text)
	}
}

// TestReleaseKeepsItsContext: Release, Do and Close return when their context
// ends, or soon, while the server says nothing; the lock is given back when it
// goes on.
func TestReleaseKeepsItsContext(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]lock.Options{"short": {Lease: time.Hour},
		"whole": {Lease: time.Hour, Announce: true}} {
		t.Run(name, func(t *testing.T) {
			s := keywrighttest.Start(t, keywrighttest.Redis)
			// What does not end with its context waits for an hour.
			c := open(t, s.URL(), keywright.Options{Timeout: time.Hour, NoCache: true})
			l := lock.Open(c, "lock:a", o)
			lease := take(t, t.Context(), l)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			s.Stop()
			var err error
			expect.Return(t, "Release returns", func() { err = lease.Release(ctx) })
			s.Continue()
			if err == nil {
				t.Error("Release without an answer gave no error")
			}
			until(t, "the lock is given back", func() bool { return s.Do("EXISTS", "lock:a") == int64(0) })
			work, end := context.WithCancel(t.Context())
			defer end()
			expect.Return(t, "Do returns", func() {
				err = l.Do(work, func(context.Context) error { s.Stop(); end(); return nil })
			})
			s.Continue()
			if err == nil {
				t.Error("Do without an answer gave no error")
			}
			until(t, "the lock is given back", func() bool { return s.Do("EXISTS", "lock:a") == int64(0) })
			work, end = context.WithCancel(t.Context())
			defer end()
			if err := l.Do(work, func(context.Context) error { end(); return nil }); err != nil &&
				!errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			until(t, "the lock is given back", func() bool { return s.Do("EXISTS", "lock:a") == int64(0) })
		})
	}
}
