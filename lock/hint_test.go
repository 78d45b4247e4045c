package lock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// hint returns that of the error of a caller that waits no longer.
func hint(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*keywright.Error](err)
	if !ok || e.Class != keywright.NotApplied && e.Class != keywright.UnknownOutcome ||
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	return e.Hint
}

// awaitNoWaiters returns when no waiter has a place in the server's queue.
func awaitNoWaiters(t *testing.T, l lock.Lock) {
	t.Helper()
	until(t, "no waiter has a place in the queue", func() bool {
		h, err := l.Holder(t.Context())
		must(t, err)
		return h.Waiting == 0
	})
}

// TestHints: the error of a lock that was not got says what is known of the reason,
// and nothing else: a server that is silent is no other holder.
func TestHints(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	near := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Hour})
	far := lock.Open(open(t, "redis://"+p.Addr(), keywright.Options{Timeout: 30 * time.Second}), "lock:a",
		lock.Options{Lease: time.Hour})
	lease := take(t, t.Context(), near)
	acquire := func(l lock.Lock, waiting func()) string {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := l.Acquire(ctx); ended <- err }()
		waiting()
		cancel()
		return hint(t, within(t, "a waiter", ended))
	}
	if got := acquire(far, func() { awaitWaiters(t, near, 1) }); !strings.Contains(got, "another holder") {
		t.Errorf("a lock that another holder has: %q", got)
	}
	awaitNoWaiters(t, near) // the one that gave up has left
	first, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := far.Acquire(first); ended <- err }()
	awaitWaiters(t, near, 1)
	if got := acquire(far, func() { lock.AwaitLine(t, far, 2, true) }); !strings.Contains(got, "of this process") {
		t.Errorf("a lock for which another caller of the process waits: %q", got)
	}
	end()
	within(t, "the first waiter", ended)
	must(t, lease.Release(t.Context()))
	awaitNoWaiters(t, near)
	p.Freeze()
	defer p.Thaw()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := far.Acquire(ctx)
	if got := hint(t, err); !strings.Contains(got, "did not answer") {
		t.Errorf("a server that is silent: %q", got)
	}
	if class, _ := keywright.ClassOf(err); class != keywright.UnknownOutcome {
		t.Errorf("a call that was sent: %v", err)
	}
}

// answers counts what a client has asked of servers, and how it was answered.
type answers struct{ asked, given, failed atomic.Int64 }

func (a *answers) options() keywright.Options {
	return keywright.Options{Attempts: 1, Hooks: []keywright.Hook{{
		Start: func(ctx context.Context, _ keywright.Call) context.Context { a.asked.Add(1); return ctx },
		Done: func(_ context.Context, _ keywright.Call, o keywright.Outcome) {
			if o.Err != nil {
				a.failed.Add(1)
			} else {
				a.given.Add(1)
			}
		},
	}}}
}

// TestHintsOfAQuorum: the same of a lock on several servers. What they have answered counts, also when the caller
// leaves while they are asked again.
func TestHintsOfAQuorum(t *testing.T) {
	t.Parallel()
	var servers []*keywrighttest.Server
	var near, far []*keywright.Client
	var a answers
	for range 3 {
		s := keywrighttest.Start(t, keywrighttest.Redis)
		servers = append(servers, s)
		near, far = append(near, open(t, s.URL(), keywright.Options{})), append(far, open(t, s.URL(), a.options()))
	}
	mine, theirs := quorum(t, near), quorum(t, far)
	lease, err := mine.Acquire(t.Context())
	must(t, err)
	tried := func(until func()) string {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := theirs.Acquire(ctx); ended <- err }()
		until()
		cancel()
		return hint(t, within(t, "a caller that has left", ended))
	}
	if got := tried(func() {
		until(t, "all have answered both calls", func() bool { return a.given.Load() >= 6 })
		for _, s := range servers {
			s.Stop()
			t.Cleanup(s.Continue)
		}
		until(t, "they are asked again", func() bool { return a.asked.Load() > a.given.Load()+a.failed.Load() })
	}); !strings.Contains(got, "another holder") {
		t.Errorf("a lock that another holder has: %q", got)
	}
	for _, s := range servers {
		s.Continue()
	}
	must(t, lease.Release(t.Context()))
	servers[0].Kill()
	servers[1].Kill()
	before := a.failed.Load()
	if got := tried(func() {
		until(t, "two do not answer", func() bool { return a.failed.Load() >= before+4 }) // twice
	}); !strings.Contains(got, "answered") {
		t.Errorf("servers that are away: %q", got)
	}
}

func quorum(t *testing.T, clients []*keywright.Client) lock.Quorum {
	var locks []lock.Lock
	for _, c := range clients {
		locks = append(locks, lock.Open(c, "lock:a", lock.Options{Lease: time.Hour}))
	}
	q, err := lock.NewQuorum(locks...)
	must(t, err)
	return q
}

// TestForbiddenChannel: a user that may not subscribe to a lock's channel gets an error when it
// would have to wait, by the name of what is missing; one of whom that is taken away
// while it waits still gets the lock, by asking.
func TestForbiddenChannel(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	s.Do("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "resetchannels")
	near := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Hour})
	far := lock.Open(open(t, "redis://u:p@"+s.Addr(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Hour})
	must(t, take(t, t.Context(), far).Release(t.Context())) // a free one needs no channel
	lease := take(t, t.Context(), near)
	_, err := far.Acquire(t.Context())
	if class, _ := keywright.ClassOf(err); class != keywright.Refused || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("%v", err)
	}
	awaitNoWaiters(t, near)
	s.Do("ACL", "SETUSER", "u", "allchannels")
	got := make(chan error, 1)
	go func() {
		l, err := far.Acquire(t.Context())
		if err == nil {
			err = l.Release(t.Context())
		}
		got <- err
	}()
	awaitWaiters(t, near, 1)
	s.Do("ACL", "SETUSER", "u", "resetchannels")
	must(t, lease.Release(t.Context()))
	must(t, within(t, "a waiter without its channel", got))
}

// TestQuorumOfClosedClients: a lock of several servers is not tried for any more.
func TestQuorumOfClosedClients(t *testing.T) {
	t.Parallel()
	var clients []*keywright.Client
	for range 3 {
		clients = append(clients, open(t, keywrighttest.Start(t, keywrighttest.Redis).URL(), keywright.Options{}))
	}
	q := quorum(t, clients)
	for _, c := range clients {
		c.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := q.Acquire(ctx); !errors.Is(err, keywright.ErrClosed) || ctx.Err() != nil {
		t.Errorf("%v", err)
	}
}
