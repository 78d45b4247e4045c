package scan

import (
	"context"

	"github.com/keywright/keywright/source"
)

// pipeline keeps the server at work: while the facts and values of one page are
// read, it looks up those of the next pages. Pages are delivered in order.
type pipeline struct {
	pages []*Page  // on their way, the oldest first
	idle  []*Page  // to be used again
	wire  []answer // what the connection brings next, in order
	next  string   // the cursor to ask for
	more  bool     // and whether there is one
	due   bool     // the server is to be measured before it is asked for more
	owed  int      // keys and elements that were read since the pace was kept
}

// answer describes what comes on the wire, and how it is read.
type answer struct {
	read func(*Walk, context.Context, *Page) error
	page *Page
}

// Page describes what one SCAN returned: names in one slab, then the facts of the keys,
// then their values.
type Page struct {
	Slab []byte
	Ends []int
	Next string // the cursor that follows

	counted int64 // keys of it in seen
	left    int64 // keys that are not wanted

	sized bool // MEMORY USAGE was asked for
	batch []source.Key
	gone  int

	had    []string // names that came, of keys that the consumer had before
	denied int64    // keys out of the user's reach

	expects   []source.Kind // by name: the type that it tells; empty: none was asked
	guessed   []bool        // by key of batch: its type was not asked for
	wants     []extent      // by key of batch; empty: no key has a value to be read
	ready     int           // keys of batch that are complete
	end       int           // keys of batch whose values are being read, from ready on
	delivered int           // keys of batch that the consumer had
	waits     bool          // for being the oldest, before more is asked
	done      bool          // all keys are complete
	readings  []reading     // values that are being read
	arena
}

// leftOut reports whether a key is not wanted, and counts it.
func (w *Walk) leftOut(p *Page, name []byte) bool {
	if w.Request.Wants == nil || w.Request.Wants(name) {
		return false
	}
	p.left++
	return true
}

// Name returns the name of a key of the page.
func (p *Page) Name(i int) []byte {
	start := 0
	if i > 0 {
		start = p.Ends[i-1]
	}
	return p.Slab[start:p.Ends[i]:p.Ends[i]]
}

// How many pages are on their way: one delivered, one whose facts and one whose
// names are on the wire; with values one more.
const (
	pagesAhead  = 3
	valuesAhead = 4
)

func (w *Walk) pagesAtOnce() int {
	if w.Request.Values == nil && w.Request.Sizes == nil {
		return pagesAhead
	}
	return valuesAhead
}

// restart begins at w.cursor, over a new connection perhaps. Keys of a page that the
// consumer had it does not get again.
func (w *Walk) restart() {
	w.Mu.Lock()
	for _, p := range w.pages {
		for _, k := range p.batch[:p.delivered] {
			w.track.had[string(k.Name)] = true
		}
		w.forget(p)
		w.idle = append(w.idle, p)
	}
	w.track.page = nil
	w.Looked, w.Denied = w.track.Looked, w.track.Denied
	w.Mu.Unlock()
	w.pages, w.wire = w.pages[:0], w.wire[:0]
	w.next, w.more, w.due = w.Cursor, true, false
}

// page returns an empty page at the end of the queue.
func (w *Walk) page() *Page {
	p := &Page{}
	if n := len(w.idle); n > 0 {
		p, w.idle = w.idle[n-1], w.idle[:n-1]
		*p = Page{Slab: p.Slab[:0], Ends: p.Ends[:0], batch: p.batch[:0], wants: p.wants[:0], expects: p.expects[:0],
			guessed: p.guessed[:0], readings: p.readings[:0], arena: p.arena}
	}
	p.reset()
	w.pages = append(w.pages, p)
	return p
}

// askNext asks for one more page, if there is room. It keeps the rate, and waits
// for a slow server.
func (w *Walk) askNext(ctx context.Context) error {
	if w.due && len(w.wire) == 0 {
		w.due = false
		if err := w.measure(ctx); err != nil {
			return err
		}
	}
	if !w.more || w.due || len(w.pages) >= w.pagesAtOnce() {
		return nil
	}
	if err := w.keepPace(ctx); err != nil {
		return err
	}
	w.more = false // until its names tell
	w.AskPage(w.next)
	w.wire = append(w.wire, answer{(*Walk).names, w.page()})
	return nil
}

// names reads the names of a page and asks for its facts, after the next page:
// so the server has work when the client has.
func (w *Walk) names(ctx context.Context, p *Page) error {
	if err := w.ReadNames(p); err != nil {
		return err
	}
	return w.follow(ctx, p)
}

func (w *Walk) follow(ctx context.Context, p *Page) error {
	w.owed += len(p.Ends)
	if w.more = w.GoesOn(p); w.more {
		w.next, w.due = p.Next, w.measures()
	}
	if err := w.askNext(ctx); err != nil {
		return err
	}
	w.askFacts(p)
	w.wire = append(w.wire, answer{(*Walk).readFacts, p})
	return nil
}

// handOver delivers what is complete of the oldest pages.
func (w *Walk) handOver(ctx context.Context) error {
	for len(w.pages) > 0 {
		p := w.pages[0]
		if p.ready > p.delivered || p.done && p.gone > 0 {
			if err := w.hand(p); err != nil {
				return &ConsumerError{err}
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
func (w *Walk) hand(p *Page) error {
	w.Mu.Lock()
	defer w.Mu.Unlock()
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
func (w *Walk) passed(p *Page) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Cursor = p.Next
	t := w.track
	t.Cursor, t.page = p.Next, nil
	t.Looked, t.Denied = t.Looked+int64(len(p.Ends)+len(p.had))+p.left, t.Denied+p.denied
	if p.left > 0 {
		w.left += p.left
		w.Request.LeftOut(p.left)
	}
	for _, name := range p.had {
		delete(t.had, name)
	}
}
