package server

import (
	"context"

	"github.com/keywright/keywright/source"
)

// pipeline keeps the server at work: while the facts and values of one page are
// read, it looks up those of the next pages. Pages are delivered in order.
type pipeline struct {
	pages []*page  // on their way, the oldest first
	idle  []*page  // to be used again
	wire  []answer // what the connection brings next, in order
	next  string   // the cursor to ask for
	more  bool     // and whether there is one
	due   bool     // the server is to be measured before it is asked for more
	owed  int      // keys and elements that were read since the pace was kept
}

// answer describes what comes on the wire, and how it is read.
type answer struct {
	read func(*walk, context.Context, *page) error
	page *page
}

// page describes what one SCAN returned: names in one slab, then the facts of the keys,
// then their values.
type page struct {
	slab []byte
	ends []int
	next string // the cursor that follows

	counted int64 // keys of it in seen
	left    int64 // keys that are not wanted

	sized bool // MEMORY USAGE was asked for
	batch []source.Key
	gone  int

	had    []string // names that came, of keys that the consumer had before
	denied int64    // keys out of the user's reach

	expects   []source.Kind // by name: the type that it tells; empty: none was asked
	guessed   []bool        // by key of batch: its type was not asked for
	wants     []wish        // by key of batch; empty: no key has a value to be read
	ready     int           // keys of batch that are complete
	end       int           // keys of batch whose values are being read, from ready on
	delivered int           // keys of batch that the consumer had
	waits     bool          // for being the oldest, before more is asked
	done      bool          // all keys are complete
	readings  []reading     // values that are being read
	arena
}

// leftOut reports whether a key is not wanted, and counts it.
func (w *walk) leftOut(p *page, name []byte) bool {
	if w.req.Wants == nil || w.req.Wants(name) {
		return false
	}
	p.left++
	return true
}

func (p *page) name(i int) []byte {
	start := 0
	if i > 0 {
		start = p.ends[i-1]
	}
	return p.slab[start:p.ends[i]:p.ends[i]]
}

// How many pages are on their way: one delivered, one whose facts and one whose
// names are on the wire; with values one more.
const (
	pagesAhead  = 3
	valuesAhead = 4
)

func (w *walk) ahead() int {
	if w.req.Values == nil && w.req.Sizes == nil {
		return pagesAhead
	}
	return valuesAhead
}

// restart begins at w.cursor, over a new connection perhaps. Keys of a page that the
// consumer had it does not get again.
func (w *walk) restart() {
	w.mu.Lock()
	for _, p := range w.pages {
		for _, k := range p.batch[:p.delivered] {
			w.track.had[string(k.Name)] = true
		}
		w.forget(p)
		w.idle = append(w.idle, p)
	}
	w.track.page = nil
	w.looked, w.denied = w.track.Looked, w.track.Denied
	w.mu.Unlock()
	w.pages, w.wire = w.pages[:0], w.wire[:0]
	w.next, w.more, w.due = w.cursor, true, false
}

// page returns an empty page at the end of the queue.
func (w *walk) page() *page {
	p := &page{}
	if n := len(w.idle); n > 0 {
		p, w.idle = w.idle[n-1], w.idle[:n-1]
		*p = page{slab: p.slab[:0], ends: p.ends[:0], batch: p.batch[:0], wants: p.wants[:0], expects: p.expects[:0],
			guessed: p.guessed[:0], readings: p.readings[:0], arena: p.arena}
	}
	p.reset()
	w.pages = append(w.pages, p)
	return p
}

// askNext asks for one more page, if there is room. It keeps the rate, and waits
// for a slow server.
func (w *walk) askNext(ctx context.Context) error {
	if w.due && len(w.wire) == 0 {
		w.due = false
		if err := w.measure(ctx); err != nil {
			return err
		}
	}
	if !w.more || w.due || len(w.pages) >= w.ahead() {
		return nil
	}
	if err := w.keepPace(ctx); err != nil {
		return err
	}
	w.more = false // until its names tell
	w.askPage(w.next)
	w.wire = append(w.wire, answer{(*walk).names, w.page()})
	return nil
}

// names reads the names of a page and asks for its facts, after the next page:
// so the server has work when the client has.
func (w *walk) names(ctx context.Context, p *page) error {
	if err := w.readNames(p); err != nil {
		return err
	}
	return w.follow(ctx, p)
}

func (w *walk) follow(ctx context.Context, p *page) error {
	w.owed += len(p.ends)
	if w.more = w.goesOn(p); w.more {
		w.next, w.due = p.next, w.measures()
	}
	if err := w.askNext(ctx); err != nil {
		return err
	}
	w.askFacts(p)
	w.wire = append(w.wire, answer{(*walk).readFacts, p})
	return nil
}

// handOver delivers what is complete of the oldest pages.
func (w *walk) handOver(ctx context.Context) error {
	for len(w.pages) > 0 {
		p := w.pages[0]
		if p.ready > p.delivered || p.done && p.gone > 0 {
			if err := w.hand(p); err != nil {
				return &consumerError{err}
			}
			p.reset()
		}
		if !p.done {
			if p.waits {
				p.waits = false
				if err := w.askValues(p); err != nil {
					return err
				}
				continue
			}
			return nil
		}
		w.passed(p)
		copy(w.pages, w.pages[1:])
		w.pages = w.pages[:len(w.pages)-1]
		w.idle = append(w.idle, p)
	}
	return nil
}

// hand delivers the keys of a page that are ready, and notes how far the walk has come.
func (w *walk) hand(p *page) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.give(p.batch[p.delivered:p.ready], p.gone); err != nil {
		return err
	}
	for _, k := range p.batch[p.delivered:p.ready] {
		delete(w.track.values, string(k.Name))
		if k.Closed {
			w.track.Closed++
		}
	}
	p.delivered, p.gone, w.track.page = p.ready, 0, p
	return w.checkpoint()
}

// passed notes that the consumer had all of a page.
func (w *walk) passed(p *page) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cursor = p.next
	t := w.track
	t.Cursor, t.page = p.next, nil
	t.Looked, t.Denied = t.Looked+int64(len(p.ends)+len(p.had))+p.left, t.Denied+p.denied
	if p.left > 0 {
		w.left += p.left
		w.req.LeftOut(p.left)
	}
	for _, name := range p.had {
		delete(t.had, name)
	}
}
