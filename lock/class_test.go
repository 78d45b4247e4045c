package lock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// taking lists the calls that take a lock.
var taking = map[string]func(ctx context.Context, l lock.Lock) error{
	"Try":           func(ctx context.Context, l lock.Lock) error { _, err := l.Try(ctx); return err },
	"TryShared":     func(ctx context.Context, l lock.Lock) error { _, err := l.TryShared(ctx); return err },
	"Acquire":       func(ctx context.Context, l lock.Lock) error { _, err := l.Acquire(ctx); return err },
	"AcquireShared": func(ctx context.Context, l lock.Lock) error { _, err := l.AcquireShared(ctx); return err },
	"Do":            func(ctx context.Context, l lock.Lock) error { return l.Do(ctx, nothing) },
	"DoShared":      func(ctx context.Context, l lock.Lock) error { return l.DoShared(ctx, nothing) },
}

func nothing(context.Context) error { return nil }

// left fails unless err says that the context ended, with the class.
func left(t *testing.T, name string, err error, class keywright.Class) *keywright.Error {
	t.Helper()
	e, ok := errors.AsType[*keywright.Error](err)
	if !ok || e.Class != class || !errors.Is(err, context.Canceled) {
		t.Errorf("%s: %v, want class %v", name, err, class)
		return &keywright.Error{}
	}
	return e
}

// TestAContextThatHasEnded: nothing is sent, and the error says so. Its hint names no reason.
func TestAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	before := scriptCalls(t, s)
	for name, call := range taking {
		l := lock.Open(c, "lock:"+name, lock.Options{})
		if e := left(t, name, call(ended, l), keywright.NotApplied); e.Hint != "" {
			t.Errorf("%s: a hint of a context that had ended: %s", name, e.Hint)
		}
	}
	q := quorum(t, []*keywright.Client{c, c, c})
	_, err := q.Try(ended)
	left(t, "Quorum.Try", err, keywright.NotApplied)
	_, err = q.Acquire(ended)
	left(t, "Quorum.Acquire", err, keywright.NotApplied)
	if n := scriptCalls(t, s) - before; n != 0 {
		t.Errorf("%d calls were sent", n)
	}
}

// TestAContextThatEndsAfterSending: the call may take the lock, and the error says so. What it takes is given back.
func TestAContextThatEndsAfterSending(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		c := open(t, s.URL(), keywright.Options{})
		for name, call := range taking {
			l := lock.Open(c, "lock:"+name, lock.Options{})
			s.Do("CLIENT", "PAUSE", "600000", "WRITE")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- call(ctx, l) }()
			until(t, "the server has the call of "+name, func() bool { return s.Info("blocked_clients") == "1" })
			cancel()
			left(t, name, within(t, name, done), keywright.UnknownOutcome)
			s.Do("CLIENT", "UNPAUSE")
			until(t, "what "+name+" took is given back", func() bool {
				h, err := l.Holder(t.Context())
				must(t, err)
				return h.Token == "" && h.Sharing == 0 && h.Waiting == 0
			})
		}
	}
}
