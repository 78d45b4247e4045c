package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// far returns a client whose replies take so long. It has one connection: a second one is
// made when a call happens to take it, which costs that call a login more.
func far(t *testing.T, s *keywrighttest.Server, delay time.Duration) *keywright.Client {
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: delay})
	return open(t, "redis://"+p.Addr(), keywright.Options{NoCache: true, Connections: -1})
}

// scaled runs ok with a unit of time that doubles until it holds: a machine that is
// too busy for a short lease is slow enough for a long one. What is wrong by its
// design holds at no scale.
func scaled(t *testing.T, what string, unit time.Duration, ok func(unit time.Duration) bool) {
	t.Helper()
	for end := unit * 32; unit <= end; unit *= 2 {
		if ok(unit) {
			return
		}
		t.Logf("%s: not with a unit of %v", what, unit)
	}
	t.Errorf("%s: at no scale", what)
}

// TestSlowReplies: a holder whose replies take more than a third of the lease keeps it.
func TestSlowReplies(t *testing.T) {
	gate.Skip(t, "measures how long a lease is kept")
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for name, acquire := range map[string]func(lock.Lock) (*lock.Lease, error){
		"alone":    func(l lock.Lock) (*lock.Lease, error) { return l.Acquire(t.Context()) },
		"together": func(l lock.Lock) (*lock.Lease, error) { return l.AcquireShared(t.Context()) },
	} {
		known, err := acquire(lock.Open(open(t, s.URL(), keywright.Options{}), name, lock.Options{}))
		must(t, err)
		// a script that the server does not know takes a round trip more
		must(t, errors.Join(known.Renew(t.Context()), known.Release(t.Context())))
		scaled(t, name+": the lease is kept", 150*time.Millisecond, func(unit time.Duration) bool {
			l := lock.Open(far(t, s, unit), name, lock.Options{Lease: unit * 14 / 5})
			lease, err := acquire(l)
			must(t, err)
			kept := outlast(lease, 5*unit)
			_ = lease.Release(t.Context())
			return kept
		})
	}
}

// TestSlowHandOver: two whose replies take longer than most of a claim hand a lock
// to each other, and each of them keeps it.
func TestSlowHandOver(t *testing.T) {
	gate.Skip(t, "measures how long a lease is kept")
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	scaled(t, "both keep it", 150*time.Millisecond, func(unit time.Duration) bool {
		var wg sync.WaitGroup
		var kept atomic.Int64
		name := fmt.Sprint("lock:", unit)
		for range 2 {
			l := lock.Open(far(t, s, unit), name, lock.Options{Lease: 8 * unit, Claim: unit * 10 / 7})
			wg.Go(func() {
				for range 4 {
					lease, err := l.Acquire(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					mine := outlast(lease, time.Millisecond)
					_ = lease.Release(t.Context())
					if mine {
						kept.Add(1)
						return
					}
				}
			})
		}
		wg.Wait()
		return kept.Load() == 2
	})
}

// TestTwoDatabases: locks of one name in two databases share a channel and
// nothing else.
func TestTwoDatabases(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var inside [2]atomic.Int64
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 4 {
		db := i % 2
		l := lock.Open(open(t, fmt.Sprint(s.URL(), "/", db), keywright.Options{}), "lock:a", lock.Options{Announce: true})
		for n := range 60 {
			wg.Go(func() {
				mine, end := context.WithCancel(ctx)
				defer end()
				if n%5 == 4 {
					wg.Go(end)
				}
				lease, err := l.Acquire(mine)
				if err != nil {
					if mine.Err() == nil {
						t.Error(err)
					}
					return
				}
				if inside[db].Add(1) != 1 {
					t.Error("two hold the lock of one database")
				}
				inside[db].Add(-1)
				if err := lease.Release(ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	first := take(t, t.Context(), lock.Open(open(t, s.URL()+"/0", keywright.Options{}), "lock:a", lock.Options{}))
	second := take(t, t.Context(), lock.Open(open(t, s.URL()+"/1", keywright.Options{}), "lock:a", lock.Options{}))
	must(t, errors.Join(first.Release(t.Context()), second.Release(t.Context())))
}

// TestStrayMessages: what anybody says on the channel gives no lock to a waiter
// whose token it does not have, and takes none away.
func TestStrayMessages(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	a, b := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{}),
		lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{})
	held := take(t, t.Context(), a)
	got := make(chan *lock.Lease, 1)
	go func() { got <- take(t, context.WithoutCancel(t.Context()), b) }()
	awaitWaiters(t, a, 1)
	before := scriptCalls(t, s)
	until(t, "the waiter listens", func() bool { return scriptCalls(t, s) > before })
	for _, text := range []string{"", "granted", "free", "released", "granted x 1 2 3",
		fmt.Sprintf("granted %s 1 2 3", held.Token()), "granted  1 99999999999999999 9999999", "\x00\xff"} {
		s.Do("PUBLISH", "{lock:a}:released", text)
	}
	if len(got) > 0 || held.Context().Err() != nil {
		t.Error("a message of a stranger moved the lock")
	}
	must(t, held.Release(t.Context()))
	must(t, (<-got).Release(t.Context()))
}

// TestMovingSlot: a holder keeps its lease while its slot moves, and everybody is
// served meanwhile and afterwards.
func TestMovingSlot(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	const first = "lock:{t10790}" // slot 0, which moves first
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	var inside, served atomic.Int64
	held, err := lock.Open(open(t, c.URL(), keywright.Options{}), "held:{t10790}", lock.Options{Lease: 2 * time.Second}).
		Acquire(ctx)
	must(t, err)
	working, stop := context.WithCancel(ctx)
	defer stop()
	for range 3 {
		l := lock.Open(open(t, c.URL(), keywright.Options{Timeout: 2 * time.Second}), first,
			lock.Options{Lease: 2 * time.Second, Claim: 500 * time.Millisecond})
		for range 4 {
			wg.Go(func() {
				for working.Err() == nil {
					lease, err := l.Acquire(working)
					if err != nil {
						continue
					}
					if inside.Add(1) != 1 {
						t.Error("two hold the lock")
					}
					inside.Add(-1)
					served.Add(1)
					_ = lease.Release(ctx)
				}
			})
		}
	}
	goOn := func() {
		now := served.Load()
		until(t, "somebody is served", func() bool { return served.Load() > now+20 })
	}
	goOn()
	c.MoveSlots(0, 1, 1)
	goOn()
	if !outlast(held, 2*time.Second) {
		t.Errorf("lost while the slot moved: %v", context.Cause(held.Context()))
	}
	stop()
	wg.Wait()
	must(t, held.Release(ctx))
}
