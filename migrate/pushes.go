package migrate

import (
	"context"
	"sync"
	"time"

	"github.com/keywright/keywright/migrate/record"
)

// pushes bring records of files to Redis for the writers of this process: those of one file
// that wait together share one ticket and one reading of the file.
type pushes struct {
	life context.Context
	work *sync.WaitGroup // of those under way
	wait time.Duration   // how long one may take
	do   func(ctx context.Context, part string, epoch uint64, byFile map[string][]record.ID) error
	mu   sync.Mutex
	of   map[pushTo]*pushing
}

// pushTo describes what pushes have in common that can be done together.
type pushTo struct {
	part, file string
	epoch      uint64
}

// pushing represents the next push to one file, and whether one is under way.
type pushing struct {
	next *sharedPush
	busy bool
}

// sharedPush represents one push for all that have come before it began.
type sharedPush struct {
	ids  []record.ID
	done chan struct{}
	err  error
}

// push brings records to Redis. What was committed before it is called is in what is read.
func (p *pushes) push(ctx context.Context, to pushTo, ids []record.ID) error {
	p.mu.Lock()
	if p.life.Err() != nil {
		p.mu.Unlock()
		return context.Cause(p.life)
	}
	if p.of == nil {
		p.of = map[pushTo]*pushing{}
	}
	is := p.of[to]
	if is == nil {
		is = &pushing{}
		p.of[to] = is
	}
	if is.next == nil {
		is.next = &sharedPush{done: make(chan struct{})}
	}
	mine := is.next
	mine.ids = append(mine.ids, ids...)
	if !is.busy {
		is.busy = true
		p.work.Add(1)
		go p.serve(to, is)
	}
	p.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return context.Cause(ctx) // the marks stay
	}
}

// serve pushes until none waits.
func (p *pushes) serve(to pushTo, is *pushing) {
	defer p.work.Done()
	for {
		p.mu.Lock()
		s := is.next
		if is.next = nil; s == nil {
			delete(p.of, to)
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(p.life, p.wait)
		s.err = p.do(ctx, to.part, to.epoch, map[string][]record.ID{to.file: s.ids})
		cancel()
		close(s.done)
	}
}
