package gather

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
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
	if most.Load() > 2 || largest.Load() > 50 || calls.Load() > 10_000 || len(g.pending) != 0 {
		t.Errorf("%d calls, %d at a time, %d questions in one; %d flying, %d pending", calls.Load(), most.Load(), largest.Load(), g.flying, len(g.pending))
	}
}

// TestCallersThatLeave: a caller whose context ends leaves; its question is
// asked, and the call that it was to make is made.
func TestCallersThatLeave(t *testing.T) {
	enter, leave := make(chan struct{}), make(chan struct{})
	var asked atomic.Int64
	g := New(3, func(_ context.Context, asks []int) []int {
		enter <- struct{}{}
		<-leave
		asked.Add(int64(len(asks)))
		return asks
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { _, _, _ = g.Do(t.Context(), 1) })
		<-enter
	}
	ctx, cancel := context.WithCancel(t.Context())
	var left atomic.Int64
	for range 10 {
		wg.Go(func() {
			if _, late, err := g.Do(ctx, 1); err != nil {
				left.Add(1)
				<-late
			}
		})
	}
	for waiting := 0; waiting < 10; {
		g.mu.Lock()
		waiting = len(g.pending)
		g.mu.Unlock()
	}
	cancel()
	go func() {
		for range enter {
		}
	}()
	close(leave)
	wg.Wait()
	for done := false; !done; {
		g.mu.Lock()
		done = g.flying == 0
		g.mu.Unlock()
	}
	close(enter)
	if asked.Load() != 12 || left.Load() != 10 {
		t.Errorf("%d of 12 were asked, %d callers left", asked.Load(), left.Load())
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
	for waiting := 0; waiting < 6; {
		g.mu.Lock()
		waiting = len(g.pending)
		g.mu.Unlock()
	}
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

// TestLeaderPanics: what waited behind a call that panicked is asked, and as many
// calls fly as before.
func TestLeaderPanics(t *testing.T) {
	var g *Gather[int, int]
	entered, bang := make(chan struct{}), make(chan struct{})
	g = New(10, func(_ context.Context, asks []int) []int {
		if asks[0] == 0 {
			entered <- struct{}{}
			<-bang
			panic("a hook of the caller")
		}
		return asks
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			defer func() { _ = recover() }()
			_, _ = g.Lead(t.Context(), 0)
		})
		<-entered
	}
	wg.Go(func() {
		if got, err := g.Lead(t.Context(), 7); got != 7 || err != nil {
			t.Errorf("%d %v", got, err)
		}
	})
	for waiting := 0; waiting < 1; {
		g.mu.Lock()
		waiting = len(g.pending)
		g.mu.Unlock()
	}
	close(bang)
	wg.Wait()
	if got, err := g.Lead(t.Context(), 8); got != 8 || err != nil {
		t.Errorf("%d %v", got, err)
	}
	for landed := false; !landed; {
		g.mu.Lock()
		landed = g.flying == 0 && g.aboard == 0
		g.mu.Unlock()
	}
}

// TestUntil: who waits for a call that does not come back hears that nobody waits
// any more; the question is answered nevertheless.
func TestUntil(t *testing.T) {
	over := errors.New("over")
	life, end := context.WithCancelCause(t.Context())
	leave := make(chan struct{})
	g := New(10, func(_ context.Context, asks []int) []int { <-leave; return asks }).Until(life)
	left := make(chan (<-chan struct{}), 5)
	for range 5 {
		go func() {
			_, late, err := g.Do(t.Context(), 1)
			if err != over {
				t.Errorf("%v", err)
			}
			left <- late
		}()
	}
	for waiting := 0; waiting < 3; {
		g.mu.Lock()
		waiting = len(g.pending)
		g.mu.Unlock()
	}
	end(over)
	var late []<-chan struct{}
	for range 5 {
		late = append(late, <-left)
	}
	close(leave)
	for _, l := range late {
		<-l
	}
}
