package lock_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// commands returns how many commands the server has run, those in scripts too.
func commands(t testing.TB, s *keywrighttest.Server) int {
	t.Helper()
	n, err := strconv.Atoi(s.Info("total_commands_processed"))
	must(t, err)
	return n
}

// TestThousandsGiveUp: waiters of one process leave without a word to the server,
// and hold up no other lock.
func TestThousandsGiveUp(t *testing.T) {
	n := 2000
	if gate.All() {
		n = 100_000
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	l, other := lock.Open(c, "lock:a", lock.Options{Lease: time.Hour}), lock.Open(c, "lock:b", lock.Options{})
	holder := take(t, t.Context(), l)
	must(t, take(t, t.Context(), other).Release(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var left atomic.Int64
	for i := range n {
		wg.Go(func() {
			acquire := l.Acquire
			if i%2 == 1 {
				acquire = l.AcquireShared
			}
			if _, err := acquire(ctx); err != nil {
				left.Add(1)
			}
		})
	}
	lock.AwaitLine(t, l, n, false)
	before := commands(t, s)
	cancel()
	must(t, take(t, t.Context(), other).Release(t.Context()))
	wg.Wait()
	if sent := commands(t, s) - before; sent > 100 || left.Load() != int64(n) {
		t.Errorf("%d left, with %d commands", left.Load(), sent)
	}
	must(t, holder.Release(t.Context()))
	must(t, take(t, t.Context(), l).Release(t.Context()))
	if n := lock.WaitedLocks(l); n != 0 {
		t.Errorf("%d rooms are left", n)
	}
}

// TestLeavingFromTheMiddle: when waiters leave, the others are served in their order.
func TestLeavingFromTheMiddle(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	l := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Hour})
	holder := take(t, t.Context(), l)
	var wg sync.WaitGroup
	var served []int
	gone := map[int]bool{0: true, 1: true, 7: true, 8: true, 19: true}
	var leaving []context.CancelFunc
	left := make(chan int, 20)
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if gone[i] {
			leaving = append(leaving, cancel)
		}
		wg.Go(func() {
			lease, err := l.Acquire(ctx)
			if err != nil {
				left <- i
				return
			}
			served = append(served, i) // the lock is held
			must(t, lease.Release(t.Context()))
		})
		lock.AwaitLine(t, l, i+1, false)
	}
	for _, cancel := range leaving {
		cancel()
	}
	lock.AwaitLine(t, l, 15, false)
	must(t, holder.Release(t.Context()))
	wg.Wait()
	if fmt.Sprint(served) != "[2 3 4 5 6 9 10 11 12 13 14 15 16 17 18]" || len(left) != 5 {
		t.Errorf("served %v, %d left", served, len(left))
	}
}

// TestReadersShareAPlace: thousands of readers of one process have one place in
// the server's queue, and are let in together, with a few calls.
func TestReadersShareAPlace(t *testing.T) {
	const n = 1000
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		w := s.WatchScripts()
		near := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{})
		writer := lock.Open(open(t, s.URL(), keywright.Options{}), "lock:a", lock.Options{Lease: time.Hour})
		held := take(t, t.Context(), writer)
		var in, out sync.WaitGroup
		release := make(chan struct{})
		fences := sync.Map{}
		in.Add(n)
		for range n {
			out.Go(func() {
				lease, err := near.AcquireShared(t.Context())
				if err != nil {
					t.Error(err)
					in.Done()
					return
				}
				if _, twice := fences.LoadOrStore(lease.Fence(), true); twice || lease.Fence() <= held.Fence() {
					t.Errorf("fence %d, behind %d", lease.Fence(), held.Fence())
				}
				in.Done()
				<-release // all of them hold it by then
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		lock.AwaitLine(t, near, n, true)
		if places := s.Do("ZCARD", "{lock:a}:waiters"); places != int64(1) {
			t.Errorf("%s: %v places in the queue", brand, places)
		}
		before := len(w.Calls())
		must(t, held.Release(t.Context()))
		in.Wait()
		if calls := len(w.Calls()) - before; calls > n/20 {
			t.Errorf("%s: %d calls let %d readers in", brand, calls, n)
		}
		if _, err := writer.Try(t.Context()); err == nil {
			t.Error("a writer beside readers")
		}
		close(release)
		out.Wait()
		must(t, take(t, t.Context(), writer).Release(t.Context()))
	}
}

// TestReadersAndWriters: of several processes, some of whom give up. A writer is
// alone, and everybody else is served.
func TestReadersAndWriters(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, url string) {
		for _, mode := range []lock.Mode{lock.Fair, lock.Fast} {
			var readers, writers atomic.Int64
			ctx := t.Context()
			var wg sync.WaitGroup
			for p := range 3 {
				l := lock.Open(open(t, url, keywright.Options{}), fmt.Sprint("lock:rw", mode), lock.Options{Mode: mode})
				for i := range 40 {
					mine, giveUp := context.WithCancel(ctx)
					defer giveUp()
					wg.Go(func() {
						alone := (p+i)%3 == 0
						acquire := l.AcquireShared
						if alone {
							acquire = l.Acquire
						}
						lease, err := acquire(mine)
						if err != nil {
							if mine.Err() == nil {
								t.Error(err)
							}
							return
						}
						if alone {
							if writers.Add(1) != 1 || readers.Load() != 0 {
								t.Error("a writer is not alone")
							}
							writers.Add(-1)
						} else {
							readers.Add(1)
							if writers.Load() != 0 {
								t.Error("a reader beside a writer")
							}
							readers.Add(-1)
						}
						if err := lease.Release(ctx); err != nil {
							t.Error(err)
						}
					})
					if i%7 == 6 {
						wg.Go(giveUp)
					}
				}
			}
			wg.Wait()
		}
	})
}
