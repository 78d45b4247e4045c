// Package gather lets many goroutines share calls to a server: what they ask
// while calls are under way goes together with the next one. A caller that is
// alone waits for nobody; a hundred cost as much as a few.
//
// It knows no server: a call is a function from many questions to as many
// answers.
package gather

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Gather shares calls of one kind.
type Gather[Q, A any] struct {
	most    int // questions in one call
	flights int // calls under way
	call    func(context.Context, []Q) []A
	life    context.Context // who waits when it ends waits no longer
	spare   sync.Pool       // questions that were answered

	mu      sync.Mutex
	flying  int
	aboard  int // questions of the calls under way
	pending []*question[Q, A]
}

// question is one caller.
type question[Q, A any] struct {
	ask    Q
	answer A
	done   chan struct{} // has room for one
}

// New makes a Gather: call gets at most `most` questions and gives an answer to
// each, in their order. Two calls are under way at a time: while the server works
// on one, the other travels.
func New[Q, A any](most int, call func(context.Context, []Q) []A) *Gather[Q, A] {
	return &Gather[Q, A]{most: most, flights: 2, call: call, life: context.Background()}
}

// Each makes a Gather that gathers nothing: every question is a call of its own,
// and none waits for another.
func Each[Q, A any](call func(context.Context, []Q) []A) *Gather[Q, A] {
	return &Gather[Q, A]{most: 1, flights: math.MaxInt, call: call, life: context.Background()}
}

// Until ends all waiting when life ends, with its cause as the error. It is for
// before the first question.
func (g *Gather[Q, A]) Until(life context.Context) *Gather[Q, A] {
	g.life = life
	return g
}

// Do asks. When ctx ends before the answer is there, the question goes on
// without its caller: the error is that of ctx, and late can be received from,
// once, when it has been answered. So when all waiting ends.
func (g *Gather[Q, A]) Do(ctx context.Context, ask Q) (answer A, late <-chan struct{}, err error) {
	g.mu.Lock()
	q := g.question(ask)
	if g.depart() {
		g.mu.Unlock()
		go g.fly([]*question[Q, A]{q})
	} else {
		g.pending = append(g.pending, q)
		g.mu.Unlock()
	}
	return g.wait(ctx, q)
}

// Lead is Do for a caller that need not know when a call is over that it has
// left: if nobody keeps it waiting it makes the call itself, with its own ctx,
// which saves two changes of goroutines.
func (g *Gather[Q, A]) Lead(ctx context.Context, ask Q) (answer A, err error) {
	g.mu.Lock()
	if !g.depart() {
		q := g.question(ask)
		g.pending = append(g.pending, q)
		g.mu.Unlock()
		answer, _, err = g.wait(ctx, q)
		return answer, err
	}
	g.mu.Unlock()
	defer func() { // also when the call panics, and its caller goes on
		if batch := g.next(1, nil); len(batch) > 0 {
			go g.fly(batch)
		}
	}()
	return g.call(ctx, []Q{ask})[0], nil
}

// question is a new one, or one that was answered. The caller holds mu.
func (g *Gather[Q, A]) question(ask Q) *question[Q, A] {
	q, ok := g.spare.Get().(*question[Q, A])
	if !ok {
		q = &question[Q, A]{done: make(chan struct{}, 1)}
	}
	q.ask = ask
	return q
}

// depart begins a flight with one question, if there is room for a flight. The
// caller holds mu.
func (g *Gather[Q, A]) depart() bool {
	if g.flying >= g.flights {
		return false
	}
	g.flying++
	g.aboard++
	return true
}

func (g *Gather[Q, A]) wait(ctx context.Context, q *question[Q, A]) (answer A, late <-chan struct{}, err error) {
	select {
	case <-q.done:
		answer = q.answer
		*q = question[Q, A]{done: q.done}
		g.spare.Put(q)
		return answer, nil, nil
	case <-ctx.Done():
		return answer, q.done, ctx.Err()
	case <-g.life.Done():
		return answer, q.done, context.Cause(g.life)
	}
}

// fly makes calls until nothing is asked any more.
func (g *Gather[Q, A]) fly(batch []*question[Q, A]) {
	for len(batch) > 0 {
		asks := make([]Q, len(batch))
		for i, q := range batch {
			asks[i] = q.ask
		}
		answers := g.call(context.Background(), asks)
		for i, q := range batch {
			q.answer = answers[i]
			q.done <- struct{}{}
		}
		runtime.Gosched() // who has its answer may ask again at once: that goes along
		batch = g.next(len(batch), batch)
	}
}

// next is what has gathered meanwhile, in the room of an old batch; nothing ends
// the flight, which had that many questions aboard. It leaves half of all that are
// on the way to the other flight: else one may carry nearly all of them, and the
// server wait while they are written and read.
func (g *Gather[Q, A]) next(landed int, old []*question[Q, A]) []*question[Q, A] {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.aboard -= landed
	share := 1 + (len(g.pending)+g.aboard-1)/g.flights
	n := min(len(g.pending), g.most, share)
	if n == 0 {
		g.flying--
		return nil
	}
	g.aboard += n
	batch := append(old[:0], g.pending[:n]...)
	g.pending = slices.Delete(g.pending, 0, n)
	return batch
}
