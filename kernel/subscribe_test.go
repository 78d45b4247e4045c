package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
)

// countingListener counts what a listener receives.
type countingListener struct {
	mu           sync.Mutex
	heard        []string
	gaps, losses int
	changed      chan struct{}
}

func newEar() *countingListener { return &countingListener{changed: make(chan struct{}, 1)} }

func (e *countingListener) note(f func()) {
	e.mu.Lock()
	f()
	e.mu.Unlock()
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

func (e *countingListener) listener() keywright.Listener {
	return keywright.Listener{
		Message: func(text string) { e.note(func() { e.heard = append(e.heard, text) }) },
		Gap:     func() { e.note(func() { e.gaps++ }) },
		Lost:    func(error) { e.note(func() { e.losses++ }) },
	}
}

// await waits until what it has received is as it should be.
func (e *countingListener) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	expect.Eventually(t, what, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return ok()
	})
}

// TestAForbiddenChannelFailsAlone: who asks for a channel that the login may not
// subscribe to is refused at once, and the others on the connection notice nothing.
func TestAForbiddenChannelFailsAlone(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "resetchannels", "&open:*")
		c := open(t, "redis://u:p@"+s.Addr(), keywright.Options{})
		allowed := newEar()
		stop, err := c.Subscribe(t.Context(), "open:1", allowed.listener())
		must(t, err)
		defer stop()
		said := 0
		say := func() {
			said++
			if n := s.Do("PUBLISH", "open:1", fmt.Sprint(said)); n != int64(1) {
				t.Errorf("a message to an allowed channel has %v listeners", n)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		refused := make(chan error)
		for i, subscribe := range []func(context.Context, string, keywright.Listener) (func(), error){c.Subscribe,
			c.SubscribePattern, c.Subscribe} {
			go func() {
				_, err := subscribe(ctx, []string{"secret:1", "secret:*", "secret:1"}[i], newEar().listener())
				refused <- err
			}()
		}
		for range 3 {
			err := <-refused
			class(t, err, keywright.Refused)
			if err == nil || !strings.Contains(err.Error(), "NOPERM") || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a forbidden channel: %v", err)
			}
			say()
		}
		other := newEar()
		stop, err = c.Subscribe(ctx, "open:2", other.listener())
		must(t, err)
		defer stop()
		say()
		s.Do("PUBLISH", "open:2", "x")
		other.await(t, "a channel that was asked for afterwards", func() bool { return len(other.heard) == 1 })
		allowed.await(t, "all messages", func() bool { return len(allowed.heard) == said })
		if allowed.gaps != 0 {
			t.Errorf("%d gaps: the connection was made again", allowed.gaps)
		}
	})
}

// TestAChannelIsTakenAway: a listener whose permission is taken away is notified, goes
// on when it is given back, and the others have one gap, since the server ends the
// connection.
func TestAChannelIsTakenAway(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	s.Do("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "resetchannels", "&a", "&b")
	var refused atomic.Int64
	c := open(t, "redis://u:p@"+s.Addr(),
		keywright.Options{Hooks: []keywright.Hook{{Notice: func(_ context.Context, n keywright.Notice) {
			if n.Kind == notice.ChannelRefused && n.Err != nil {
				refused.Add(1)
			}
		}}}})
	a, b := newEar(), newEar()
	for name, e := range map[string]*countingListener{"a": a, "b": b} {
		stop, err := c.Subscribe(t.Context(), name, e.listener())
		must(t, err)
		defer stop()
	}
	s.Do("ACL", "SETUSER", "u", "resetchannels", "&a")
	b.await(t, "the loss", func() bool { return b.losses == 1 })
	a.await(t, "the gap", func() bool { return a.gaps == 1 })
	if _, err := c.Subscribe(t.Context(), "b", newEar().listener()); err == nil {
		t.Error("a second listener of a channel that was taken away was let on")
	}
	s.Do("PUBLISH", "a", "x")
	a.await(t, "a message", func() bool { return len(a.heard) == 1 })
	s.Do("ACL", "SETUSER", "u", "&b")
	b.await(t, "the gap after the loss", func() bool { return b.gaps == 1 })
	s.Do("PUBLISH", "b", "x")
	b.await(t, "a message", func() bool { return len(b.heard) == 1 })
	if n := refused.Load(); n != 1 {
		t.Errorf("%d notices of a channel that was taken away", n)
	}
	if a.gaps != 1 || a.losses != 0 || b.losses != 1 {
		t.Errorf("a: %d gaps, %d losses; b: %d losses", a.gaps, a.losses, b.losses)
	}
}

// TestNoSubscriptionAfterClose: of a channel that was still listened to, neither.
func TestNoSubscriptionAfterClose(t *testing.T) {
	t.Parallel()
	url := keywrighttest.Start(t, keywrighttest.Redis).URL()
	for range 20 {
		c := open(t, url, keywright.Options{})
		_, err := c.Subscribe(t.Context(), "news", keywright.Listener{})
		must(t, err)
		c.Close()
		if _, err := c.Subscribe(t.Context(), "news", keywright.Listener{}); !errors.Is(err, keywright.ErrClosed) {
			t.Fatal(err)
		}
	}
}
