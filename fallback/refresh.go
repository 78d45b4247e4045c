package fallback

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright"
)

// batch says how many records or entries are dealt with at once.
const batch = 500

// mostReread bounds how many items of one flush are read for what the server has added to them: each is a round trip.
const mostReread = 128

// waiting holds copies on their way to the second store: one per item, the newest.
type waiting struct {
	mu     sync.Mutex
	most   int
	fresh  time.Duration
	copies map[string]*refresh
	known  map[string]seen // written lately
	wake   chan struct{}

	writing sync.Mutex // held from when copies are taken until they are in the store
}

// refresh describes what is to become of a copy: the item, or what was changed in it.
type refresh struct {
	whole   *Copy
	changes []changed
	again   bool // the server has added to what was written
}

// put takes a copy in, which says more than changes from before it.
func (r *refresh) put(c *Copy) {
	r.whole = c
	r.changes = slices.DeleteFunc(r.changes, func(x changed) bool {
		before := c.Began.After(x.at)
		if before {
			c.over(Record{Version: x.version})
		}
		return before
	})
}

type changed struct {
	Change
	version int64
	began   time.Time
	at      time.Time
}

type seen struct {
	version int64
	at      time.Time
	expires time.Time
}

func newWaiting(o Options) waiting {
	return waiting{most: o.Waiting, fresh: o.Fresh, copies: map[string]*refresh{}, known: map[string]seen{},
		wake: make(chan struct{}, 1)}
}

// isFresh reports whether this version of an item is in the second store for no
// longer than a copy counts as new, and if not, that it will be.
func (w *waiting) isFresh(id string, s seen) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old := w.known[id]; old.version == s.version && w.stillFresh(old, s.at) {
		return true
	}
	w.note(id, s)
	return false
}

func (w *waiting) stillFresh(s seen, now time.Time) bool { return now.Sub(s.at) < w.fresh }

// lately returns what was seen of an item last, if that is still fresh.
func (w *waiting) lately(id string, now time.Time) (s seen, fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, known := w.known[id]
	return s, known && s.version != Absent && w.stillFresh(s, now)
}

// wrote remembers a version; the next read is to be copied.
func (w *waiting) wrote(id string, version int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(id, seen{version: version})
}

// note remembers a version, for at most as many items as copies may wait.
func (w *waiting) note(id string, s seen) {
	if _, known := w.known[id]; !known && len(w.known) >= w.most {
		clear(w.known)
	}
	w.known[id] = s
}

// lastSeen returns the version of an item that was read or written last, Absent if that
// is not known any more.
func (w *waiting) lastSeen(id string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[id].version
}

// doubt forgets the version that was seen last.
func (w *waiting) doubt(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, id)
}

// add puts a copy in line; ok is false if there is no room. again: the server adds to it, so it is read again.
func (w *waiting) add(id string, c *Copy, change *changed, again bool) (ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.copies[id]
	if r == nil {
		if len(w.copies) >= w.most {
			delete(w.known, id)
			return false
		}
		r = &refresh{}
		w.copies[id] = r
	}
	r.again = r.again || again
	switch {
	case change != nil:
		w.note(id, seen{version: change.version}) // and due to be copied at the next read
		r.changes = append(r.changes, *change)
	case r.whole == nil:
		r.put(c)
	case c.Replaces(r.whole.Record, true):
		r.put(c.over(r.whole.Record))
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns the copies that wait: all, or that of one item.
func (w *waiting) take(id string) map[string]*refresh {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == "" {
		all := w.copies
		w.copies = map[string]*refresh{}
		return all
	}
	r, ok := w.copies[id]
	if !ok {
		return nil
	}
	delete(w.copies, id)
	return map[string]*refresh{id: r}
}

// learn sends an item that was read to the second store, unless it is there.
func (g *Guard[T]) learn(id string, item Item[T], began time.Time) {
	if g.copies.isFresh(id, seen{item.Version, time.Now(), item.Expires}) {
		return
	}
	r, err := g.record(id, item)
	if err != nil || !g.copies.add(id, &Copy{ID: id, Began: began, Record: r}, nil, false) {
		g.tell(Dropped)
	}
}

func (g *Guard[T]) learnGone(id string, began time.Time) {
	now := time.Now()
	if !g.copies.isFresh(id, seen{at: now}) {
		g.copies.add(id, missingCopy(id, 0, began, now), nil, false)
	}
}

// missingCopy returns that an item is not there: of that version, or as a read has missed it.
func missingCopy(id string, version int64, began, now time.Time) *Copy {
	return &Copy{ID: id, Began: began,
		Record: Record{Gone: true, Version: max(version, 0), AsOf: now, Expires: now.Add(remembered)}}
}

// wrote sends a write that was done to the second store.
func (g *Guard[T]) wrote(id string, c Change, version int64, began time.Time) {
	now, ok := time.Now(), false
	switch c.Kind {
	case Put:
		g.copies.wrote(id, version) // what the server adds to it, the next read learns
		r := Record{Fields: c.Fields, Version: version, Expires: c.Expires, AsOf: now}
		ok = g.copies.add(id, &Copy{ID: id, Began: began, Record: r}, nil, g.stamps)
	case Delete:
		g.copies.doubt(id)
		ok = g.copies.add(id, missingCopy(id, c.If, began, now), nil, false)
	case Update:
		ok = g.copies.add(id, nil, &changed{c, version, began, now}, g.stamps)
	}
	if !ok {
		g.tell(Dropped)
	}
}

// over returns a copy in the place of a record: that an item is gone is true of all
// versions up to what was known.
func (c *Copy) over(old Record) *Copy {
	if c.Gone {
		c.Version = max(c.Version, old.Version)
	}
	return c
}

// flushes writes the copies that wait, soon after the first of them.
func (g *Guard[T]) flushes() {
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-g.copies.wake:
		}
		select {
		case <-g.ctx.Done():
			return
		case <-time.After(g.o.Flush):
		}
		_ = g.flush(g.ctx)
	}
}

// flush writes the copies that wait to the second store.
func (g *Guard[T]) flush(ctx context.Context) error {
	g.copies.writing.Lock()
	defer g.copies.writing.Unlock()
	var out []Copy
	var errs []error
	read := 0
	for id, r := range g.copies.take("") {
		c, found, err := g.merge(ctx, id, r)
		switch {
		case err == errBehind:
			c, found, err = g.reread(ctx, id)
		case err == nil && found && r.again && read < mostReread:
			read++
			if now, ok, failed := g.reread(ctx, id); ok && failed == nil && (now.Gone || now.Version >= c.Version) {
				c = now
			}
		}
		if errs = append(errs, err); found {
			out = append(out, c)
		}
		if len(out) == batch {
			errs = append(errs, g.save(ctx, out))
			out = nil
		}
	}
	return errors.Join(append(errs, g.save(ctx, out))...)
}

func (g *Guard[T]) save(ctx context.Context, copies []Copy) error {
	if len(copies) == 0 {
		return nil
	}
	err := g.store.Put(ctx, copies...)
	if err != nil {
		g.tell(Dropped)
	}
	return err
}

// writeWaiting writes the copy of one item that waits, before the second store is asked
// for it: what this process has written must be what its next write is based on.
func (g *Guard[T]) writeWaiting(ctx context.Context, id string) error {
	g.copies.writing.Lock()
	defer g.copies.writing.Unlock()
	for id, r := range g.copies.take(id) {
		c, found, err := g.merge(ctx, id, r)
		if err == errBehind {
			return nil // the copy stays as it is: older than what was written, as it says
		}
		if err != nil || !found {
			return err
		}
		return g.save(ctx, []Copy{c})
	}
	return nil
}

// errBehind reports a copy older than the version that a change was made to.
var errBehind = errors.New("the copy lags")

// merge returns the copy with the changes that were made; found is false if there is
// nothing to store.
func (g *Guard[T]) merge(ctx context.Context, id string, r *refresh) (c Copy, found bool, err error) {
	old, known, err := g.store.Get(ctx, id)
	if err != nil {
		return c, false, err
	}
	c = Copy{ID: id, Record: old, Began: old.AsOf}
	if r.whole != nil && r.whole.Replaces(old, known) {
		c, found = *r.whole.over(old), true
	}
	for _, change := range r.changes {
		switch {
		case (known || found) && change.version <= c.Version:
		case !known && !found, c.Gone, change.version > c.Version+1:
			return c, false, errBehind
		default:
			c.Fields, found = change.apply(c.Fields), true
			c.Version, c.AsOf, c.Began = change.version, change.at, change.began
			if !change.Expires.IsZero() {
				c.Expires = change.Expires
			}
		}
	}
	return c, found, nil
}

// apply returns the fields after an update.
func (c Change) apply(f Fields) Fields {
	out := maps.Clone(f)
	if out == nil {
		out = Fields{}
	}
	for _, name := range c.Drop {
		delete(out, name)
	}
	maps.Copy(out, c.Fields)
	return out
}

// reread asks the server for an item of which only a change is known.
func (g *Guard[T]) reread(ctx context.Context, id string) (c Copy, ok bool, err error) {
	if g.away.Load() || g.ctx.Err() != nil {
		return c, false, nil
	}
	began := time.Now()
	item, err := g.ask(ctx, id)
	switch {
	case errors.Is(err, keywright.ErrNotFound):
		return *missingCopy(id, 0, began, time.Now()), true, nil
	case err != nil:
		return c, false, err
	}
	r, err := g.record(id, item)
	return Copy{ID: id, Began: began, Record: r}, err == nil, err
}

// record returns an item as the second store has it.
func (g *Guard[T]) record(id string, item Item[T]) (Record, error) {
	f, err := g.target.Encode(id, item.Value)
	return Record{Fields: f, Version: item.Version, Expires: item.Expires, AsOf: time.Now()}, err
}
