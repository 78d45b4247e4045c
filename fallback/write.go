package fallback

import (
	"context"
	"errors"
	"time"

	"github.com/keywright/keywright"
)

// Receipt says what became of a write.
type Receipt struct {
	// Pending: the write was accepted and is not done. It waits in the log of the
	// second store for the server, and may lose against newer data there.
	Pending bool
	// that the item has now, for If; with Pending, what it will be, unless it is new: then If may name it until it is
	// applied
	Version int64
	Seq     uint64 // with Pending: its number in the log
}

// WriteOption represents a choice of one write.
type WriteOption func(*Change)

// If makes a write conditional: on a version, on Absent, or on nothing (Any).
func If(version int64) WriteOption { return func(c *Change) { c.If = version } }

// ExpiresAt sets the item's deadline, by this machine's clock.
func ExpiresAt(t time.Time) WriteOption { return func(c *Change) { c.Expires = t } }

// ExpiresIn sets the item's deadline from now. It does not begin again when a write
// has to wait for the server.
func ExpiresIn(d time.Duration) WriteOption {
	at := time.Now().Add(d)
	return func(c *Change) { c.Expires, c.Asked = at, d }
}

// Without removes fields in an Update.
func Without(names ...string) WriteOption {
	return func(c *Change) { c.Drop = append(c.Drop, names...) }
}

var errNothing = errors.New("an update that changes nothing")

// Put writes a whole item: one round trip, or none while the server is away. A
// write that the server does not answer, or that finds others of the same item
// waiting, is accepted into the log (Receipt.Pending); without room there it is
// ErrFull. An If that does not hold is ErrConflict.
//
// While the server is away the write is based on what the second store knows of the
// item. If that is nothing, it is based on there being no item.
func (g *Guard[T]) Put(ctx context.Context, id string, v T, options ...WriteOption) (Receipt, error) {
	f, err := g.target.Encode(id, v)
	if err != nil {
		return Receipt{}, err
	}
	return g.write(ctx, id, Change{Kind: Put, Fields: f}, options)
}

// Update changes fields of an item that is there, as text like in Encode; else it
// is keywright.ErrNotFound. While the server is away it needs a copy: ErrNoCopy. See
// Put.
func (g *Guard[T]) Update(ctx context.Context, id string, changes Fields, options ...WriteOption) (Receipt, error) {
	return g.write(ctx, id, Change{Kind: Update, Fields: changes}, options)
}

// Delete removes an item that is there; else it is keywright.ErrNotFound. See
// Update.
func (g *Guard[T]) Delete(ctx context.Context, id string, options ...WriteOption) (Receipt, error) {
	return g.write(ctx, id, Change{Kind: Delete}, options)
}

func (g *Guard[T]) write(ctx context.Context, id string, c Change, options []WriteOption) (Receipt, error) {
	c.If = Any
	for _, o := range options {
		o(&c)
	}
	c, err := g.target.Prepare(id, c)
	if err == nil && c.Kind == Update && len(c.Fields)+len(c.Drop) == 0 && c.Expires.IsZero() {
		err = errNothing
	}
	if err != nil {
		return Receipt{}, g.fail(c.Kind.String(), keywright.Invalid, nil, err)
	}
	c.Asked = 0
	if g.isPending(id) {
		if r, err := g.accept(ctx, id, c, acceptance{behind: true}); err != errNoneWaits {
			return r, err
		}
	}
	if !g.breaker.Allow() {
		return g.accept(ctx, id, c, acceptance{cause: g.unavailable(c.Kind.String())})
	}
	return g.send(ctx, id, c)
}

// send writes to the target, or into the log if that does not answer.
func (g *Guard[T]) send(ctx context.Context, id string, asked Change) (Receipt, error) {
	c := asked
	version, began, err := g.attempt(ctx, id, &c)
	switch {
	case err == nil:
		g.wrote(id, c, version, began)
		return Receipt{Version: version}, nil
	case !failing(err) || errors.Is(ctx.Err(), context.Canceled):
		return Receipt{}, err
	}
	class, _ := keywright.ClassOf(err)
	a := acceptance{cause: err, ambiguous: class == keywright.UnknownOutcome}
	ctx = context.WithoutCancel(ctx)
	if !a.ambiguous {
		return g.accept(ctx, id, asked, a)
	}
	r, err := g.accept(ctx, id, c, a)
	if c.If != asked.If && (errors.Is(err, ErrConflict) || errors.Is(err, ErrNoCopy)) {
		return g.accept(ctx, id, asked, a) // the copy has moved on, and the caller asked for no version
	}
	return r, err
}

// attempts says how often a write without a condition is tried while others change
// the same item.
const attempts = 16

// attempt writes to the target. A write without a condition gets that of the
// version that is there, so that it can change nothing newer when it is delivered
// late: a request that no caller waits for any more may still be on its way.
func (g *Guard[T]) attempt(ctx context.Context, id string, c *Change) (version int64, began time.Time, err error) {
	if began = time.Now(); c.If != Any || g.o.Blind {
		version, err = g.order(ctx, id, *c)
		return version, began, err
	}
	for range attempts {
		seen, err := g.versionOf(ctx, id)
		switch {
		case err != nil:
			return 0, began, err
		case seen == Absent && c.Kind != Put:
			return 0, began, keywright.ErrNotFound
		}
		c.If, began = seen, time.Now()
		if version, err = g.order(ctx, id, *c); !errors.Is(err, ErrConflict) {
			return version, began, err
		}
		c.If = Any
		g.copies.doubt(id)
	}
	return 0, began, ErrConflict
}

// versionOf returns the version of an item that was seen last, or that the server has.
func (g *Guard[T]) versionOf(ctx context.Context, id string) (int64, error) {
	if version := g.copies.lastSeen(id); version != Absent {
		return version, nil
	}
	began := time.Now()
	item, err := g.ask(ctx, id)
	if errors.Is(err, keywright.ErrNotFound) {
		if !g.o.MissesToo {
			g.learnGone(id, began)
		}
		return Absent, nil
	}
	if err == nil {
		g.learn(id, item, began)
	}
	return item.Version, err
}

// order returns a write to the target that the breaker records.
func (g *Guard[T]) order(ctx context.Context, id string, c Change) (int64, error) {
	short, cancel := context.WithTimeout(ctx, g.o.WritePatience)
	defer cancel()
	version, err := g.target.Write(short, id, c)
	g.recordResult(ctx, err)
	return version, err
}

// acceptance describes why a write goes into the log.
type acceptance struct {
	cause     error
	ambiguous bool // it was sent, and may have been applied
	behind    bool // waits for other writes of the item
}

var errNoneWaits = errors.New("no write of the item waits")

// accept puts a write into the log.
func (g *Guard[T]) accept(ctx context.Context, id string, c Change, a acceptance) (Receipt, error) {
	if err := g.writeWaiting(ctx, id); err != nil {
		return Receipt{}, g.refuse(c, a, err)
	}
	var next Record
	g.count(id, 1) // before it can be applied
	e, err := g.store.Append(ctx, id, func(now Record, known bool) (e Entry, _ Record, err error) {
		if a.behind && now.Pending == 0 {
			return e, now, errNoneWaits
		}
		e, next, err = plan(id, c, now, known, time.Now())
		e.Ambiguous = a.ambiguous
		return e, next, err
	})
	if err != nil {
		g.count(id, -1)
		return Receipt{}, g.refuse(c, a, err)
	}
	g.tell(Accepted)
	return Receipt{Pending: true, Version: next.Shown(), Seq: e.Seq}, nil
}

// refuse returns the error of a write that the log did not take.
func (g *Guard[T]) refuse(c Change, a acceptance, err error) error {
	switch {
	case err == errNoneWaits, errors.Is(err, keywright.ErrNotFound) && !a.ambiguous:
		return err
	case errors.Is(err, ErrFull):
		g.tell(Full)
	}
	class := keywright.NotApplied
	if a.ambiguous {
		class = keywright.UnknownOutcome
	}
	return g.fail(c.Kind.String(), class, a.cause, err)
}

// plan returns the entry of a write while the target cannot be asked, and the record
// after it.
func plan(id string, c Change, now Record, known bool, at time.Time) (Entry, Record, error) {
	alive := known && now.Alive(at)
	base, err := basis(c, now, known, alive)
	switch {
	case err != nil:
		return Entry{}, now, err
	case c.Kind == Put || c.If > 0 && c.Kind == Delete:
	case !known:
		return Entry{}, now, ErrNoCopy
	case !alive:
		return Entry{}, now, keywright.ErrNotFound
	}
	next := Record{Fields: c.Fields, Version: base, Expires: c.Expires, AsOf: at, Pending: now.Pending + 1,
		Gone: c.Kind == Delete}
	if c.Kind == Update {
		next.Fields = c.apply(now.Fields)
		if c.Expires.IsZero() {
			next.Expires = now.Expires
		}
	}
	return Entry{ID: id, Change: c, Base: base + int64(now.Pending), Deadline: next.Expires, At: at}, next, nil
}

// basis returns the target's version that a write is based on, if its condition holds
// as far as is known.
func basis(c Change, now Record, known, alive bool) (int64, error) {
	shown, base := int64(0), int64(0)
	if alive {
		shown, base = now.Shown(), now.Version
	}
	if now.Pending > 0 {
		base = now.Version
	}
	switch {
	case c.If == Any || c.If == shown:
		return base, nil
	case c.If > now.Version && now.Pending == 0: // the caller knows more than the second store
		if c.Kind == Update {
			return 0, ErrNoCopy
		}
		return c.If, nil
	}
	return 0, ErrConflict
}
