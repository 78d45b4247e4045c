package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// hold is one holding of a lock as its holder saw it.
type hold struct {
	fence      int64
	began      time.Time
	aliveUntil time.Time // the last time it saw its context alive
	deadline   time.Time // as its lease said when it saw that
}

// history is what happened to one lock, and what it protects.
type history struct {
	mu    sync.Mutex
	holds []hold
	stale int // protected writes that were refused
}

// record is a chaotic day of one lock: three clients, of which two may be cut
// off, hold it for short, sometimes for longer than its lease and without
// looking at their context. What it protects is a list behind a gate, on the
// same server.
func record(t *testing.T, brand keywrighttest.Brand, seed uint64, lasts time.Duration) (*history, []int64) {
	s := keywrighttest.Start(t, brand)
	random := rand.New(rand.NewPCG(seed, 1))
	h := &history{}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 3 {
		p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
		c := open(t, "redis://"+p.Addr(), keywright.Options{Timeout: time.Second})
		l := lock.Open(c, "lock:h", lock.Options{Lease: 120 * time.Millisecond, Claim: 60 * time.Millisecond, Mode: lock.Mode(seed % 2)})
		for range 3 {
			r := rand.New(rand.NewPCG(seed, random.Uint64()))
			wg.Go(func() { work(t, ctx, h, l, lock.NewGate(c, "ledger", 0), r) })
		}
		if i > 0 {
			r := rand.New(rand.NewPCG(seed, random.Uint64()))
			wg.Go(func() { harm(ctx, p, r) })
		}
	}
	wg.Go(func() {
		r := rand.New(rand.NewPCG(seed, 99))
		for pause(ctx, time.Duration(r.IntN(400))*time.Millisecond) {
			s.Stop()
			pause(ctx, time.Duration(r.IntN(60))*time.Millisecond)
			s.Continue()
		}
	})
	wg.Wait()
	s.Continue()
	return h, ledger(t, s)
}

// ledger is what the lock protects: the tokens of those who have written.
func ledger(t *testing.T, s *keywrighttest.Server) (out []int64) {
	t.Helper()
	for _, line := range s.Do("LRANGE", "ledger", "0", "-1").([]any) {
		n, err := strconv.ParseInt(line.(string), 10, 64)
		must(t, err)
		out = append(out, n)
	}
	return out
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// harm does to a client what networks do.
func harm(ctx context.Context, p *keywrighttest.Proxy, r *rand.Rand) {
	for pause(ctx, time.Duration(r.IntN(200))*time.Millisecond) {
		switch r.IntN(3) {
		case 0:
			p.Freeze()
			pause(ctx, time.Duration(r.IntN(300))*time.Millisecond)
			p.Thaw()
		case 1:
			p.Cut()
		case 2:
			p.LoseReplyTo("EVALSHA")
		}
	}
}

// look notes that the holder is alive, if it is.
func (one *hold) look(lease *lock.Lease) {
	if now := time.Now(); lease.Context().Err() == nil {
		one.aliveUntil, one.deadline = now, lease.Deadline()
	}
}

// work holds the lock again and again.
func work(t *testing.T, ctx context.Context, h *history, l lock.Lock, gate lock.Gate, r *rand.Rand) {
	for ctx.Err() == nil {
		lease, err := l.Acquire(ctx)
		if err != nil {
			continue
		}
		one := hold{fence: lease.Fence(), began: time.Now()}
		for end := one.began.Add(time.Duration(r.IntN(8)) * time.Millisecond); time.Now().Before(end); pause(ctx, time.Millisecond) {
			one.look(lease)
		}
		if r.IntN(10) == 0 {
			pause(ctx, 150*time.Millisecond) // longer than the lease if nobody could renew it, and no look at the context
			one.look(lease)
		}
		write, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		_, err = gate.Do(write, lease.Fence(), "RPUSH", fmt.Sprint(lease.Fence()))
		cancel()
		h.mu.Lock()
		if errors.Is(err, lock.ErrStale) {
			h.stale++
		}
		h.holds = append(h.holds, one)
		h.mu.Unlock()
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_ = lease.Release(release)
		cancel()
	}
}

// violations is what must not be.
func violations(h *history, ledger []int64) (out []string) {
	slices.SortFunc(h.holds, func(a, b hold) int { return a.began.Compare(b.began) })
	for i, one := range h.holds {
		for _, later := range h.holds[i+1:] {
			if later.began.Before(one.aliveUntil) {
				out = append(out, fmt.Sprintf("holder %d was alive %v after holder %d began", one.fence, one.aliveUntil.Sub(later.began), later.fence))
			}
			if later.fence == one.fence {
				out = append(out, fmt.Sprintf("two holders with the token %d", one.fence))
			}
		}
	}
	if !slices.IsSorted(ledger) {
		out = append(out, "a protected write with an older token came after one with a newer")
	}
	return out
}

func TestHistory(t *testing.T) {
	t.Parallel()
	for _, brand := range keywrighttest.Brands() {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(brand, seed), func(t *testing.T) {
				t.Parallel()
				h, ledger := record(t, brand, seed, 4*time.Second)
				for _, v := range violations(h, ledger) {
					t.Error(v)
				}
				t.Logf("%d holds, %d protected writes, %d late ones refused", len(h.holds), len(ledger), h.stale)
				if len(h.holds) < 50 {
					t.Errorf("%d holds: the chaos left no work to look at", len(h.holds))
				}
			})
		}
	}
}

// TestNoLock: a key that is no lock fails by itself, and nobody else with it.
func TestNoLock(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	l := lock.Open(open(t, s.URL(), keywright.Options{NoCache: true}), "lock:a", lock.Options{})
	for _, key := range []string{"lock:a", "{lock:a}:fence"} {
		s.Do("DEL", key)
		s.Do("RPUSH", key, "a list")
		other := take(t, t.Context(), lock.Open(open2(t, s), "lock:b", lock.Options{}))
		if _, err := l.Try(t.Context()); err == nil {
			t.Errorf("%s of another type: taken", key)
		}
		must(t, other.Release(t.Context()))
		s.Do("DEL", key, "lock:a")
	}
}
