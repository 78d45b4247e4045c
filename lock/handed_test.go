package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// handOn lets b wait for a lock that a holds, and gives what b gets when a has
// released it.
func handOn(t *testing.T, s *keywrighttest.Server, a, b lock.Lock) (*lock.Lease, error) {
	t.Helper()
	first := take(t, t.Context(), a)
	var lease *lock.Lease
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		lease, err = b.Acquire(ctx)
	})
	awaitWaiters(t, a, 1)
	before := scriptCalls(t, s)
	until(t, "the waiter has looked again, and listens", func() bool { return scriptCalls(t, s) > before })
	must(t, first.Release(t.Context()))
	wg.Wait()
	return lease, err
}

// scriptCalls returns how many scripts the server has run that may write.
func scriptCalls(t testing.TB, s *keywrighttest.Server) (n int) {
	t.Helper()
	for _, line := range strings.Split(fmt.Sprint(s.Do("INFO", "commandstats")), "\r\n") {
		if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &n); err == nil {
			return n
		}
	}
	return 0
}

var until = expect.Eventually

// unconfirmedIsHeld hands a strict lock on that no replica can confirm.
func unconfirmedIsHeld(t *testing.T) (wrong []string) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		a := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{})
		b := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a",
			lock.Options{Replicas: 1, ReplicaTimeout: 50 * time.Millisecond})
		lease, err := handOn(t, s, a, b)
		if !errors.Is(err, lock.ErrReplicas) {
			wrong = append(wrong, fmt.Sprintf("%s: held (%t) without a replica: %v", brand, lease != nil, err))
			must(t, lease.Release(t.Context()))
			continue
		}
		until(t, "the lock is given back", func() bool {
			h, err := a.Holder(t.Context())
			must(t, err)
			return h.Token == "" && h.Waiting == 0
		})
	}
	return wrong
}

// TestStrictHandedOn: a strict lock that is handed on has been confirmed by its
// replicas, or is not given.
func TestStrictHandedOn(t *testing.T) {
	for _, w := range unconfirmedIsHeld(t) {
		t.Error(w)
	}
	primary := keywrighttest.Start(t, keywrighttest.Redis)
	replica := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.ReplicaOf(primary))
	replica.Await("master_link_status", "up")
	strict := lock.Options{Replicas: 1, ReplicaTimeout: 20 * time.Second}
	lease, err := handOn(t, primary, lock.Open(open(t, primary.URL(), keywright.Options{}), "lock:a", strict),
		lock.Open(open(t, primary.URL(), keywright.Options{}), "lock:a", strict))
	must(t, err)
	if on := replica.Do("GET", "lock:a"); on != lease.Token() {
		t.Errorf("the replica has %v of %s", on, lease.Token())
	}
	must(t, lease.Release(t.Context()))
}

// claimIsAll hands a lock on to someone that does not renew it.
func claimIsAll(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	o := lock.Options{Lease: time.Hour, NoRenewal: true}
	lease, err := handOn(t, s, lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", o),
		lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", o))
	must(t, err)
	here, there := time.Until(lease.Deadline()), time.Duration(s.Do("PTTL", "lock:a").(int64))*time.Millisecond
	if here < 50*time.Minute || there < 50*time.Minute {
		wrong = append(wrong, fmt.Sprintf("a lease of an hour lasts for %v, on the server for %v", here, there))
	}
	must(t, lease.Release(t.Context()))
	return wrong
}

// TestNoRenewalHandedOn: without renewal the lease is what was asked for, handed
// on or not.
func TestNoRenewalHandedOn(t *testing.T) {
	for _, w := range claimIsAll(t) {
		t.Error(w)
	}
}

// overtaken takes a lock that someone waits for, or that readers hold.
func overtaken(t *testing.T) (wrong []string) {
	s, a, _ := pair(t, lock.Options{})
	s.Do("ZADD", "{lock:a}:waiters", "1", "x60000 somebody/1")
	if _, err := a.Try(t.Context()); !errors.Is(err, lock.ErrHeld) {
		wrong = append(wrong, fmt.Sprintf("somebody that waited was overtaken: %v", err))
	}
	s.Do("DEL", "lock:a", "{lock:a}:waiters")
	s.Do("ZADD", "{lock:a}:shared", "99999999999999", "somebody/2")
	if _, err := a.Try(t.Context()); !errors.Is(err, lock.ErrHeld) {
		wrong = append(wrong, fmt.Sprintf("taken beside a reader: %v", err))
	}
	return wrong
}

// revived renews a lease so that the server says yes before its end, and the
// reply comes after it. No timer has fired.
func revived(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	l := lock.Open(open(t, s.URL(), keywright.Options{NoCache: true}), "lock:a",
		lock.Options{Lease: 2 * time.Second, NoRenewal: true})
	lease := take(t, t.Context(), l)
	lock.StopTimer(lease)
	s.Do("PEXPIRE", "lock:a", "3600000")
	until(t, "the lease is nearly over", func() bool { return time.Until(lease.Deadline()) < time.Second })
	s.Stop()
	renewed := make(chan error, 1)
	deadline := lease.Deadline()
	go func() { renewed <- lease.Renew(t.Context()) }()
	until(t, "the lease is over", func() bool { return time.Now().After(deadline) })
	s.Continue()
	if err := <-renewed; !errors.Is(err, lock.ErrLost) || lease.Context().Err() == nil {
		wrong = append(wrong, fmt.Sprintf("a lease that was over was renewed: %v", err))
	}
	return wrong
}

// TestLateRenewal: a renewal whose reply comes after the lease was over does not
// revive it.
func TestLateRenewal(t *testing.T) {
	for _, w := range revived(t) {
		t.Error(w)
	}
}

// forged tells a waiter, by its token, that it has the lock for an hour, while another
// one holds it.
func forged(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	a, b := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{}),
		lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{})
	first := take(t, t.Context(), a)
	second := make(chan *lock.Lease, 1)
	go func() {
		lease, err := b.Acquire(t.Context())
		if err != nil {
			t.Error(err)
		}
		second <- lease
	}()
	awaitWaiters(t, a, 1)
	before := scriptCalls(t, s)
	until(t, "the waiter has looked again, and listens", func() bool { return scriptCalls(t, s) > before })
	place := s.Do("ZRANGE", "{lock:a}:waiters", "0", "0").([]any)[0].(string)
	now := s.Do("TIME").([]any)
	s.Do("PUBLISH", "{lock:a}:released",
		fmt.Sprintf("granted %s 777 %s%06s 3600000", strings.Fields(place)[1], now[0], now[1]))
	before = scriptCalls(t, s)
	until(t, "the waiter asks", func() bool { return scriptCalls(t, s) > before || len(second) > 0 })
	must(t, first.Release(t.Context()))
	lease := <-second
	if lease.Fence() == 777 || time.Until(lease.Deadline()) > time.Minute {
		wrong = append(wrong,
			fmt.Sprintf("a message gave the lock for %v, with the token %d", time.Until(lease.Deadline()), lease.Fence()))
	}
	_ = lease.Release(t.Context()) // a forged one is lost
	return wrong
}

// TestForgedHandOver: what a message says of its claim gives no waiter more than it
// has asked for.
func TestForgedHandOver(t *testing.T) {
	for _, w := range forged(t) {
		t.Error(w)
	}
}
