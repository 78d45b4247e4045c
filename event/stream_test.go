package event_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

func journal(c *keywright.Client, config event.StreamConfig) event.Stream[note] {
	return event.NewStream(keywright.Binding{Client: c, Entry: &streamOf},
		event.StreamKeys{Main: "journal", Dead: "{journal}:dead"}, &notes, config)
}

// started runs a consumer until the test ends, or stop is called.
func started(t testing.TB, s event.Stream[note], group string, o event.RunOptions[note],
	handle event.StreamHandler[note]) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx, group, handle, o); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

// log describes what handlers were given.
type log struct {
	mu  sync.Mutex
	all []event.Stored[note]
}

func (l *log) add(m event.Stored[note]) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, m)
	return len(l.all)
}

func (l *log) numbers() (out []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.all {
		out = append(out, m.Data.N)
	}
	return out
}

func publish(t testing.TB, s event.Stream[note], from, to int) (ids []string) {
	t.Helper()
	for i := from; i < to; i++ {
		id, err := s.Publish(t.Context(), note{N: i, Key: fmt.Sprint(i % 3)})
		must(t, err)
		ids = append(ids, id)
	}
	return ids
}

func testStream(t *testing.T, url string) {
	s := journal(open(t, url), event.StreamConfig{Age: time.Hour})
	ids := publish(t, s, 0, 250)
	var all []int
	for m, err := range s.All(t.Context(), event.Begin) {
		must(t, err)
		all = append(all, m.Data.N)
	}
	if len(all) != 250 || !slices.IsSorted(all) {
		t.Errorf("replayed %d", len(all))
	}
	some, err := s.Read(t.Context(), event.After(ids[9]), event.Position(ids[19]), 100)
	if must(t, err); len(some) != 10 || some[0].Data.N != 10 || time.Since(some[0].Time).Abs() > time.Minute {
		t.Errorf("%+v", some)
	}
	for from, want := range map[time.Time]int{time.Now().Add(time.Hour): 0, time.Unix(18446744073709552, 0): 0,
		{}: 100, time.Unix(-18446744073709552, 0): 100} {
		some, err = s.Read(t.Context(), event.At(from), event.End, 100)
		if must(t, err); len(some) != want {
			t.Errorf("from %v there are %d", from, len(some))
		}
	}
	var first, second, other log
	for _, to := range []*log{&first, &second} {
		started(t, s, "a", event.RunOptions[note]{Batch: 10},
			func(_ context.Context, m event.Stored[note]) error { to.add(m); return nil })
	}
	started(t, s, "b", event.RunOptions[note]{},
		func(_ context.Context, m event.Stored[note]) error { other.add(m); return nil })
	eventually(t, "both groups have all", func() bool {
		return len(first.numbers())+len(second.numbers()) == 250 && len(other.numbers()) == 250
	})
	eventually(t, "all are acknowledged", func() bool {
		stats, err := s.Stats(t.Context())
		return err == nil && len(stats.Groups) == 2 &&
			stats.Groups[0].Pending+stats.Groups[1].Pending+stats.Groups[0].Lag+stats.Groups[1].Missed == 0 &&
			stats.Length == 250
	})
	if !slices.IsSorted(other.numbers()) {
		t.Error("one consumer got them out of order")
	}
}

// A message that fails is tried again, then becomes a dead letter with the
// reason, and may be published again.
func testRetryAndDeadLetters(t *testing.T, url string) {
	s := journal(open(t, url), event.StreamConfig{Retry: 3})
	publish(t, s, 0, 5)
	var tries log
	var mu sync.Mutex
	var told []error
	healed := false
	started(t, s, "g",
		event.RunOptions[note]{Backoff: time.Millisecond,
			OnError: func(err error) { mu.Lock(); told = append(told, err); mu.Unlock() }},
		func(_ context.Context, m event.Stored[note]) error {
			tries.add(m)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case healed:
			case m.Data.N == 1:
				return errors.New("not today")
			case m.Data.N == 2 && m.Deliveries < 3:
				panic("once more")
			case m.Data.N == 3:
				return event.Discard(errors.New("never"))
			}
			return nil
		})
	eventually(t, "there are dead letters", func() bool {
		st, err := s.Stats(t.Context())
		return err == nil && st.Dead == 2 && st.Groups[0].Pending == 0
	})
	if got := tries.numbers(); !slices.Equal(got, []int{0, 1, 1, 1, 2, 2, 2, 3, 4}) {
		t.Errorf("tries: %v", got)
	}
	dead, err := s.Dead(t.Context(), event.Begin, 10)
	must(t, err)
	if dead[0].Reason != "not today" || dead[0].Deliveries != 3 || dead[0].Data.N != 1 || dead[0].Group != "g" ||
		dead[1].Reason != "never" || dead[1].Deliveries != 1 {
		t.Errorf("%+v", dead)
	}
	mu.Lock()
	healed = true
	mu.Unlock()
	n, err := s.Redrive(t.Context(), dead[0].ID, dead[1].ID)
	if must(t, err); n != 2 {
		t.Errorf("%d redriven", n)
	}
	eventually(t, "they are handled after all", func() bool { return len(tries.numbers()) == 11 })
}

// Messages with one key stay in order, also when one fails; others pass it.
func TestOrderOfKeys(t *testing.T) {
	s := journal(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()), event.StreamConfig{Retry: 100})
	publish(t, s, 0, 90)
	var done log
	started(t, s, "g", event.RunOptions[note]{Concurrency: 8, Key: func(m note) string { return m.Key },
		Backoff: time.Millisecond}, func(_ context.Context, m event.Stored[note]) error {
		if m.Data.N%7 == 0 && m.Deliveries < 3 {
			return errors.New("again")
		}
		done.add(m)
		return nil
	})
	eventually(t, "all are done", func() bool { return len(done.numbers()) == 90 })
	last := map[int]int{}
	for _, n := range done.numbers() {
		if before, ok := last[n%3]; ok && before > n {
			t.Fatalf("%d came behind %d", n, before)
		}
		last[n%3] = n
	}
}

// A slow consumer gives signs of life for its message; one that is cut off loses
// it, and its handler's context ends.
func TestSlowAndSilent(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			server := keywrighttest.Start(t, brand)
			proxy := keywrighttest.NewProxy(t, server.Addr(), keywrighttest.Rules{})
			mine, theirs := journal(open(t, "redis://"+proxy.Addr()), event.StreamConfig{}),
				journal(open(t, server.URL()), event.StreamConfig{Retry: 1000})
			const lease = 600 * time.Millisecond
			publish(t, theirs, 0, 1)
			var slow, other log
			ended := make(chan error, 10)
			started(t, mine, "g", event.RunOptions[note]{Name: "slow", Lease: lease, Grace: time.Millisecond},
				func(ctx context.Context, m event.Stored[note]) error {
					slow.add(m)
					<-ctx.Done()
					ended <- context.Cause(ctx)
					return ctx.Err()
				})
			eventually(t, "the slow one has it", func() bool { return len(slow.numbers()) == 1 })
			var idle int64
			eventually(t, "it gives a sign of life", func() bool {
				before := idle
				idle = server.Do("XPENDING", "journal", "g", "-", "+", "1").([]any)[0].([]any)[2].(int64)
				return idle < before
			})
			proxy.Freeze()
			started(t, theirs, "g", event.RunOptions[note]{Lease: lease},
				func(_ context.Context, m event.Stored[note]) error { other.add(m); return nil })
			eventually(t, "the slow one is told", func() bool { return len(ended) > 0 })
			if err := <-ended; !errors.Is(err, event.ErrLost) {
				t.Errorf("its context ended with %v", err)
			}
			eventually(t, "the other one has it", func() bool { return len(other.numbers()) == 1 })
			proxy.Thaw()
		})
	}
}

// Who ends gives back what it has not done, uncounted, and is removed.
func TestShutdown(t *testing.T) {
	s := journal(open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()), event.StreamConfig{Retry: 1})
	publish(t, s, 0, 20)
	began, finish := make(chan struct{}, 1), make(chan struct{})
	var first, second log
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, "g", func(_ context.Context, m event.Stored[note]) error {
			began <- struct{}{}
			<-finish
			first.add(m)
			return nil
		}, event.RunOptions[note]{})
	}()
	<-began
	stop()
	close(finish)
	must(t, <-ended)
	if got := first.numbers(); len(got) != 1 {
		t.Errorf("the first handled %v", got)
	}
	started(t, s, "g", event.RunOptions[note]{}, func(_ context.Context, m event.Stored[note]) error {
		if second.add(m); m.Deliveries != 1 {
			t.Errorf("%d was delivered %d times", m.Data.N, m.Deliveries)
		}
		return nil
	})
	eventually(t, "the second has the rest", func() bool { return len(second.numbers()) == 19 })
}

// What trimming takes is reported, before and after.
func testTrim(t *testing.T, url string) {
	s := journal(open(t, url), event.StreamConfig{})
	publish(t, s, 0, 1300)
	var got log
	stop := started(t, s, "g", event.RunOptions[note]{Batch: 1, Grace: time.Millisecond},
		func(ctx context.Context, m event.Stored[note]) error {
			if got.add(m) > 100 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
	eventually(t, "a hundred are done, one is in hand", func() bool { return len(got.numbers()) == 101 })
	check := func(p event.Policy, messages, open, left int64) {
		t.Helper()
		r, err := s.Trim(t.Context(), p)
		must(t, err)
		stats, err := s.Stats(t.Context())
		must(t, err)
		if r.Messages != messages || r.Unacknowledged["g"] != open || stats.Length != left {
			t.Errorf("%+v: %+v, %d left", p, r, stats.Length)
		}
	}
	check(event.Policy{MaxLen: 100}, 1200, 1100, 1300)
	check(event.Policy{MaxLen: 100, Keep: true}, 100, 0, 1300)
	check(event.Policy{Before: time.Now().Add(time.Hour)}, 1300, 1200, 1300)
	check(event.Policy{MaxLen: 100, Keep: true, Apply: true}, 100, 0, 1200)
	check(event.Policy{MaxLen: 100, Apply: true}, 1100, 1100, 100)
	check(event.Policy{Before: time.Now().Add(time.Hour), Apply: true}, 100, 100, 0)
	stop()
}

// What was trimmed before it was delivered, or before it was acknowledged, is
// reported.
func testTrimmed(t *testing.T, url string) {
	s := journal(open(t, url), event.StreamConfig{})
	publish(t, s, 0, 3)
	var told []error
	a := event.ConsumerOf(s, "g",
		event.RunOptions[note]{Name: "a", Lease: time.Millisecond, OnError: func(err error) { told = append(told, err) }})
	must(t, a.Create(t))
	publish(t, s, 3, 10)
	must(t, a.Fetch(t, 4))
	look := func() event.GroupStats {
		stats, err := s.Stats(t.Context())
		must(t, err)
		return stats.Groups[0]
	}
	if g := look(); g.Pending != 4 || g.Lag != 6 || g.Missed != 0 || g.Oldest.IsZero() {
		t.Errorf("before: %+v", g)
	}
	_, err := s.Trim(t.Context(), event.Policy{MaxLen: 3, Apply: true})
	must(t, err)
	if g := look(); g.Lag != 3 || g.Missed != 3 {
		t.Errorf("trimmed: %+v", g)
	}
	b := event.ConsumerOf(s, "g",
		event.RunOptions[note]{Name: "b", Lease: time.Millisecond, OnError: func(err error) { told = append(told, err) }})
	eventually(t, "the trimmed are told", func() bool {
		must(t, b.Claim(t))
		return len(told) > 0
	})
	if trimmed := (*event.Trimmed)(nil); !errors.As(told[0], &trimmed) || len(trimmed.IDs) != 4 || len(b.Hand()) > 0 {
		t.Errorf("%v, %v in hand", told, b.Hand())
	}
	must(t, b.Fetch(t, 10))
	if g := look(); g.Lag != 0 || g.Missed != 0 || g.Pending != 3 {
		t.Errorf("read on: %+v", g)
	}
}
