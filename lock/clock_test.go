package lock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// steps say what a server's clock is moved to, one after the other: a minute
// fast, an hour slow, and back.
var steps = []time.Duration{time.Minute, -time.Hour, 0, time.Hour, -time.Minute, 0}

// TestClockSteps moves the server's clock under holders, waiters and those who
// write after a gate. Two may hold the lock then, which the page of locks says;
// what it protects stays in order, no token comes twice, and no holder believes
// in its lease for longer than its own clock says.
func TestClockSteps(t *testing.T) {
	gate.Skip(t, "leases of 120 ms")
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for _, mode := range []lock.Mode{lock.Fair, lock.Fast} {
			t.Run(fmt.Sprint(brand, mode), func(t *testing.T) {
				t.Parallel()
				s := keywrighttest.Start(t, brand, keywrighttest.MovableClock())
				h, seed := &history{}, gate.Seed(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				seen := func() int { h.mu.Lock(); defer h.mu.Unlock(); return len(h.holds) }
				var wg sync.WaitGroup
				for i := range uint64(3) {
					c := open(t, s.URL(), keywright.Options{Timeout: time.Second})
					l := lock.Open(c, "lock:h", lock.Options{Lease: 120 * time.Millisecond, Claim: 60 * time.Millisecond, Mode: mode})
					for n := range uint64(3) {
						wg.Go(func() { work(t, ctx, h, l, lock.NewGate(c, "ledger", 0), rand.New(rand.NewPCG(seed+i, n))) })
					}
				}
				for round := range 3 * len(steps) {
					for before := seen(); seen() < before+10 && pause(ctx, time.Millisecond); { // the others go on
					}
					s.MoveClock(steps[round%len(steps)])
				}
				if ctx.Err() != nil {
					t.Errorf("after %d holds nobody goes on", seen())
				}
				cancel()
				wg.Wait()
				tokens := map[int64]bool{}
				for _, one := range h.holds {
					if tokens[one.fence] {
						t.Errorf("two holders with the token %d", one.fence)
					}
					tokens[one.fence] = true
					if one.aliveUntil.After(one.deadline) {
						t.Errorf("holder %d was alive %v after its deadline", one.fence, one.aliveUntil.Sub(one.deadline))
					}
				}
				lines := protectedWrites(t, s)
				for _, v := range violations(&history{}, lines) {
					t.Error(v)
				}
				t.Logf("%d holds, %d protected writes, %d late ones refused", len(h.holds), len(lines), h.stale)
			})
		}
	}
}

// clockIsBehind takes the lock again when the server's clock was put back by an
// hour.
func clockIsBehind(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.MovableClock())
	l := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{})
	last := int64(0)
	for i, ahead := range []time.Duration{0, -time.Hour, -time.Hour, time.Minute, 0} {
		s.MoveClock(ahead)
		lease := take(t, t.Context(), l)
		if behind := i > 0 && ahead <= 0; lease.Fence() <= last || behind && lease.Fence() != last+1 {
			wrong = append(wrong, fmt.Sprintf("fence %d behind %d", lease.Fence(), last))
		}
		last = lease.Fence()
		must(t, lease.Release(t.Context()))
	}
	return wrong
}
