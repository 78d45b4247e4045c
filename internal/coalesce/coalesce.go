// Package coalesce lets many goroutines share calls to a server: what they ask
// while calls are under way goes together with the next one. A caller that is
// alone waits for no one; a hundred cost as much as a few.
//
// It knows no server: a call is a function from many questions to as many
// answers.
//
// Nothing outlives its callers but the calls under way, whose number and size are
// bounded: a question that is not asked yet leaves with its caller.
package coalesce

import (
	"context"
	"math"
	"runtime"
	"sync"
)

// Coalescer shares calls of one kind.
type Coalescer[Q, A any] struct {
	most    int // questions in one call
	flights int // calls under way
	heavy   int // what the questions of one call weigh at most; one may weigh more
	weigh   func(Q) int
	call    func(context.Context, []Q) []A
	life    context.Context // all waiting ends with it
	spare   sync.Pool       // questions that were answered

	mu      sync.Mutex
	flying  int
	aboard  int // questions of the calls under way
	pending line[Q, A]
}

// question represents one caller.
type question[Q, A any] struct {
	ask    Q
	answer A
	done   chan struct{} // has room for one

	flight        *Call // that carries it; nil: it is pending
	before, after *question[Q, A]
}

// NotAsked represents the error of a caller that left before its question was asked: it
// never will be.
type NotAsked struct{ Err error }

func (e *NotAsked) Error() string { return e.Err.Error() }

// Unwrap gives why the caller left.
func (e *NotAsked) Unwrap() error { return e.Err }

// New makes a Gather: call gets at most `most` questions and gives an answer to
// each, in their order. Two calls are under way at a time: while the server works
// on one, the other travels.
func New[Q, A any](most int, call func(context.Context, []Q) []A) *Coalescer[Q, A] {
	return &Coalescer[Q, A]{most: most, flights: 2, call: call, life: context.Background()}
}

// Each makes a Gather that gathers nothing: every question is a call of its own,
// and none waits for another.
func Each[Q, A any](call func(context.Context, []Q) []A) *Coalescer[Q, A] {
	return &Coalescer[Q, A]{most: 1, flights: math.MaxInt, call: call, life: context.Background()}
}

// Weigh bounds the questions of one call by what they weigh together. It is for
// before the first question.
func (g *Coalescer[Q, A]) Weigh(most int, weigh func(Q) int) *Coalescer[Q, A] {
	g.heavy, g.weigh = most, weigh
	return g
}

// Until ends all waiting when life ends, with its cause as the error. It is for
// before the first question.
func (g *Coalescer[Q, A]) Until(life context.Context) *Coalescer[Q, A] {
	g.life = life
	return g
}

// Do asks. When ctx ends before the answer is there, its caller leaves. A question
// that was not asked leaves, too: the error is a NotAsked, and late is nil. Else it
// goes on without its caller: the error is that of ctx, and late can be received
// from, once, when it has been answered. So when all waiting ends.
func (g *Coalescer[Q, A]) Do(ctx context.Context, ask Q) (answer A, late <-chan struct{}, err error) {
	if g.life.Err() != nil {
		return answer, nil, &NotAsked{context.Cause(g.life)}
	}
	g.mu.Lock()
	q := g.question(ask)
	if g.depart() {
		f := &Call{aboard: 1}
		q.flight = f
		g.mu.Unlock()
		go g.fly(f, []*question[Q, A]{q})
	} else {
		g.pending.push(q)
		g.mu.Unlock()
	}
	return g.wait(ctx, q)
}

// Lead works as Do does, for a caller that need not know when a call is over that it has
// left: if no one keeps it waiting it makes the call itself, with its own ctx,
// which saves two changes of goroutines.
func (g *Coalescer[Q, A]) Lead(ctx context.Context, ask Q) (answer A, err error) {
	if g.life.Err() != nil {
		return answer, &NotAsked{context.Cause(g.life)}
	}
	g.mu.Lock()
	if !g.depart() {
		q := g.question(ask)
		g.pending.push(q)
		g.mu.Unlock()
		answer, _, err = g.wait(ctx, q)
		return answer, err
	}
	g.mu.Unlock()
	defer func() { // also when the call panics, and its caller goes on
		if f, batch := g.next(1, nil); f != nil {
			go g.fly(f, batch)
		}
	}()
	return g.call(ctx, []Q{ask})[0], nil
}

// question returns a new one, or one that was answered. The caller holds mu.
func (g *Coalescer[Q, A]) question(ask Q) *question[Q, A] {
	q, ok := g.spare.Get().(*question[Q, A])
	if !ok {
		q = &question[Q, A]{done: make(chan struct{}, 1)}
	}
	q.ask = ask
	return q
}

// depart begins a flight with one question, if there is room for a flight. The
// caller holds mu.
func (g *Coalescer[Q, A]) depart() bool {
	if g.flying >= g.flights {
		return false
	}
	g.flying++
	g.aboard++
	return true
}

func (g *Coalescer[Q, A]) wait(ctx context.Context, q *question[Q, A]) (answer A, late <-chan struct{}, err error) {
	select {
	case <-q.done:
		answer = q.answer
		*q = question[Q, A]{done: q.done}
		g.spare.Put(q)
		return answer, nil, nil
	case <-ctx.Done():
		return g.leave(q, ctx.Err())
	case <-g.life.Done():
		return g.leave(q, context.Cause(g.life))
	}
}

// leave takes a question away whose caller waits no longer.
func (g *Coalescer[Q, A]) leave(q *question[Q, A], why error) (answer A, late <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.flight == nil {
		g.pending.take(q)
		return answer, nil, &NotAsked{why}
	}
	if q.flight.aboard--; q.flight.aboard == 0 && q.flight.callOff() {
		return answer, nil, &NotAsked{why}
	}
	return answer, q.done, why
}

// fly makes calls until nothing is asked any more.
func (g *Coalescer[Q, A]) fly(f *Call, batch []*question[Q, A]) {
	for len(batch) > 0 {
		asks := make([]Q, len(batch))
		for i, q := range batch {
			asks[i] = q.ask
		}
		answers := g.call(f, asks)
		for i, q := range batch {
			q.answer = answers[i]
			q.done <- struct{}{}
		}
		runtime.Gosched() // a caller that has its answer may ask again at once: that goes along
		f, batch = g.next(len(batch), batch)
	}
}

// next returns what has gathered meanwhile, in the room of an old batch; nothing ends
// the flight, which had that many questions. It leaves half of all that are
// on the way to the other flight: else one may carry nearly all of them, and the
// server wait while they are written and read.
func (g *Coalescer[Q, A]) next(landed int, old []*question[Q, A]) (*Call, []*question[Q, A]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.aboard -= landed
	share := 1 + (g.pending.n+g.aboard-1)/g.flights
	n := min(g.pending.n, g.most, share)
	if n == 0 {
		g.flying--
		return nil, nil
	}
	f, batch, weight := &Call{}, old[:0], 0
	for len(batch) < n {
		q := g.pending.first
		if g.weigh != nil {
			if weight += g.weigh(q.ask); weight > g.heavy && len(batch) > 0 {
				break
			}
		}
		g.pending.take(q)
		q.flight = f
		batch = append(batch, q)
	}
	f.aboard = len(batch)
	g.aboard += len(batch)
	return f, batch
}

// line holds the questions that wait, the oldest first.
type line[Q, A any] struct {
	first, last *question[Q, A]
	n           int
}

func (l *line[Q, A]) push(q *question[Q, A]) {
	if q.before = l.last; q.before == nil {
		l.first = q
	} else {
		q.before.after = q
	}
	l.last = q
	l.n++
}

func (l *line[Q, A]) take(q *question[Q, A]) {
	if q.before == nil {
		l.first = q.after
	} else {
		q.before.after = q.after
	}
	if q.after == nil {
		l.last = q.before
	} else {
		q.after.before = q.before
	}
	q.before, q.after = nil, nil
	l.n--
}
