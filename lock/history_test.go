package lock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// hold represents one holding of a lock as its holder saw it.
type hold struct {
	fence      int64
	began      time.Time
	aliveUntil time.Time // the last time it saw its context alive
	deadline   time.Time // as its lease said when it saw that
}

// history describes what happened to one lock, and what it protects.
type history struct {
	mu    sync.Mutex
	holds []hold
	stale int // protected writes that were refused
}

// day describes where a lock lives through its chaotic day.
type day struct {
	servers []*keywrighttest.Server
	urls    []string                                // of the databases, each with a history of its own
	delay   time.Duration                           // of replies
	harm    func(ctx context.Context, r *rand.Rand) // beside that of the network and of a frozen server; nil: none
	direct  bool                                    // no proxy between: in a cluster clients find the nodes themselves
}

// days lists the dimensions of the history.
var days = map[string]func(t *testing.T, brand keywrighttest.Brand) day{
	"plain": plain,
	"two databases": func(t *testing.T, brand keywrighttest.Brand) day {
		d := plain(t, brand)
		d.urls = append(d.urls, "/1")
		return d
	},
	"full memory": func(t *testing.T, brand keywrighttest.Brand) day {
		d := plain(t, brand)
		d.harm = func(ctx context.Context, r *rand.Rand) {
			for pause(ctx, time.Duration(r.IntN(100))*time.Millisecond) {
				d.servers[0].Do("CONFIG", "SET", "maxmemory", "1000000")
				pause(ctx, time.Duration(r.IntN(100))*time.Millisecond)
				d.servers[0].Do("CONFIG", "SET", "maxmemory", "0")
			}
		}
		return d
	},
	"slow replies": func(t *testing.T, brand keywrighttest.Brand) day {
		d := plain(t, brand)
		d.delay = 10 * time.Millisecond
		return d
	},
	"a backlog": func(t *testing.T, brand keywrighttest.Brand) day {
		d := plain(t, brand)
		var all [][]string
		for i := 0; i < 100_000; i += 500 { // readers that have ended, and some waiters that are dead
			readers := []string{"ZADD", "{lock:h}:shared"}
			for j := i; j < i+500; j++ {
				readers = append(readers, "1000", fmt.Sprintf("ended/%06d", j))
			}
			all = append(all, readers, []string{"ZADD", "{lock:h}:waiters", fmt.Sprint(i + 1), fmt.Sprintf("s1 dead/%06d", i)})
		}
		d.servers[0].Pipe(all...)
		return d
	},
	"a slot that moves": func(t *testing.T, brand keywrighttest.Brand) day {
		c, turn := keywrighttest.StartCluster(t, brand, 2, 0), 0
		var slot int
		_, err := fmt.Sscan(fmt.Sprint(c.Nodes[0].Do("CLUSTER", "KEYSLOT", "lock:h")), &slot)
		must(t, err)
		home := slot * 2 / 16384
		return day{servers: c.Nodes, urls: []string{c.URL()}, direct: true, harm: func(ctx context.Context, r *rand.Rand) {
			for ; pause(ctx, time.Duration(r.IntN(200))*time.Millisecond); turn++ {
				c.MoveSlotOf("lock:h", (home+turn)%2, (home+turn+1)%2)
			}
		}}
	},
}

func plain(t *testing.T, brand keywrighttest.Brand) day {
	return day{servers: []*keywrighttest.Server{keywrighttest.Start(t, brand)}, urls: []string{""}}
}

// record returns a chaotic day of one lock in each database: three clients, of which two
// may be cut off, hold it for short, sometimes for longer than its lease and without
// looking at their context. What it protects is a list after a gate, on a server
// of its own. It ends when there is enough to look at.
func record(t *testing.T, d day, seed uint64, enough int) (all []*history, ledgers [][]int64) {
	stable := keywrighttest.Start(t, keywrighttest.Redis)
	random := rand.New(rand.NewPCG(seed, 1))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for db, url := range d.urls {
		h, book := &history{}, fmt.Sprint("ledger:", db)
		all = append(all, h)
		for i := range 3 {
			at, p := url, (*keywrighttest.Proxy)(nil)
			if !d.direct {
				p = keywrighttest.NewProxy(t, d.servers[0].Addr(), keywrighttest.Rules{Delay: d.delay})
				at = "redis://" + p.Addr() + url
			}
			c := open(t, at, keywright.Options{Timeout: time.Second})
			gate := lock.NewGate(open(t, stable.URL(), keywright.Options{}), book, 0)
			l := lock.Open(c, "lock:h",
				lock.Options{Lease: 120 * time.Millisecond, Claim: 60 * time.Millisecond, Mode: lock.Mode(seed % 2)})
			for range 3 {
				r := rand.New(rand.NewPCG(seed, random.Uint64()))
				wg.Go(func() { work(t, ctx, h, l, gate, r) })
			}
			if i > 0 && p != nil {
				r := rand.New(rand.NewPCG(seed, random.Uint64()))
				wg.Go(func() { harm(ctx, p, r) })
			}
		}
	}
	if d.harm != nil {
		wg.Go(func() { d.harm(ctx, rand.New(rand.NewPCG(seed, 98))) })
	} else {
		wg.Go(func() { freezing(ctx, d.servers[0], rand.New(rand.NewPCG(seed, 99))) })
	}
	for _, h := range all {
		for h.seen() < enough && pause(ctx, 10*time.Millisecond) {
		}
	}
	cancel()
	wg.Wait()
	for db := range d.urls {
		ledgers = append(ledgers, ledgerOf(t, stable, fmt.Sprint("ledger:", db)))
	}
	return all, ledgers
}

func (h *history) seen() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.holds)
}

// freezing freezes a server now and then.
func freezing(ctx context.Context, s *keywrighttest.Server, r *rand.Rand) {
	for pause(ctx, time.Duration(r.IntN(400))*time.Millisecond) {
		s.Stop()
		pause(ctx, time.Duration(r.IntN(60))*time.Millisecond)
		s.Continue()
	}
}

// protectedWrites returns what the lock protects: the tokens of the holders that have written.
func protectedWrites(t *testing.T, s *keywrighttest.Server) []int64 { return ledgerOf(t, s, "ledger") }

func ledgerOf(t *testing.T, s *keywrighttest.Server, key string) (out []int64) {
	t.Helper()
	for _, line := range s.Do("LRANGE", key, "0", "-1").([]any) {
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
		for end := one.began.Add(time.Duration(r.IntN(8)) * time.Millisecond); time.Now().Before(end); pause(ctx,
			time.Millisecond) {
			one.look(lease)
		}
		if r.IntN(10) == 0 {
			pause(ctx, 150*time.Millisecond) // longer than the lease if no one could renew it, and no look at the context
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

// violations returns what must not be.
func violations(h *history, ledger []int64) (out []string) {
	slices.SortFunc(h.holds, func(a, b hold) int { return a.began.Compare(b.began) })
	for i, one := range h.holds {
		for _, later := range h.holds[i+1:] {
			if later.began.Before(one.aliveUntil) {
				out = append(out, fmt.Sprintf("holder %d was alive %v after holder %d began", one.fence,
					one.aliveUntil.Sub(later.began), later.fence))
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

// TestHistory: no two holders at a time, by their contexts, and protected writes in the
// order of their tokens. One seed and 60 holds of each day; under KEYWRIGHT_SOAK so
// many seeds, of 1,000 holds each.
func TestHistory(t *testing.T) {
	gate.Skip(t, "leases of 120 ms, and harm at random times")
	t.Parallel()
	seeds, enough := uint64(gate.Count(t, "KEYWRIGHT_SOAK", 1, 1)), 60
	if seeds > 1 {
		enough = 1000
	}
	first := gate.Seed(t)
	for i, name := range slices.Sorted(maps.Keys(days)) {
		for seed := range seeds {
			brand := keywrighttest.Brands()[(i+int(seed))%len(keywrighttest.Brands())]
			t.Run(fmt.Sprint(name, " ", brand, " ", seed), func(t *testing.T) {
				t.Parallel()
				all, ledgers := record(t, days[name](t, brand), first+uint64(i)+seed, enough)
				for db, h := range all {
					for _, v := range violations(h, ledgers[db]) {
						t.Errorf("database %d: %s", db, v)
					}
					t.Logf("%d holds, %d protected writes, %d late ones refused", len(h.holds), len(ledgers[db]), h.stale)
					if len(h.holds) < enough {
						t.Errorf("%d holds within a minute: the chaos left no work to look at", len(h.holds))
					}
				}
			})
		}
	}
}

// TestNoLock: a key that is no lock fails by itself, and no other with it.
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
