package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// ended waits until a context ends, and fails if it does not before limit.
func ended(t *testing.T, ctx context.Context, limit time.Duration) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(limit):
		t.Fatalf("the context lives after %v", limit)
	}
}

// TestCutOffHolder (bug L1): a holder that nothing reaches any more stops before
// the next one begins.
func TestCutOffHolder(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
			o := lock.Options{Lease: time.Second}
			near := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", o)
			far := lock.Open(open(t, "redis://"+p.Addr(), keywright.Options{}), "lock:a", o)
			for range 3 {
				lease := take(t, t.Context(), far)
				p.Freeze()
				next := take(t, t.Context(), near)
				if err := lease.Context().Err(); err == nil {
					t.Error("the next one has begun, and the first one has not stopped")
				}
				if <-lease.Context().Done(); !errors.Is(context.Cause(lease.Context()), lock.ErrLost) {
					t.Errorf("the first one stopped because of %v", context.Cause(lease.Context()))
				}
				if next.Fence() <= lease.Fence() {
					t.Errorf("fences %d, %d", lease.Fence(), next.Fence())
				}
				p.Thaw()
				if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
					t.Errorf("release of a lost lock: %v", err)
				}
				must(t, next.Release(t.Context()))
			}
		})
	}
}

// TestErrLooksAtTheClock: also without any timer having fired, a context is over
// at its deadline.
func TestErrLooksAtTheClock(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL(), keywright.Options{})
	l := lock.Open(c, "lock:a", lock.Options{Lease: 20 * time.Millisecond, NoRenewal: true})
	for range 50 {
		lease := take(t, t.Context(), l)
		for time.Now().Before(lease.Deadline()) {
		}
		if lease.Context().Err() == nil || !errors.Is(context.Cause(lease.Context()), lock.ErrLost) {
			t.Fatal("alive past its deadline")
		}
	}
}

// TestSlowNetwork (bug L2): what a round trip takes has nothing to do with
// whether a free lock can be taken.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for _, delay := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond} {
		p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: delay})
		l := lock.Open(open(t, "redis://"+p.Addr(), keywright.Options{}), fmt.Sprint("lock:", delay),
			lock.Options{Lease: 3 * time.Second})
		for range 3 {
			lease, err := l.Try(t.Context())
			must(t, err)
			must(t, lease.Release(t.Context()))
		}
	}
}

// TestServerRestarts (bug L3): the server is killed and comes back empty while
// many wait: all are served, and no two at a time by the tokens they pass on.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var wg sync.WaitGroup
			var mu sync.Mutex
			served, killed := 0, make(chan struct{})
			for range 4 {
				l := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Second})
				for range 50 {
					wg.Go(func() {
						lease, err := l.Acquire(ctx)
						if err != nil {
							t.Errorf("%v", err)
							return
						}
						mu.Lock()
						served++
						if served == 20 {
							close(killed)
						}
						mu.Unlock()
						_ = lease.Release(ctx) // it may have gone with the server
					})
				}
			}
			<-killed
			s.Kill()
			s.Restart()
			wg.Wait()
			if served != 200 {
				t.Errorf("%d of 200 were served", served)
			}
		})
	}
}

// TestDeadHolder (bug L4): the next one comes when the lease is over, also if
// the server never expires a key by itself.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("enable-debug-command", "yes"))
	s.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	l := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: 300 * time.Millisecond})
	began := time.Now()
	s.Do("SET", "lock:a", "the token of a dead one", "PX", "300")
	lease := take(t, t.Context(), l)
	t.Logf("taken %v after the lease of 300ms began", time.Since(began))
	if time.Since(began) < 290*time.Millisecond {
		t.Error("taken before the lease was over")
	}
	must(t, lease.Release(t.Context()))
}

// TestDeadWaiter: a waiter that was handed the lock and is dead costs a claim,
// not a lease.
func TestDeadWaiter(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	l := lock.Open(c, "lock:a", lock.Options{Lease: time.Hour, Claim: 200 * time.Millisecond})
	lease := take(t, t.Context(), l)
	s.Do("ZADD", "{lock:a}:waiters", "1", "x200 dead/1", "2", "s200 dead/2", "3", "x200 dead/3")
	must(t, lease.Release(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	must(t, take(t, ctx, l).Release(ctx))
}

// TestKeyIsDeleted (bugs L5, L7): the holder learns at once, long before its
// lease is over, that its key was deleted, overwritten or broken.
func TestKeyIsDeleted(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			l := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Hour})
			for _, harm := range [][]string{{"DEL", "lock:a"}, {"SET", "lock:a", "somebody", "PX", "1"}, {"FLUSHALL"}} {
				lease := take(t, t.Context(), l)
				tracked(t, s)
				began := time.Now()
				s.Do(harm...)
				ended(t, lease.Context(), 20*time.Second)
				t.Logf("%s: told after %v", harm[0], time.Since(began))
				if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// tracked waits until the server remembers that someone has read the key.
func tracked(t *testing.T, s *keywrighttest.Server) {
	t.Helper()
	s.Await("tracking_total_items", "1")
}

// TestRenewals: a lease outlives many times its length while it is held, and not
// its holder's context (bug L8). On a machine that is too busy for a short lease
// a longer one is tried.
func TestRenewals(t *testing.T) {
	gate.Skip(t, "leases of 60 ms")
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for lasts := 60 * time.Millisecond; !outlives(t, s, lasts); lasts *= 2 {
		if lasts > 2*time.Second {
			t.Fatal("no lease is renewed")
		}
	}
	var wg sync.WaitGroup
	for i := range 200 { // releases that race with renewals
		own := lock.Open(open2(t, s), fmt.Sprint("lock:", i), lock.Options{Lease: 30 * time.Millisecond})
		wg.Go(func() {
			lease, err := own.Acquire(t.Context())
			if err == nil {
				first := lease.Deadline()
				for i%2 == 0 && lease.Deadline().Equal(first) && lease.Context().Err() == nil { // until it is renewed, or lost
					<-time.After(time.Millisecond)
				}
				err = lease.Release(t.Context())
			}
			if err != nil && !errors.Is(err, lock.ErrLost) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 200 {
		until(t, fmt.Sprintf("lock:%d is held by none", i), func() bool { return s.Do("GET", fmt.Sprint("lock:", i)) == nil })
	}
}

// outlives holds a lock for ten leases; false if it was lost meanwhile. No one
// may have it from a holder that lives.
func outlives(t *testing.T, s *keywrighttest.Server, lasts time.Duration) bool {
	l := lock.Open(open2(t, s), "lock:a", lock.Options{Lease: lasts})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // and no Release
	lease := take(t, ctx, l)
	for end := time.Now().Add(10 * lasts); time.Now().Before(end); {
		other, err := l.Try(t.Context())
		if err == nil {
			if lease.Context().Err() == nil {
				t.Fatalf("taken from a holder that lives")
			}
			_ = other.Release(t.Context()) // it may be over too
			return false
		}
		if !errors.Is(err, lock.ErrHeld) {
			t.Fatal(err)
		}
	}
	cancel()
	must(t, take(t, t.Context(), l).Release(t.Context()))
	return true
}

var shared sync.Map

// open2 returns one client per server for all calls.
func open2(t *testing.T, s *keywrighttest.Server) *keywright.Client {
	if c, ok := shared.Load(s); ok {
		return c.(*keywright.Client)
	}
	c := open(t, s.URL(), keywright.Options{})
	shared.Store(s, c)
	return c
}

// TestLostReplies: what was applied and not answered is found again by its
// token: no caller waits for himself, nothing is left.
func TestLostReplies(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	l := lock.Open(open(t, "redis://"+p.Addr(), keywright.Options{Connections: -1}), "lock:a",
		lock.Options{Lease: time.Minute})
	must(t, take(t, t.Context(), l).Release(t.Context())) // the scripts are known now
	for i := range 10 {
		p.LoseReplyTo("wait")
		lease := take(t, t.Context(), l)
		if !p.Lost() {
			t.Fatal("no reply was lost")
		}
		if i%2 == 0 {
			p.LoseReplyTo("EVALSHA")
		}
		if err := lease.Release(t.Context()); err != nil && !errors.Is(err, lock.ErrLost) {
			t.Error(err)
		}
		if held := s.Do("GET", "lock:a"); held != nil {
			t.Errorf("held by %v", held)
		}
	}
}

// TestWaiterGivesUp: a waiter whose context ends takes its place with it, also
// when the lock was handed to it in that moment.
func TestWaiterGivesUp(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	a, b := open(t, s.URL(), keywright.Options{}), open(t, s.URL(), keywright.Options{})
	for range 200 {
		lease := take(t, t.Context(), lock.Open(a, "lock:a", lock.Options{}))
		var wg sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for _, c := range []*keywright.Client{a, b} {
			for range 2 {
				wg.Go(func() {
					if lease, err := lock.Open(c, "lock:a", lock.Options{}).Acquire(ctx); err == nil {
						must(t, lease.Release(t.Context()))
					} else if !errors.Is(err, context.Canceled) {
						t.Errorf("%v", err)
					}
				})
			}
		}
		wg.Go(cancel)
		must(t, lease.Release(t.Context()))
		wg.Wait()
	}
	must(t, take(t, t.Context(), lock.Open(b, "lock:a", lock.Options{})).Release(t.Context()))
	for {
		h, err := lock.Open(b, "lock:a", lock.Options{}).Holder(t.Context())
		must(t, err)
		if h.Waiting == 0 && h.Token == "" {
			return
		}
	}
}

// TestStrict (bug L10): with replicas that are frozen nothing is acquired, and
// nothing stays taken.
func TestStrict(t *testing.T) {
	t.Parallel()
	primary := keywrighttest.Start(t, keywrighttest.Redis)
	replica := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.ReplicaOf(primary))
	replica.Await("master_link_status", "up")
	c := open(t, primary.URL(), keywright.Options{})
	must(t, c.Raw().Do(t.Context(), c.Raw().B().Set().Key("other").Value("written").Build()).Error())
	patient := lock.Open(c, "lock:a", lock.Options{Replicas: 1, ReplicaTimeout: 20 * time.Second})
	lease := take(t, t.Context(), patient)
	must(t, lease.Release(t.Context()))
	replica.Stop()
	l := lock.Open(c, "lock:a", lock.Options{Replicas: 1, ReplicaTimeout: 200 * time.Millisecond})
	if _, err := l.Try(t.Context()); !errors.Is(err, lock.ErrReplicas) {
		t.Errorf("with a frozen replica: %v", err)
	}
	replica.Continue()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	must(t, take(t, ctx, patient).Release(ctx))
}

// TestFenceAfterFailover (finding 3): the last writes are lost in a failover,
// the lock and its fence with them; the next token is still newer.
func TestFenceAfterFailover(t *testing.T) {
	primary := keywrighttest.Start(t, keywrighttest.Redis)
	replica := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.ReplicaOf(primary))
	replica.Await("master_link_status", "up")
	c := open(t, primary.URL(), keywright.Options{})
	l := lock.Open(c, "lock:a", lock.Options{})
	must(t, take(t, t.Context(), l).Release(t.Context()))
	before := primary.Do("GET", "{lock:a}:fence")
	primary.Copied(replica)
	replica.Stop()
	var last *lock.Lease
	for range 5 {
		if last = take(t, t.Context(), l); last != nil {
			must(t, last.Release(t.Context()))
		}
	}
	held := take(t, t.Context(), l)
	primary.Kill()
	replica.Continue()
	replica.Do("REPLICAOF", "NO", "ONE")
	if now := replica.Do("GET", "{lock:a}:fence"); now != before && now != fmt.Sprint(held.Fence()) {
		t.Logf("fence on the replica: %v", now)
	}
	other := lock.Open(open(t, replica.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	replica.Do("DEL", "lock:a") // as if the lock had not got here at all
	next := take(t, ctx, other)
	if next.Fence() <= held.Fence() {
		t.Errorf("fence %d behind %d", next.Fence(), held.Fence())
	}
	must(t, next.Release(ctx))
}

func TestQuorum(t *testing.T) {
	t.Parallel()
	var servers []*keywrighttest.Server
	var mine, others []lock.Lock
	for i := range 3 {
		s := keywrighttest.Start(t, keywrighttest.Brands()[i%len(keywrighttest.Brands())])
		servers = append(servers, s)
		mine = append(mine, lock.Open(open(t, s.URL(), keywright.Options{Timeout: time.Second, Attempts: 1}), "lock:q",
			lock.Options{Lease: 2 * time.Second}))
		others = append(others, lock.Open(open(t, s.URL(), keywright.Options{Timeout: time.Second, Attempts: 1}), "lock:q",
			lock.Options{Lease: 2 * time.Second}))
	}
	q, err := lock.NewQuorum(mine...)
	must(t, err)
	other, err := lock.NewQuorum(others...)
	must(t, err)
	if _, err := lock.NewQuorum(mine[:2]...); err == nil {
		t.Error("a quorum of two")
	}
	lease, err := q.Acquire(t.Context())
	must(t, err)
	if _, err := other.Try(t.Context()); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("held twice: %v", err)
	}
	servers[0].Kill() // a minority
	if _, err := other.Try(t.Context()); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("held twice after a server died: %v", err)
	}
	if lease.Context().Err() != nil {
		t.Error("lost with a minority")
	}
	must(t, lease.Release(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	lease, err = other.Acquire(ctx)
	must(t, err)
	servers[1].Kill()
	ended(t, lease.Context(), 20*time.Second)
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("release of a lost quorum: %v", err)
	}
}

// TestLostWakeUps: no message ever arrives, and every waiter is served
// nevertheless, since each looks for itself.
func TestLostWakeUps(t *testing.T) {
	lock.Mutate(t, "redis.pcall('PUBLISH',", "tostring(")
	s := keywrighttest.Start(t, keywrighttest.Redis)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, mode := range []lock.Mode{lock.Fair, lock.Fast} {
		var wg sync.WaitGroup
		for range 3 {
			l := lock.Open(open(t, s.URL(), keywright.Options{}), fmt.Sprint("lock:", mode),
				lock.Options{Mode: mode, Claim: 1500 * time.Millisecond})
			for range 2 {
				wg.Go(func() {
					lease, err := l.Acquire(ctx)
					if err == nil {
						err = lease.Release(ctx)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
	}
}

// TestClusterFailover: in a cluster of 3+3 every primary is replaced while many
// wait; all are served.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	served := make(chan struct{}, 200)
	for range 4 {
		l := lock.Open(open(t, c.URL(), keywright.Options{Timeout: 2 * time.Second}), "lock:a",
			lock.Options{Lease: 2 * time.Second})
		for range 25 {
			wg.Go(func() {
				lease, err := l.Acquire(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = l.Holder(ctx) // it is held for a moment
				_ = lease.Release(ctx)
				served <- struct{}{}
			})
		}
	}
	for range 10 {
		<-served
	}
	for i := range 3 {
		c.Failover(3 + i)
	}
	wg.Wait()
	if n := len(served); n != 90 {
		t.Errorf("%d of 100 were served", 10+n)
	}
}
