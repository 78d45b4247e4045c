package fallback

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/keywright/keywright"
)

// keep asks a server that is away whether it is back, and then applies what waits.
func (g *Guard[T]) keep() {
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-time.After(g.o.Probe/2 + rand.N(g.o.Probe)):
		}
		if g.ping(g.ctx) {
			_ = g.replay(g.ctx) // what stopped it stops it no longer, or does so again
		}
	}
}

// ping reports whether there is something to do and a server to do it on.
func (g *Guard[T]) ping(ctx context.Context) bool {
	if !g.away.Load() && g.waitingIDs.Load() == 0 {
		return false
	}
	short, cancel := context.WithTimeout(ctx, g.o.Patience)
	defer cancel()
	err := g.target.Ping(short)
	g.recordResult(ctx, err)
	return err == nil && g.waitingIDs.Load() > 0
}

func (g *Guard[T]) replay(ctx context.Context) error {
	g.replays.Store(true)
	defer g.replays.Store(false)
	if g.o.Lease != nil {
		return g.o.Lease(ctx, g.applyAll)
	}
	return g.applyAll(ctx)
}

// applyAll applies the writes of the log in their order, those that join meanwhile
// too. An item whose write is refused is passed over, the others go on.
func (g *Guard[T]) applyAll(ctx context.Context) error {
	stuck := map[string]bool{}
	pace := time.NewTicker(time.Second / time.Duration(g.o.Rate))
	defer pace.Stop()
	for after := uint64(0); ; {
		entries, err := g.store.Next(ctx, after, batch)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			if after = e.Seq; stuck[e.ID] {
				continue
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-pace.C:
			}
			if err := g.apply(ctx, e); failing(err) || ctx.Err() != nil {
				return err
			} else if err != nil {
				stuck[e.ID] = true
				g.tell(Stuck)
				g.warn("a waiting write is refused", err)
			}
		}
	}
}

func (g *Guard[T]) warn(what string, err error) {
	if g.o.Logger == nil {
		return
	}
	class, _ := keywright.ClassOf(err)
	g.o.Logger.Warn(what, "items", g.o.Name, "class", class.String())
}

// apply applies one write of the log if the item is still what it was based on,
// and only then takes it out of the log. When that was interrupted and is done
// again, the version has changed by one and what was to be written is there.
func (g *Guard[T]) apply(ctx context.Context, e Entry) error {
	left, err := g.store.Next(ctx, e.Seq-1, 1)
	if err != nil || len(left) == 0 || left[0].Seq != e.Seq {
		return err // it was rejected with one before it
	}
	now, _, err := g.store.Get(ctx, e.ID)
	if err != nil {
		return err
	}
	c, needed := e.due(now, time.Now())
	if !needed {
		return g.done(ctx, e, 0, Expired)
	}
	how := Replayed
	if c.Kind != e.Kind {
		how = Expired
	}
	version, err := g.order(ctx, e.ID, c)
	switch {
	case err == nil:
		return g.done(ctx, e, version, how)
	case errors.Is(err, ErrConflict) || errors.Is(err, keywright.ErrNotFound):
		return g.compare(ctx, e, c)
	}
	return err
}

// due returns a write of the log as it is to be applied now. A write whose item has
// expired meanwhile deletes what it would have replaced.
func (e Entry) due(now Record, at time.Time) (c Change, needed bool) {
	c = e.Change
	c.If = now.Version
	if e.expired(at) && (c.Kind == Put || c.Kind == Update && !c.Expires.IsZero()) {
		if c.Expires = now.Expires; !now.Alive(at) { // else a later write has prolonged it in time
			c = Change{Kind: Delete, If: now.Version}
		}
	}
	return c, c.Kind == Put || c.If != Absent
}

func (e Entry) expired(at time.Time) bool { return !e.Deadline.IsZero() && !at.Before(e.Deadline) }

// compare decides about a write that was not applied because the item is not what
// it was based on.
func (g *Guard[T]) compare(ctx context.Context, e Entry, c Change) error {
	item, err := g.ask(ctx, e.ID)
	if errors.Is(err, keywright.ErrNotFound) {
		if e.Kind == Delete {
			return g.done(ctx, e, 0, Replayed)
		}
		if e.expired(time.Now()) {
			return g.done(ctx, e, 0, Expired)
		}
		return g.reject(ctx, e.ID, Record{Gone: true, AsOf: time.Now(), Expires: time.Now().Add(remembered)})
	}
	if err != nil {
		return err
	}
	found, err := g.record(e.ID, item)
	if err != nil {
		return err
	}
	if g.isThere(e.ID, c, found) {
		return g.done(ctx, e, found.Version, Replayed)
	}
	return g.reject(ctx, e.ID, found)
}

// isThere reports whether what a write wanted is what is there: it was applied
// before, and its reply or its mark was lost. It says so only if nothing else has
// been written since, by the version and the deadline: the same text of another
// process may live for longer, or shorter. The version of an item that was made
// cannot be known.
func (g *Guard[T]) isThere(id string, c Change, found Record) bool {
	if c.If != Absent && found.Version != c.If+1 {
		return false
	}
	switch c.Kind {
	case Put:
		return lives(found.Expires, c.Expires) && g.target.Same(id, found.Fields, c.Fields)
	case Update:
		return (c.Expires.IsZero() || lives(found.Expires, c.Expires)) && g.changed(id, c, found)
	}
	return false
}

// lives reports whether a deadline can be the one that was wanted: reads may have
// moved it on since.
func lives(found, wanted time.Time) bool {
	if found.IsZero() || wanted.IsZero() {
		return found.IsZero() && wanted.IsZero()
	}
	return found.After(wanted.Add(-time.Second))
}

func (g *Guard[T]) changed(id string, c Change, found Record) bool {
	part := Fields{}
	for name := range c.Fields {
		if v, ok := found.Fields[name]; ok {
			part[name] = v
		}
	}
	for _, name := range c.Drop {
		if _, ok := found.Fields[name]; ok {
			return false
		}
	}
	return g.target.Same(id, part, c.Fields)
}

func (g *Guard[T]) done(ctx context.Context, e Entry, version int64, how Event) error {
	if err := g.store.Done(ctx, e, version, time.Now()); err != nil {
		return err
	}
	g.copies.doubt(e.ID)
	g.count(e.ID, -1)
	g.tell(how)
	return nil
}

// reject gives up all writes of an item that wait: each is based on the one before
// it, and the first is based on what is not there any more.
func (g *Guard[T]) reject(ctx context.Context, id string, found Record) error {
	conflicts, err := g.store.Reject(ctx, id, found)
	if err != nil {
		return err
	}
	g.copies.doubt(id)
	g.count(id, -len(conflicts))
	for _, c := range conflicts {
		g.tell(Conflicted)
		if g.o.OnConflict != nil {
			g.o.OnConflict(c)
		}
	}
	return nil
}

// Discard gives up the writes of an item that wait: a way out for one that the
// server refuses for good. They become conflicts against nothing known.
func (g *Guard[T]) Discard(ctx context.Context, id string) error {
	if err := g.reject(ctx, id, Record{Gone: true, AsOf: time.Now()}); err != nil {
		return err
	}
	return g.store.Forget(ctx, id)
}

// Conflicts returns the writes that lost against newer data, oldest first: those that
// the store keeps.
func (g *Guard[T]) Conflicts(ctx context.Context) ([]Conflict, error) { return g.store.Conflicts(ctx) }

// Settled removes conflicts up to a number, when someone has dealt with them.
func (g *Guard[T]) Settled(ctx context.Context, seq uint64) error { return g.store.Settled(ctx, seq) }
