package event_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// busy represents handlers of which some do not return until the test ends.
type busy struct {
	log
	over  chan struct{}
	hangs func(event.Stored[note]) bool
}

func hanging(t *testing.T, hangs func(event.Stored[note]) bool) *busy {
	b := &busy{over: make(chan struct{}), hangs: hangs}
	t.Cleanup(b.end)
	return b
}

func (b *busy) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.over:
	default:
		close(b.over)
	}
}

func (b *busy) handle(_ context.Context, m event.Stored[note]) error {
	if b.hangs(m) {
		<-b.over
	}
	b.add(m)
	return nil
}

func byKey(m note) string { return m.Key }

// A handler that hangs holds up the messages of its key, and no other one.
func TestHangingHoldsItsKeyOnly(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for name, o := range map[string]struct {
			event.RunOptions[note]
			others int
		}{
			"no key": {event.RunOptions[note]{}, 299}, "keys": {event.RunOptions[note]{Key: byKey, Batch: 20}, 200},
		} {
			t.Run(string(brand)+" "+name, func(t *testing.T) {
				t.Parallel()
				s := journal(open(t, keywrighttest.Start(t, brand).URL()), event.StreamConfig{})
				publish(t, s, 0, 300) // of three keys
				b := hanging(t, func(m event.Stored[note]) bool { return m.Data.N == 0 })
				o.Concurrency, o.Grace = 2, time.Millisecond
				started(t, s, "g", o.RunOptions, b.handle)
				t.Cleanup(b.end)
				eventually(t, "all others are done", func() bool { return len(b.numbers()) == o.others })
			})
		}
	}
}

// While a message waits to be tried again, its worker handles others; those of its key wait.
func TestBackoffHoldsItsKeyOnly(t *testing.T) {
	s := journal(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()), event.StreamConfig{})
	publish(t, s, 0, 90)
	var got log
	started(t, s, "g", event.RunOptions[note]{Key: byKey, Backoff: time.Hour, Lease: time.Hour, Batch: 10},
		func(_ context.Context, m event.Stored[note]) error {
			if got.add(m); m.Data.N == 3 {
				return errors.New("not now")
			}
			return nil
		})
	eventually(t, "the others of all keys are done", func() bool { return len(got.numbers()) == 62 })
	for _, n := range got.numbers() {
		if n%3 == 0 && n > 3 {
			t.Errorf("%d has passed the one before it", n)
		}
	}
}

// What a consumer takes while all in hand waits has a bound.
func TestHandHasABound(t *testing.T) {
	s := journal(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()), event.StreamConfig{})
	for i := range 100 {
		_, err := s.Publish(t.Context(), note{N: i, Key: fmt.Sprint(i / 90)})
		must(t, err)
	}
	b := hanging(t, func(m event.Stored[note]) bool { return m.Data.N == 0 })
	started(t, s, "g", event.RunOptions[note]{Key: byKey, Concurrency: 2, Batch: 5, Grace: time.Millisecond}, b.handle)
	t.Cleanup(b.end)
	look := func() event.GroupStats {
		stats, err := s.Stats(t.Context())
		if err != nil || len(stats.Groups) == 0 {
			return event.GroupStats{}
		}
		return stats.Groups[0]
	}
	eventually(t, "ten times a batch is in hand", func() bool { return look().Pending == 50 })
	b.end()
	eventually(t, "the others follow", func() bool { return look().Lag == 0 && len(b.numbers()) == 100 })
}

// When the Grace is over, what waits for a handler that hangs can be claimed elsewhere.
func TestGraceGivesBack(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := journal(open(t, keywrighttest.Start(t, brand).URL()), event.StreamConfig{Retry: 1})
			publish(t, s, 0, 5)
			began := make(chan struct{})
			b := hanging(t, func(event.Stored[note]) bool { close(began); return true })
			ctx, stop := context.WithCancel(t.Context())
			var run sync.WaitGroup
			defer run.Wait()
			defer b.end()
			run.Go(func() {
				must(t, s.Run(ctx, "g", b.handle, event.RunOptions[note]{Grace: time.Millisecond, Lease: time.Minute}))
			})
			<-began
			stop()
			var got log
			started(t, s, "g", event.RunOptions[note]{Lease: time.Second}, func(_ context.Context, m event.Stored[note]) error {
				if got.add(m); m.Deliveries != 1 {
					t.Errorf("message %d comes as delivery %d", m.Data.N, m.Deliveries)
				}
				return nil
			})
			eventually(t, "another one has the rest", func() bool { return slices.Equal(got.numbers(), []int{1, 2, 3, 4}) })
		})
	}
}

// The context of a handler ends with its time limit, and its delivery has failed.
func TestTimeout(t *testing.T) {
	s := journal(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()),
		event.StreamConfig{Retry: 2, Timeout: 10 * time.Millisecond})
	publish(t, s, 0, 2)
	var got log
	started(t, s, "g", event.RunOptions[note]{Backoff: time.Millisecond},
		func(ctx context.Context, m event.Stored[note]) error {
			if got.add(m); m.Data.N == 1 {
				return nil
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), event.ErrTimeout) {
				t.Errorf("its context ends with %v", context.Cause(ctx))
			}
			return ctx.Err()
		})
	eventually(t, "the others go on", func() bool { return len(got.numbers()) == 3 })
	eventually(t, "it is a dead letter", func() bool {
		dead, err := s.Dead(t.Context(), event.Begin, 10)
		return err == nil && len(dead) == 1 && dead[0].Deliveries == 2 &&
			dead[0].Reason == "its time limit is over after 10ms: context canceled"
	})
}

// A handler that goes on after its time limit is overdue in Stats for as long as it runs.
func TestOverdueRuns(t *testing.T) {
	s := journal(open(t, keywrighttest.Start(t, keywrighttest.Valkey).URL()),
		event.StreamConfig{Timeout: 10 * time.Millisecond})
	publish(t, s, 0, 2)
	leave := make(chan struct{})
	started(t, s, "g", event.RunOptions[note]{}, func(_ context.Context, m event.Stored[note]) error {
		if m.Data.N == 0 {
			<-leave
		}
		return nil
	})
	group := func() event.GroupStats {
		stats, err := s.Stats(t.Context())
		if err != nil || len(stats.Groups) == 0 {
			return event.GroupStats{}
		}
		return stats.Groups[0]
	}
	eventually(t, "it is overdue", func() bool {
		g := group()
		return g.Running == 1 && g.Overdue == 1 && g.OldestRun > 10*time.Millisecond
	})
	close(leave)
	eventually(t, "none is", func() bool {
		g := group()
		return g.Lag == 0 && g.Pending == 0 && g.Running+g.Overdue == 0 && g.OldestRun == 0
	})
}

// Each death is reported once, also when the replies are lost that say so.
func TestDeathsAreToldOnce(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			server := keywrighttest.Start(t, brand)
			proxy := keywrighttest.NewProxy(t, server.Addr(), keywrighttest.Rules{})
			theirs := journal(open(t, server.URL()), event.StreamConfig{})
			var told atomic.Int64
			started(t, journal(open(t, "redis://"+proxy.Addr()), event.StreamConfig{}), "g",
				event.RunOptions[note]{OnError: func(err error) {
					if errors.As(err, new(*event.Buried)) {
						told.Add(1)
					}
				}}, func(context.Context, event.Stored[note]) error { return event.Discard(errors.New("in vain")) })
			for n := range 10 {
				proxy.LoseReplyTo([]string{"in vain", "XACK"}[n%2])
				publish(t, theirs, n, n+1)
				eventually(t, "a reply is lost", proxy.Lost)
				eventually(t, "nothing is pending", func() bool {
					stats, err := theirs.Stats(t.Context())
					return err == nil && stats.Groups[0].Pending == 0 && stats.Groups[0].Lag == 0
				})
			}
			eventually(t, "all are told", func() bool { return told.Load() >= 10 })
			stats, err := theirs.Stats(t.Context())
			if must(t, err); told.Load() != 10 || stats.Dead != 10 {
				t.Errorf("%d are dead, %d are told", stats.Dead, told.Load())
			}
		})
	}
}
