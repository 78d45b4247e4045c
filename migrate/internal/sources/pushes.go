package sources

import (
	"context"
	"sync"
	"time"

	"github.com/keywright/keywright/migrate/record"
)

// Pushes bring records of files to Redis for the writers of this process: those of one file
// that wait together share one ticket and one reading of the file.
type Pushes struct {
	Life context.Context
	Work *sync.WaitGroup // of those under way
	Wait time.Duration   // how long one may take
	Do   func(ctx context.Context, part string, epoch uint64, byFile map[string][]record.ID) error
	Mu   sync.Mutex
	of   map[PushTo]*pushing
}

// PushTo describes what pushes have in common that can be done together.
type PushTo struct {
	Part, File string
	Epoch      uint64
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

// Push brings records to Redis. What was committed before it is called is in what is read.
func (p *Pushes) Push(ctx context.Context, to PushTo, ids []record.ID) error {
	p.Mu.Lock()
	if p.Life.Err() != nil {
		p.Mu.Unlock()
		return context.Cause(p.Life)
	}
	if p.of == nil {
		p.of = map[PushTo]*pushing{}
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
		p.Work.Add(1)
		go p.serve(to, is)
	}
	p.Mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return context.Cause(ctx) // the marks stay
	}
}

// serve pushes until none waits.
func (p *Pushes) serve(to PushTo, is *pushing) {
	defer p.Work.Done()
	for {
		p.Mu.Lock()
		s := is.next
		if is.next = nil; s == nil {
			delete(p.of, to)
			p.Mu.Unlock()
			return
		}
		p.Mu.Unlock()
		ctx, cancel := context.WithTimeout(p.Life, p.Wait)
		s.err = p.Do(ctx, to.Part, to.Epoch, map[string][]record.ID{to.File: s.ids})
		cancel()
		close(s.done)
	}
}
