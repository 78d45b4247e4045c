package lock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
	"go.uber.org/goleak"
)

// What rueidis puts off (see the tests of the root package) ends by itself.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

var (
	must = expect.NoError
	open = servertest.Open
)

func take(t testing.TB, ctx context.Context, l lock.Lock) *lock.Lease {
	t.Helper()
	lease, err := l.Acquire(ctx)
	must(t, err)
	return lease
}

// everywhere runs a test on a server alone and on a cluster: of a brand that is drawn, of both with KEYWRIGHT_SOAK.
func everywhere(t *testing.T, f func(t *testing.T, url string)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			s.WatchScripts() // none writes before it has looked at all its keys
			f(t, s.URL())
		})
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			f(t, keywrighttest.StartCluster(t, brand, 3, 0).URL())
		})
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string) {
		c := open(t, url, keywright.Options{})
		ctx := t.Context()
		var last int64
		for _, mode := range []lock.Mode{lock.Fair, lock.Fast} {
			l := lock.Open(c, "lock:a", lock.Options{Mode: mode, Owner: "agent 7"})
			lease := take(t, ctx, l)
			if lease.Fence() <= last {
				t.Errorf("fence %d behind %d", lease.Fence(), last)
			}
			last = lease.Fence()
			if _, err := l.Try(ctx); !errors.Is(err, lock.ErrHeld) {
				t.Errorf("try while it is held: %v", err)
			}
			h, err := l.Holder(ctx)
			must(t, err)
			if h.Owner != "agent_7" || h.Token != lease.Token() || h.Fence != last || h.Left <= 0 || h.Left > 30*time.Second ||
				h.Since > time.Minute {
				t.Errorf("%+v", h)
			}
			must(t, lease.Renew(ctx))
			must(t, lease.Release(ctx))
			must(t, lease.Release(ctx))
			if lease.Context().Err() == nil {
				t.Error("the context of a released lock lives")
			}
			if err := lease.Renew(ctx); !errors.Is(err, lock.ErrLost) {
				t.Errorf("renewal of a released lock: %v", err)
			}
			second, err := l.Try(ctx)
			must(t, err)
			if second.Fence() <= last {
				t.Errorf("fence %d behind %d", second.Fence(), last)
			}
			last = second.Fence()
			must(t, second.Release(ctx))
		}
	})
}

func TestDoAndReentry(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	l := lock.Open(c, "lock:a", lock.Options{})
	want := errors.New("mine")
	err := l.Do(t.Context(), func(ctx context.Context) error {
		return l.Do(ctx, func(inner context.Context) error {
			if _, err := l.Try(t.Context()); !errors.Is(err, lock.ErrHeld) {
				t.Errorf("somebody else: %v", err)
			}
			lease, err := l.AcquireShared(inner) // who holds it alone may also read
			must(t, err)
			must(t, lease.Release(inner))
			if s.Do("GET", "lock:a") != lease.Token() {
				t.Error("an inner release gave the lock back")
			}
			return want
		})
	})
	if !errors.Is(err, want) || errors.Is(err, lock.ErrLost) {
		t.Errorf("%v", err)
	}
	if n := s.Do("EXISTS", "lock:a"); n != int64(0) {
		t.Errorf("held after Do: %v", n)
	}
	func() {
		defer func() { _ = recover() }()
		_ = l.Do(t.Context(), func(context.Context) error { panic("fn") })
	}()
	if n := s.Do("EXISTS", "lock:a"); n != int64(0) {
		t.Errorf("held after a panic: %v", n)
	}
	shared, err := l.AcquireShared(t.Context())
	must(t, err)
	if _, err := l.Acquire(shared.Context()); err == nil {
		t.Error("a reader became a writer and waits for itself")
	}
	must(t, shared.Release(t.Context()))
}

func TestInvalid(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL(), keywright.Options{})
	bounded := &keywright.Entry{Name: "coupon",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: 3 * time.Second, Min: 3 * time.Second, Max: 3 * time.Second,
			Text: "3s"}}
	for name, l := range map[string]lock.Lock{
		"lease": lock.Open(c, "a", lock.Options{Lease: time.Millisecond}),
		"claim": lock.Open(c, "a", lock.Options{Claim: -1}),
		"entry": lock.New(keywright.Binding{Client: c, Entry: bounded}, lock.KeysOf("a"),
			&lock.Options{Lease: 4 * time.Second}),
		"no key": lock.New(keywright.Binding{Client: c, Entry: bounded, Err: errors.New("couponId: 0 is too small")},
			lock.KeysOf("a"), &lock.Options{}),
	} {
		_, err := l.Acquire(t.Context())
		if class, _ := keywright.ClassOf(err); err == nil || class != keywright.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestShared: readers together, writers alone, a waiting writer before later
// readers.
func TestShared(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string) {
		c, ctx := open(t, url, keywright.Options{}), t.Context()
		l := lock.Open(c, "lock:rw", lock.Options{})
		first, err := l.AcquireShared(ctx)
		must(t, err)
		second, err := l.TryShared(ctx)
		must(t, err)
		if _, err := l.Try(ctx); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("a writer beside readers: %v", err)
		}
		var order []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		note := func(s string) { mu.Lock(); order = append(order, s); mu.Unlock() }
		wg.Go(func() {
			must(t, l.Do(ctx, func(context.Context) error { note("writer"); return nil }))
		})
		awaitWaiters(t, l, 1)
		if _, err := l.TryShared(ctx); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("a reader overtook a writer: %v", err)
		}
		for range 3 {
			wg.Go(func() {
				must(t, l.DoShared(ctx, func(context.Context) error { note("reader"); return nil }))
			})
		}
		lock.AwaitLine(t, l, 4, true)
		must(t, first.Release(ctx))
		must(t, second.Release(ctx))
		wg.Wait()
		if len(order) != 4 || order[0] != "writer" {
			t.Errorf("%v", order)
		}
		if h, err := l.Holder(ctx); err != nil || h.Token != "" || h.Waiting+h.Sharing != 0 {
			t.Errorf("behind all: %+v %v", h, err)
		}
	})
}

func awaitWaiters(t testing.TB, l lock.Lock, n int64) {
	t.Helper()
	expect.Eventually(t, "waiters have a place in the queue", func() bool {
		h, err := l.Holder(t.Context())
		must(t, err)
		return h.Waiting >= n
	})
}

// TestEveryWaiterIsServed: many waiters of several clients, each once. No one is
// forgotten, no one is beside another, tokens grow in the order of holding.
func TestEveryWaiterIsServed(t *testing.T) {
	t.Parallel()
	each := 25
	if gate.All() {
		each = 250
	}
	everywhere(t, func(t *testing.T, url string) {
		for _, mode := range []lock.Mode{lock.Fair, lock.Fast} {
			var inside, served atomic.Int64
			var last atomic.Int64
			var wg sync.WaitGroup
			ctx := t.Context()
			for range 4 {
				l := lock.Open(open(t, url, keywright.Options{}), fmt.Sprint("lock:crowd", mode), lock.Options{Mode: mode})
				for range each {
					wg.Go(func() {
						lease, err := l.Acquire(ctx)
						if err != nil {
							t.Errorf("%v", err)
							return
						}
						if inside.Add(1) != 1 {
							t.Error("two hold the lock")
						}
						if before := last.Swap(lease.Fence()); before >= lease.Fence() {
							t.Errorf("fence %d behind %d", lease.Fence(), before)
						}
						inside.Add(-1)
						served.Add(1)
						if err := lease.Release(ctx); err != nil {
							t.Errorf("%v", err)
						}
					})
				}
			}
			wg.Wait()
			if n := served.Load(); n != int64(4*each) {
				t.Errorf("%d of %d were served", n, 4*each)
			}
		}
	})
}

// TestTokensAreWhole (bug L6): a token that begins another one is not that one.
func TestTokensAreWhole(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	l := lock.Open(c, "lock:a", lock.Options{Owner: "job"})
	lease := take(t, t.Context(), l)
	for _, token := range []string{"job", "job/", lease.Token()[:len(lease.Token())-1], lease.Token() + "0", ""} {
		if broken, err := l.Break(t.Context(), token); broken || err != nil {
			t.Errorf("%q took the lock of %q: %v", token, lease.Token(), err)
		}
	}
	if s.Do("GET", "lock:a") != lease.Token() {
		t.Error("the lock is gone")
	}
	must(t, lease.Release(t.Context()))
}

// TestThousandsLeaveNothing (bug L9): locks leave no goroutine, no channel, no
// key but their fences, which expire.
func TestThousandsLeaveNothing(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	// of more than one the second is made when a call happens to take it
	c := open(t, s.URL(), keywright.Options{Connections: -1})
	var wg sync.WaitGroup
	lease := take(t, t.Context(), lock.Open(c, "lock:warm", lock.Options{}))
	must(t, lease.Release(t.Context()))
	before, connections := runtime.NumGoroutine(), s.Info("connected_clients")
	each := 100
	if gate.All() {
		each = 1000
	}
	for i := range 10 {
		for j := range each {
			wg.Go(func() {
				l := lock.Open(c, fmt.Sprint("lock:", i, ":", j), lock.Options{})
				lease, err := l.Acquire(t.Context())
				if err == nil {
					err = lease.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	// What renewed a lease ends soon after its release, and not before.
	expect.Eventually(t, "the goroutines of leases have ended", func() bool { return runtime.NumGoroutine() <= before+5 })
	if channels := s.Do("PUBSUB", "CHANNELS"); fmt.Sprint(channels) != "[]" {
		t.Errorf("channels: %v", channels)
	}
	if now := s.Info("connected_clients"); now != connections {
		t.Errorf("%s connections, %s before", now, connections)
	}
	keys := s.Do("SCAN", "0", "COUNT", "20000").([]any)[1].([]any)
	for _, k := range keys {
		if !strings.HasSuffix(k.(string), ":fence") || s.Do("PTTL", k.(string)).(int64) < 0 {
			t.Fatalf("%v is left", k)
		}
	}
}
