package coalesce

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/keywright/keywright/internal/expect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryQuestionIsAnswered: by its own answer, in few calls, never more than
// two at a time.
func TestEveryQuestionIsAnswered(t *testing.T) {
	var calls, flying, most, largest atomic.Int64
	g := New(50, func(_ context.Context, asks []int) []int {
		calls.Add(1)
		most.Store(max(most.Load(), flying.Add(1)))
		largest.Store(max(largest.Load(), int64(len(asks))))
		defer flying.Add(-1)
		out := make([]int, len(asks))
		for i, a := range asks {
			out[i] = 2 * a
		}
		return out
	})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			for j := range 50 {
				if got, _, err := g.Do(t.Context(), 1000*i+j); err != nil || got != 2*(1000*i+j) {
					t.Errorf("%d %v", got, err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() > 2 || largest.Load() > 50 || calls.Load() > 10_000 || g.pending.n != 0 {
		t.Errorf("%d calls, %d at a time, %d questions in one; %d flying, %d pending", calls.Load(), most.Load(),
			largest.Load(), g.flying, g.pending.n)
	}
}

// await waits for a condition of a Gather.
func await[Q, A any](t *testing.T, g *Coalescer[Q, A], what string, ok func() bool) {
	t.Helper()
	expect.Eventually(t, what, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return ok()
	})
}

// TestCallersThatLeave: a question whose caller leaves before it is asked is never
// asked, and nothing is kept of it; one that is asked goes on without its caller.
func TestCallersThatLeave(t *testing.T) {
	enter, leave := make(chan struct{}, 100), make(chan struct{})
	var asked atomic.Int64
	g := New(3, func(ctx context.Context, asks []int) []int {
		FlightOf(ctx).Go()
		enter <- struct{}{}
		<-leave
		asked.Add(int64(len(asks)))
		return asks
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	late := make(chan (<-chan struct{}), 2)
	for range 2 {
		wg.Go(func() {
			_, l, err := g.Do(ctx, 1)
			if _, never := errors.AsType[*NotAsked](err); err == nil || never {
				t.Errorf("a question that was asked: %v", err)
			}
			late <- l
		})
		<-enter
	}
	var stay sync.WaitGroup
	for i := range 10 {
		if i == 5 {
			stay.Go(func() {
				if _, _, err := g.Do(t.Context(), 1); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			_, l, err := g.Do(ctx, 1)
			if _, never := errors.AsType[*NotAsked](err); !never || !errors.Is(err, context.Canceled) || l != nil {
				t.Errorf("a question that was not asked: %v, late %v", err, l)
			}
		})
	}
	await(t, g, "eleven wait", func() bool { return g.pending.n == 11 })
	cancel()
	wg.Wait()
	if g.pending.n != 1 || g.pending.first != g.pending.last || g.pending.first.before != nil ||
		g.pending.first.after != nil {
		t.Errorf("%d questions are kept", g.pending.n)
	}
	close(leave)
	stay.Wait()
	<-<-late
	<-<-late
	await(t, g, "all calls are over", func() bool { return g.flying == 0 })
	if asked.Load() != 3 {
		t.Errorf("%d questions were asked, not 3", asked.Load())
	}
}

// TestACallThatWaits: if all callers leave while it says that nothing is sent yet,
// it is never sent, and they learn it. If one stays it is sent.
func TestACallThatWaits(t *testing.T) {
	for _, stays := range []bool{false, true} {
		held, send, goes := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
		g := New(9, func(ctx context.Context, asks []int) []int {
			if asks[0] == 0 {
				return asks
			}
			f := FlightOf(context.WithValue(ctx, t, t))
			held <- struct{}{}
			<-send
			goes <- f.Go()
			return asks
		})
		g.flights = 1
		block := make(chan struct{})
		first := g.call
		g.call = func(ctx context.Context, asks []int) []int {
			if asks[0] == 0 {
				<-block
			}
			return first(ctx, asks)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _, _, _ = g.Do(t.Context(), 0) })
		await(t, g, "the first call is under way", func() bool { return g.flying == 1 })
		ctx, cancel := context.WithCancel(t.Context())
		var never atomic.Int64
		for i := range 3 {
			wg.Go(func() {
				at := ctx
				if i == 2 && stays {
					at = t.Context()
				}
				_, _, err := g.Do(at, 1)
				if _, ok := errors.AsType[*NotAsked](err); ok {
					never.Add(1)
				}
			})
		}
		await(t, g, "three wait", func() bool { return g.pending.n == 3 })
		close(block)
		<-held
		cancel()
		if !stays {
			wg.Wait()
		} else {
			await(t, g, "two have left", func() bool { return g.aboard == 3 })
		}
		close(send)
		wg.Wait()
		if went := <-goes; went != stays || stays && never.Load() > 0 || !stays && never.Load() < 1 {
			t.Errorf("one stays: %t; it was sent: %t, %d were told that it never is", stays, went, never.Load())
		}
	}
}

// TestSentBefore: what was sent once may have been applied, although it waits again.
func TestSentBefore(t *testing.T) {
	f := &Call{}
	if !f.Go() {
		t.Error("it may not be sent")
	}
	if f.callOff() || !f.Go() {
		t.Error("a call that was sent is called off")
	}
	if f := (&Call{}); !f.callOff() || f.Go() {
		t.Error("a call that nobody waits for is sent")
	}
	if FlightOf(t.Context()) != nil {
		t.Error("a context of nobody's call has a flight")
	}
}

// TestHeavyQuestions travel in calls that are not too big.
func TestHeavyQuestions(t *testing.T) {
	var mu sync.Mutex
	var sizes []int
	block := make(chan struct{})
	g := New(50, func(_ context.Context, asks []int) []int {
		if asks[0] == 0 {
			<-block
			return asks
		}
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for _, a := range asks {
			n += a
		}
		if sizes = append(sizes, n); n > 10 && len(asks) > 1 {
			t.Errorf("a call weighs %d: %v", n, asks)
		}
		return asks
	}).Weigh(10, func(n int) int { return n })
	g.flights = 1
	var wg sync.WaitGroup
	wg.Go(func() { _, _, _ = g.Do(t.Context(), 0) })
	await(t, g, "the first call is under way", func() bool { return g.flying == 1 })
	for i := range 12 {
		wg.Go(func() { _, _, _ = g.Do(t.Context(), []int{3, 4, 25}[i%3]) })
	}
	await(t, g, "twelve wait", func() bool { return g.pending.n == 12 })
	close(block)
	wg.Wait()
	total := 0
	for _, n := range sizes {
		total += n
	}
	if total != 4*(3+4+25) || len(sizes) > 12 {
		t.Errorf("calls of %v", sizes)
	}
}

// TestNobodyHearsAnothersAnswer: questions are used again, but none that its
// caller has left, since it may still be under way.
func TestNobodyHearsAnothersAnswer(t *testing.T) {
	g := New(5, func(_ context.Context, asks []int) []int {
		runtime.Gosched()
		return slices.Clone(asks)
	})
	var wg sync.WaitGroup
	var left atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			for j := range 3000 {
				ctx, cancel := context.WithCancel(t.Context())
				if j%3 == 0 {
					go cancel()
				}
				ask := i*3000 + j
				var answer int
				var err error
				if j%2 == 0 {
					answer, err = g.Lead(ctx, ask)
				} else {
					answer, _, err = g.Do(ctx, ask)
				}
				if err != nil {
					left.Add(1)
				} else if answer != ask {
					t.Errorf("asked %d, heard %d", ask, answer)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if left.Load() == 0 {
		t.Error("nobody has left: this shows nothing")
	}
}

// TestShares: a call takes half of all that are on the way, so that the two are
// alike, and neither the server nor the callers wait for one that has them all.
func TestShares(t *testing.T) {
	sizes, leave := make(chan int), make(chan struct{})
	g := New(50, func(_ context.Context, asks []int) []int {
		sizes <- len(asks)
		<-leave
		return asks
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _, _, _ = g.Do(t.Context(), 1) })
	}
	<-sizes
	<-sizes // of one each; the other six wait
	await(t, g, "six wait", func() bool { return g.pending.n == 6 })
	for _, want := range []int{4, 2} { // of 6 and the one of the other call; of 2 and those 4
		leave <- struct{}{}
		if got := <-sizes; got != want {
			t.Errorf("a call had %d questions, not %d", got, want)
		}
	}
	close(leave)
	wg.Wait()
	for landed := false; !landed; {
		g.mu.Lock()
		landed = g.flying == 0 && g.aboard == 0
		g.mu.Unlock()
	}
}

// TestLeaderPanics: what waited for a call that panicked is asked, and as many
// calls fly as before.
func TestLeaderPanics(t *testing.T) {
	entered, bang := make(chan struct{}), make(chan struct{})
	g := New(10, func(_ context.Context, asks []int) []int {
		if asks[0] == 0 {
			entered <- struct{}{}
			<-bang
			panic("a hook of the caller")
		}
		return asks
	})
	for range 2 {
		go func() {
			defer func() { _ = recover() }()
			_, _ = g.Lead(t.Context(), 0)
		}()
		<-entered
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		got, err := g.Lead(ctx, 7)
		if err == nil && got != 7 {
			t.Errorf("%d", got)
		}
		answered <- err
	}()
	await(t, g, "one waits", func() bool { return g.pending.n == 1 })
	close(bang)
	if err := <-answered; err != nil {
		t.Fatalf("a question that waited for a call that panicked: %v", err)
	}
	if got, err := g.Lead(ctx, 8); got != 8 || err != nil {
		t.Errorf("%d %v", got, err)
	}
	await(t, g, "all calls are over", func() bool { return g.flying == 0 && g.aboard == 0 })
}

// TestUntil: a caller that waits for a call that does not come back learns that all
// waiting is over; a question that was asked is answered nevertheless.
func TestUntil(t *testing.T) {
	over := errors.New("over")
	life, end := context.WithCancelCause(t.Context())
	enter, leave := make(chan struct{}, 5), make(chan struct{})
	g := New(10, func(ctx context.Context, asks []int) []int {
		FlightOf(ctx).Go()
		enter <- struct{}{}
		<-leave
		return asks
	}).Until(life)
	left := make(chan (<-chan struct{}), 5)
	for range 5 {
		go func() {
			_, late, err := g.Do(t.Context(), 1)
			if !errors.Is(err, over) {
				t.Errorf("%v", err)
			}
			left <- late
		}()
	}
	await(t, g, "three wait", func() bool { return g.pending.n == 3 })
	<-enter
	<-enter
	end(over)
	dropped := 0
	var late []<-chan struct{}
	for range 5 {
		if l := <-left; l != nil {
			late = append(late, l)
		} else {
			dropped++
		}
	}
	close(leave)
	for _, l := range late {
		<-l
	}
	if _, late, err := g.Do(t.Context(), 1); late != nil || !errors.Is(err, over) {
		t.Errorf("a question after the end: %v", err)
	}
	if _, err := g.Lead(t.Context(), 1); !errors.Is(err, over) {
		t.Errorf("a question after the end: %v", err)
	}
	if dropped != 3 {
		t.Errorf("%d of 3 questions that were not asked were dropped", dropped)
	}
}
