package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright/source"
)

// Side represents a place that holds keys.
type Side interface {
	// All yields whole values, and parts of those that are large, as
	// server.Scanner.Contents does. It is called once.
	All(ctx context.Context, each func([]source.Content) error) (source.Summary, error)

	// Now is the moment of what it holds, in Unix milliseconds: a key whose expiry is
	// not after it is not there.
	Now() int64
}

// Live represents a Side that can be asked for keys by name: a server.
type Live interface {
	Side

	// Names yields the names of all keys, database by database.
	Names(ctx context.Context, each func(db int, names [][]byte) error) (source.Summary, error)

	// Ask yields the values of those of the keys that are there. A value may come
	// twice, if a server failed in between: the last one counts.
	Ask(ctx context.Context, db int, names [][]byte, each func([]source.Content) error) error

	// There tells which of the keys are there.
	There(ctx context.Context, db int, names [][]byte) ([]bool, error)
}

// Options say what is compared.
type Options struct {
	// Meant says whether a key is to be compared, which entry it is of, and whether it
	// only makes sense in its moment. nil: all are, of entry -1.
	Meant func(name []byte) (entry int, momentary, ok bool)

	// Momentary counts keys that only make sense in their moment as the others.
	Momentary bool

	// To is where the second side has a key of the first; nil: at the same place.
	To func(Key) Key

	// From is the reverse of To; false: To gives no key this place. It is needed with To.
	From func(Key) (Key, bool)

	// Expiries tells whether two expiries are the same; nil: if they are equal.
	Expiries func(k Key, a, b int64) bool

	// Known are keys by entry that are known to be the same, and that the sides leave out.
	Known map[int]int64

	Ways Ways // the directions in which keys are looked for; 0: Both

	Each     func(Difference) error // called at each difference, as it is found; nil: no call
	Spill    func() (Spill, error)  // opens a place for what has no room in memory
	Progress func(done int64)       // called with the number of keys that are done; nil: no call
}

// Ways holds the directions in which keys are looked for. But for Both, the sides must be
// Live.
type Ways int

// Keys of either side, of the first one, or those that only the second one has.
const (
	Both Ways = iota
	Forward
	Backward
)

// Run compares two sides. Where one is Live it is asked for the keys that the other has;
// where neither is, both are read once. Memory is bounded whatever they hold.
//
// The report is true also where Run returns an error, as far as it goes.
func Run(ctx context.Context, a, b Side, o Options) (Report, error) {
	c := &comparison{Options: o}
	if o.Meant == nil {
		c.Meant = func([]byte) (int, bool, bool) { return -1, false, true }
	}
	if o.To == nil {
		c.To, c.From = func(k Key) Key { return k }, func(k Key) (Key, bool) { return k, true }
	}
	if o.Expiries == nil {
		c.Expiries = func(_ Key, a, b int64) bool { return a == b }
	}
	c.a.Side, c.b.Side = a, b
	c.a.live, _ = a.(Live)
	c.b.live, _ = b.(Live)
	c.table.spill = o.Spill
	for entry, keys := range o.Known {
		c.report.add(entry, keys, func(n *Figures) *int64 { return &n.Same })
	}
	err := c.run(ctx)
	return c.report, errors.Join(err, c.table.close())
}

// end represents a side of a comparison.
type end struct {
	Side
	live Live // nil: it cannot be asked
}

// partial says that what the side seems to lack is not known: it was not read to its end,
// and cannot be asked.
func (e *end) partial(read source.Summary) bool { return e.live == nil && len(read.Incomplete) > 0 }

// comparison represents one run.
type comparison struct {
	Options
	a, b     end
	report   Report
	facts    Facts
	table    table
	suspects []suspect
	bytes    int // of their names
	done     int64
	items    []item
	index    map[string]int
}

func (c *comparison) run(ctx context.Context) (err error) {
	switch {
	case c.Ways == Backward:
		err = c.others(ctx, sideB)
	case c.b.live != nil:
		c.report.A, err = c.a.All(ctx, func(batch []source.Content) error { return c.batch(ctx, batch, sideA) })
		if err == nil && c.Ways == Both && !c.a.partial(c.report.A) {
			err = c.others(ctx, sideB)
		}
	case c.a.live != nil:
		c.report.B, err = c.b.All(ctx, func(batch []source.Content) error { return c.batch(ctx, batch, sideB) })
		if err == nil && !c.b.partial(c.report.B) {
			err = c.others(ctx, sideA)
		}
	default:
		err = c.both(ctx)
	}
	return errors.Join(err, c.recheckSuspects(ctx))
}

// both reads two sides of which none can be asked. What is good of one that cannot be read
// to its end is compared; what it seems to lack is not known.
func (c *comparison) both(ctx context.Context) error {
	var failed [2]error
	c.report.A, failed[sideA] = c.a.All(ctx, func(batch []source.Content) error { return c.collect(sideA, batch) })
	if ctx.Err() == nil {
		c.report.B, failed[sideB] = c.b.All(ctx, func(batch []source.Content) error { return c.collect(sideB, batch) })
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(failed[sideA], failed[sideB], c.table.join(func(k Key, j *joined) error {
		if !j.a.There && (failed[sideA] != nil || c.a.partial(c.report.A)) ||
			!j.b.There && (failed[sideB] != nil || c.b.partial(c.report.B)) {
			return nil
		}
		entry, momentary, _ := c.Meant(k.Name)
		return c.judge(&suspect{key: k, entry: entry, momentary: momentary, a: j.a, b: j.b})
	}))
}

// of is one of the two sides.
func (c *comparison) of(s side) *end {
	if s == sideA {
		return &c.a
	}
	return &c.b
}

// first returns a key in the words of the first side; false: it is not meant.
func (c *comparison) first(s side, k Key) (at Key, entry int, momentary, ok bool) {
	at = k
	if s == sideB {
		if at, ok = c.From(k); !ok {
			return at, 0, false, false
		}
	}
	entry, momentary, ok = c.Meant(at.Name)
	return at, entry, momentary, ok
}

// place returns where a side has a key of the first.
func (c *comparison) place(s side, k Key) Key {
	if s == sideA {
		return k
	}
	return c.To(k)
}

// id tells keys of a side apart.
func id(s side, k Key) string { return fmt.Sprintf("%d %d %s", s, k.DB, k.Name) }

// collect puts what a side has into the table.
func (c *comparison) collect(s side, batch []source.Content) error {
	for i := range batch {
		k := &batch[i]
		at, entry, momentary, ok := c.first(s, Key{k.DB, k.Name})
		if !ok {
			continue
		}
		f, done, err := c.facts.Take(k, id(s, at))
		switch {
		case !done:
		case err != nil:
			if err := c.differs(&suspect{key: at, entry: entry, momentary: momentary, whyA: err.Error()}, Unclear); err != nil {
				return err
			}
		default:
			if err := c.table.add(s, at, &f); err != nil {
				return err
			}
		}
		c.progress(done)
	}
	return nil
}

func (c *comparison) progress(done bool) {
	if done {
		if c.done++; c.Progress != nil {
			c.Progress(c.done)
		}
	}
}

// item represents a key of a batch: what the side that is read has of it, and what the side that
// is asked has.
type item struct {
	suspect
	content *source.Content // a whole value; nil: its fact is known
	same    bool
}

// batch compares what a side yields with what the other one has of the same keys.
func (c *comparison) batch(ctx context.Context, batch []source.Content, s side) error {
	items := c.items[:0]
	for i := range batch {
		k := &batch[i]
		at, entry, momentary, ok := c.first(s, Key{k.DB, k.Name})
		if !ok {
			continue
		}
		it := item{suspect: suspect{key: at, entry: entry, momentary: momentary}}
		done := true
		if k.Payload != nil {
			it.content = k
		} else {
			var f Fact
			var err error
			if f, done, err = c.facts.Take(k, id(s, at)); err != nil {
				*it.why(s) = err.Error()
			}
			*it.fact(s) = f
		}
		if done {
			items = append(items, it)
		}
	}
	c.items = items
	for from := 0; from < len(items); {
		to := from + 1
		db := c.place(1-s, items[from].key).DB
		for to < len(items) && c.place(1-s, items[to].key).DB == db {
			to++
		}
		if err := c.asked(ctx, items[from:to], s); err != nil {
			return err
		}
		from = to
	}
	if c.crowded() {
		return c.recheckSuspects(ctx)
	}
	return nil
}

// asked asks the other side for keys of one database, and judges them.
func (c *comparison) asked(ctx context.Context, items []item, s side) error {
	names := make([][]byte, 0, len(items))
	if c.index == nil {
		c.index = map[string]int{}
	}
	clear(c.index)
	for i := range items {
		at := c.place(1-s, items[i].key)
		if _, twice := c.index[string(at.Name)]; !twice {
			c.index[string(at.Name)] = i
			names = append(names, at.Name)
		}
		if c.a.live == nil || c.b.live == nil { // what the file has, for the names of the server
			if err := c.table.add(s, items[i].key, &Fact{}); err != nil {
				return err
			}
		}
	}
	db := c.place(1-s, items[0].key).DB
	if err := c.of(1-s).live.Ask(ctx, db, names, func(batch []source.Content) error {
		for i := range batch {
			if at, ok := c.index[string(batch[i].Name)]; ok {
				c.meets(&items[at], &batch[i], s)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for i := range items {
		it := &items[i]
		if c.index[string(c.place(1-s, it.key).Name)] != i {
			continue // SCAN gave it twice
		}
		if err := c.met(it, s); err != nil {
			return err
		}
	}
	return nil
}

// meets takes what the asked side has of a key.
func (c *comparison) meets(it *item, k *source.Content, s side) {
	if own := it.content; own != nil && k.Payload != nil && bytes.Equal(own.Payload, k.Payload) &&
		c.sameExpiry(it.key, s, own.Expires, k.Expires) {
		it.same = true
		return
	}
	it.same = false
	f, done, err := c.facts.Take(k, id(1-s, it.key))
	if !done {
		return
	}
	if *it.fact(1 - s) = f; err != nil {
		*it.why(1 - s) = err.Error()
	}
}

func (c *comparison) sameExpiry(k Key, s side, read, asked int64) bool {
	if s == sideB {
		read, asked = asked, read
	}
	return c.Expiries(k, read, asked)
}

// met judges a key for which the other side was asked.
func (c *comparison) met(it *item, s side) error {
	c.progress(true)
	if it.same {
		c.report.count(it.entry, func(n *Figures) *int64 { return &n.Same })
		return nil
	}
	if it.content != nil {
		f, err := c.facts.whole(it.content)
		if *it.fact(s) = f; err != nil {
			*it.why(s) = err.Error()
		}
	}
	if it.a.There && it.b.There && c.verdict(&it.suspect) == "" {
		return c.judge(&it.suspect)
	}
	return c.suspected(it.suspect)
}

// others looks for keys that only the asked side has.
func (c *comparison) others(ctx context.Context, s side) (err error) {
	live, other := c.of(s).live, c.of(1-s)
	sum, err := live.Names(ctx, func(db int, names [][]byte) error {
		var keys []suspect
		for _, name := range names {
			at, entry, momentary, ok := c.first(s, Key{db, name})
			if !ok {
				continue
			}
			if other.live == nil {
				if err := c.table.add(s, at, &Fact{}); err != nil {
					return err
				}
				continue
			}
			keys = append(keys, suspect{key: at, entry: entry, momentary: momentary})
		}
		if err := c.absent(ctx, other.live, keys, 1-s); err != nil || !c.crowded() {
			return err
		}
		return c.recheckSuspects(ctx)
	})
	*map[side]*source.Summary{sideA: &c.report.A, sideB: &c.report.B}[s] = sum
	if err != nil || other.live != nil {
		return err
	}
	return c.table.join(func(k Key, j *joined) error {
		if has := map[side]Fact{sideA: j.a, sideB: j.b}; has[1-s].There || !has[s].There {
			return nil
		}
		entry, momentary, _ := c.Meant(k.Name)
		return c.suspected(suspect{key: k, entry: entry, momentary: momentary})
	})
}

// absent notes those of the keys that a side does not have.
func (c *comparison) absent(ctx context.Context, live Live, keys []suspect, s side) error {
	for len(keys) > 0 {
		db, n := c.place(s, keys[0].key).DB, 0
		var names [][]byte
		for n < len(keys) && c.place(s, keys[n].key).DB == db {
			names = append(names, c.place(s, keys[n].key).Name)
			n++
		}
		there, err := live.There(ctx, db, names)
		if err != nil {
			return err
		}
		for i, is := range there {
			if !is {
				if err := c.suspected(keys[i]); err != nil {
					return err
				}
			}
		}
		keys = keys[n:]
	}
	return nil
}
