// Package gather lets many goroutines share calls to a server: what they ask
// while calls are under way goes together with the next one. A caller that is
// alone waits for nobody; a hundred cost as much as a few.
//
// It knows no server: a call is a function from many questions to as many
// answers.
package gather

import (
	"context"
	"sync"
)

// Gather shares calls of one kind.
type Gather[Q, A any] struct {
	most    int // questions in one call
	flights int // calls under way
	call    func([]Q) []A

	mu      sync.Mutex
	flying  int
	pending []*question[Q, A]
}

// question is one caller.
type question[Q, A any] struct {
	ask    Q
	answer A
	batch  []*question[Q, A] // not nil: it is to make this call, its own question first
	done   chan struct{}
}

// New makes a Gather: call gets at most `most` questions and gives an answer to
// each, in their order. Two calls are under way at a time: while the server works
// on one, the other travels.
func New[Q, A any](most int, call func([]Q) []A) *Gather[Q, A] {
	return &Gather[Q, A]{most: most, flights: 2, call: call}
}

// Do asks. When ctx ends before the answer is there, the question goes on
// without its caller, and the error is that of ctx.
func (g *Gather[Q, A]) Do(ctx context.Context, ask Q) (A, error) {
	q := &question[Q, A]{ask: ask}
	g.mu.Lock()
	if g.flying < g.flights {
		g.flying++
		g.mu.Unlock()
		g.fly([]*question[Q, A]{q})
		return q.answer, nil
	}
	q.done = make(chan struct{})
	g.pending = append(g.pending, q)
	g.mu.Unlock()
	select {
	case <-q.done:
	case <-ctx.Done():
		go g.alone(q)
		var none A
		return none, ctx.Err()
	}
	if q.batch != nil {
		g.fly(q.batch)
	}
	return q.answer, nil
}

// alone sees to a question whose caller has gone: it may be the one that is to
// make the next call.
func (g *Gather[Q, A]) alone(q *question[Q, A]) {
	<-q.done
	if q.batch != nil {
		g.fly(q.batch)
	}
}

// fly makes one call, gives out its answers, and lets the next one be made.
func (g *Gather[Q, A]) fly(batch []*question[Q, A]) {
	asks := make([]Q, len(batch))
	for i, q := range batch {
		asks[i] = q.ask
	}
	answers := g.call(asks)
	for i, q := range batch {
		q.answer = answers[i]
		if i > 0 {
			q.batch = nil
			close(q.done)
		}
	}
	g.next()
}

// next hands the flight to the first of those that have gathered.
func (g *Gather[Q, A]) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.pending) == 0 {
		g.flying--
		return
	}
	n := min(len(g.pending), g.most)
	batch := g.pending[:n:n]
	g.pending = g.pending[n:]
	batch[0].batch = batch
	close(batch[0].done)
}
