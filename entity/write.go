package entity

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Create makes an item. One that is there already is a *Conflict that wraps
// ErrExists, and stays as it is. 1 round trip; 2 when an item of this id has
// expired and is not yet swept.
func (s *Store[I, T]) Create(ctx context.Context, id I, v T, options ...keywright.WriteOption) (Item[I, T], error) {
	return s.whole(ctx, "create", id, v, absent, options)
}

// Put makes an item or replaces it. 1 round trip, 2 when it was in other indexes.
// It announces a creation where the item was not there, else an update. A field
// that the server stamps with the time of creation stays what it was; the item
// that is given has it only if it was made now.
func (s *Store[I, T]) Put(ctx context.Context, id I, v T, options ...keywright.WriteOption) (Item[I, T], error) {
	return s.whole(ctx, "put", id, v, whatever, options)
}

// Replace writes all fields of an item that is there: those that v lacks are gone
// afterwards, and its TTL begins again. A missing item is keywright.ErrNotFound.
// 1 round trip, 2 when it was in other indexes.
func (s *Store[I, T]) Replace(ctx context.Context, id I, v T, options ...keywright.WriteOption) (Item[I, T], error) {
	return s.whole(ctx, "replace", id, v, present, options)
}

// Save writes an item back as it was read and changed, if no other write has changed
// it: else it is a *Conflict that wraps ErrVersion, and nothing is written. The
// declaration must have a version. 1 round trip.
func (s *Store[I, T]) Save(ctx context.Context, item Item[I, T], options ...keywright.WriteOption) (Item[I, T], error) {
	if err := s.versioned(); err != nil {
		return Item[I, T]{}, err
	}
	return s.whole(ctx, "save", item.ID, item.Value, strconv.FormatInt(item.Version, 10), options, s.known(&item))
}

func (s *core) versioned() error {
	if s.spec.Version == "" {
		return &keywright.Error{Class: keywright.Invalid, Entry: s.entry.Name,
			Err: errors.New("the entity has no version"), Hint: "declare one: stamps: {version: version}"}
	}
	return nil
}

// whole writes all fields of an item.
func (s *Store[I, T]) whole(ctx context.Context, name string, id I, v T, condition string,
	options []keywright.WriteOption, known ...string) (Item[I, T], error) {
	c := &call{condition: condition}
	key, err := s.typed.Key(id)
	a := s.action(name, keywright.Writes, key, err)
	var in map[string]string
	if a.Err == nil {
		if s.typed.Identify != nil {
			s.typed.Identify(id, &v)
		}
		c.id = s.id(key)
		in, err = s.fill(key, &v, c, options)
		a = s.action(name, keywright.Writes, key, err)
	}
	c.record = s.record(in, "", true)
	c.expected = c.record
	if len(known) > 0 && known[0] != "" {
		c.expected = known[0]
	}
	adds, drops := c.adds, c.drops
	c.now = s.written(c.id)
	out, err := s.write(ctx, &a, c, func(expected string) {
		c.adds, c.drops, c.dead = adds, drops, s.expired(c.id, expected)
		c.record = s.record(in, expected, true)
		if expected != c.record {
			c.drops = append(drops[:len(drops):len(drops)], s.moved(expected, in)...)
		}
	})
	if err != nil {
		return Item[I, T]{}, err
	}
	item := s.stampedItem(id, v, out)
	item.record = c.record
	return item, nil
}

// fill takes a value into a call.
func (s *Store[I, T]) fill(key string, v *T, c *call, options []keywright.WriteOption) (in map[string]string,
	err error) {
	if c.ttl, err = s.ttl(v, options); err != nil {
		return nil, err
	}
	if err = s.texts(key, v, c); err != nil {
		return nil, err
	}
	if c.condition == absent {
		c.removed = nil
	}
	return s.describe(v, c)
}

// stampedItem returns an item as it is now on the server.
func (s *Store[I, T]) stampedItem(id I, v T, out outcome) Item[I, T] {
	item := Item[I, T]{ID: id, Value: v}
	if s.spec.Version != "" {
		item.Version = out.version
		s.set(&item.Value, s.spec.Version, out.text)
	}
	now := out.now
	if s.spec.Seconds {
		now /= 1000
	}
	s.set(&item.Value, s.spec.Updated, strconv.FormatInt(now, 10))
	if out.created {
		s.set(&item.Value, s.spec.Created, strconv.FormatInt(now, 10))
	}
	return item
}

func (s *Store[I, T]) set(v *T, field, text string) {
	if field != "" {
		_ = s.typed.Fields.Columns[s.columns[field]].Parse(v, text) // a whole number by declaration
	}
}

// Update changes some fields of an item and gives its new version. A missing one
// is keywright.ErrNotFound. 1 round trip; one more when an indexed field changes,
// since what it was must be known to take it out of there, and now and then one
// when its TTL begins again, as an index must outlive its items.
func (s *Store[I, T]) Update(ctx context.Context, id I, changes ...Change[T]) (version int64, err error) {
	return s.update(ctx, "update", id, present, changes, nil)
}

// UpdateWith works as Update does, with a choice of TTL.
func (s *Store[I, T]) UpdateWith(ctx context.Context, id I, options []keywright.WriteOption,
	changes ...Change[T]) (version int64, err error) {
	return s.update(ctx, "update", id, present, changes, options)
}

// UpdateIf works as Update does, if the item has this version still; else it is a *Conflict
// that wraps ErrVersion and says which it has, and nothing is changed. Versions
// are never used again, not even after a delete.
func (s *Store[I, T]) UpdateIf(ctx context.Context, id I, version int64, changes ...Change[T]) (int64, error) {
	if err := s.versioned(); err != nil {
		return 0, err
	}
	return s.update(ctx, "update", id, strconv.FormatInt(version, 10), changes, nil)
}

// Modify reads an item, lets f change it and writes it back, again and again
// until no other write was in between. An error of f ends it. The declaration must have a
// version. 2 round trips per attempt.
func (s *Store[I, T]) Modify(ctx context.Context, id I, f func(*T) error) (Item[I, T], error) {
	if err := s.versioned(); err != nil { // before it is read: that may renew its TTL
		return Item[I, T]{}, err
	}
	for {
		item, err := s.Get(ctx, id)
		if err != nil {
			return item, err
		}
		if err = f(&item.Value); err != nil {
			return item, err
		}
		if item, err = s.Save(ctx, item); !errors.Is(err, ErrVersion) || ctx.Err() != nil {
			return item, err
		}
	}
}

// patch is changes of some fields.
type patch[I, T any] struct {
	store   *Store[I, T]
	v       T
	touched map[string]bool
	unset   map[string]bool
}

func (s *Store[I, T]) patch(changes []Change[T]) (*patch[I, T], error) {
	p := &patch[I, T]{store: s, touched: map[string]bool{}, unset: map[string]bool{}}
	for _, c := range changes {
		if c.set == nil && !c.unset {
			return nil, errors.New("a change of nothing: the zero Change, which no field has made")
		}
		if s.stamped[c.field] {
			return nil, fmt.Errorf("%s is written by the server", c.field)
		}
		p.touched[c.field], p.unset[c.field] = true, c.unset
		if !c.unset {
			c.set(&p.v)
		}
	}
	if len(changes) == 0 && s.spec.Updated == "" {
		return nil, errors.New("an update without changes, of an entity without a stamp of the update")
	}
	return p, nil
}

// touches reports whether a field is another one afterwards.
func (p *patch[I, T]) touches(field string) bool {
	return p.touched[field] || field != "" && p.store.stamped[field] && field != p.store.spec.Created
}

// fill takes the fields into a call.
func (p *patch[I, T]) fill(key string, c *call) error {
	p.store.stamp(c, false)
	for i, name := range p.store.names {
		switch {
		case p.unset[name]:
			c.removed = append(c.removed, name)
		case p.touched[name]:
			text, _, err := p.store.text(key, &p.v, i)
			if err != nil {
				return value.In(name, err)
			}
			c.fields = append(c.fields, name, text)
		}
	}
	return nil
}

// moves says what happens to the entries of an item, given its record; needed is
// whether that must be known.
func (p *patch[I, T]) moves(record string, c *call) (needed bool, err error) {
	in := p.store.placed(record)
	c.adds, c.drops = nil, nil
	for i := range p.store.spec.Indexes {
		ix := &p.store.spec.Indexes[i]
		byValue, byScore := ix.affected(p.touches)
		if ix.Field == "" {
			if byScore {
				c.adds, in[ix.Name] = append(c.adds, entry{ix.Prefix, "@" + ix.Score}), ""
			}
			continue
		}
		needed = needed || byValue || byScore
		if byValue {
			if in[ix.Name], err = p.text(i); err != nil {
				return needed, err
			}
		}
		if (byValue || byScore) && in[ix.Name] != "" {
			c.adds = append(c.adds, entry{ix.keyOf(in[ix.Name]), ix.live()})
		}
	}
	c.drops = p.store.moved(record, in)
	c.record = anyRecord
	if needed || record != "" && record != anyRecord {
		c.record = p.store.record(in, record, true)
	}
	return needed, nil
}

// live returns the score of an index as the item has it.
func (ix *index) live() string {
	if ix.Score == "" {
		return unscored
	}
	return "@" + ix.Score
}

// text returns the new value of an index, "" for none.
func (p *patch[I, T]) text(i int) (string, error) {
	ix := &p.store.spec.Indexes[i]
	if p.unset[ix.Field] {
		return "", nil
	}
	key, err := p.store.typed.Indexes[i].Key(&p.v)
	if err != nil {
		return "", err
	}
	return ix.text(key), nil
}

func (s *Store[I, T]) update(ctx context.Context, name string, id I, condition string, changes []Change[T],
	options []keywright.WriteOption) (int64, error) {
	c := &call{condition: condition, expected: anyRecord}
	key, err := s.typed.Key(id)
	p, bad := s.patch(changes)
	if err == nil {
		err = bad
	}
	if err == nil && s.err == nil {
		c.id = s.id(key)
		c.now = s.templates(c.id, wasThere, s.spec.OnUpdate)
		if err = p.fill(key, c); err == nil {
			err = s.lifetime(ctx, s.action(name, keywright.Writes, key, nil), p, c, options)
		}
	}
	var needed bool
	if err == nil && s.err == nil {
		needed, err = p.moves("", c)
	}
	a := s.action(name, keywright.Writes, key, err)
	if needed && a.Err == nil && !s.apart {
		if c.expected, err = s.look(ctx, &a, c.id); err != nil {
			return 0, err
		}
	}
	out, err := s.write(ctx, &a, c, func(expected string) { _, _ = p.moves(expected, c) })
	if err == nil && out.record != "" {
		if err = s.outlive(ctx, out.record); err != nil {
			err = &keywright.Error{Class: keywright.UnknownOutcome, Op: name, Entry: s.entry.Name, Err: err,
				Hint: "the item is changed, and its indexes may end before it: touch it"}
		}
	}
	return out.version, err
}

// lifetime chooses the TTL of an update: the one that was asked for, that of the
// rule when a field of the rule changes, and on an entry that slides the default
// where less is left.
func (s *Store[I, T]) lifetime(ctx context.Context, a kernel.Action, p *patch[I, T], c *call,
	options []keywright.WriteOption) (err error) {
	begins, known := len(options) > 0 || s.entry.TTL.Sliding, 0
	for _, field := range s.spec.TTLFields {
		if p.touched[field] {
			begins, known = true, known+1
		}
	}
	switch {
	case !begins:
	case len(options) == 0 && s.typed.TTL != nil && known < len(s.spec.TTLFields):
		c.ttl, err = s.ruled(ctx, &a)
	default:
		c.ttl, err = s.ttl(&p.v, options)
	}
	if len(options) == 0 && known == 0 && c.ttl != "" && c.ttl != "0" {
		c.ttl = "+" + c.ttl // as a read does, it shortens no life
	}
	return err
}

// look reads the record of an item.
func (s *core) look(ctx context.Context, a *kernel.Action, id string) (string, error) {
	reading := *a
	reading.Effect, reading.Key = keywright.Reads, s.spec.Ledger
	raw := s.client.Raw()
	return kernel.Run(ctx, &reading, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Hget().Key(s.spec.Ledger).Field(id).Build())
	}, optionalText)
}

// Delete removes an item and reports whether it was there. 2 round trips: where
// it is must be known to take it out of there; DeleteItem needs 1.
func (s *Store[I, T]) Delete(ctx context.Context, id I) (bool, error) {
	return s.remove(ctx, id, present, "")
}

// DeleteItem removes an item that was read, if it was not changed since: else
// it is a *Conflict that wraps ErrVersion. Without versions it is Delete. 1 round
// trip.
func (s *Store[I, T]) DeleteItem(ctx context.Context, item Item[I, T]) (bool, error) {
	condition := present
	if s.spec.Version != "" {
		condition = strconv.FormatInt(item.Version, 10)
	}
	return s.remove(ctx, item.ID, condition, s.known(&item))
}

func (s *Store[I, T]) remove(ctx context.Context, id I, condition string, known string) (bool, error) {
	key, err := s.typed.Key(id)
	a := s.action("delete", keywright.Idempotent, key, err)
	c := &call{condition: condition, stamps: stamps{version: s.spec.Version}}
	if a.Err == nil {
		c.id = s.id(key)
		c.now = s.templates(c.id, wasThere, s.spec.OnDelete)
		if c.expected = known; known == "" && !s.apart {
			if c.expected, err = s.look(ctx, &a, c.id); err != nil {
				return false, err
			}
		}
	}
	_, err = s.write(ctx, &a, c, func(expected string) { c.drops = s.all(expected) })
	if errors.Is(err, keywright.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// outcome describes what the server says of a write.
type outcome struct {
	code, text string
	version    int64
	now        int64 // ms
	created    bool
	record     string // of an item whose TTL began again
}

// write sends a call, and again with the record that was found if another one was
// expected. arrange fits the call to a record.
func (s *core) write(ctx context.Context, a *kernel.Action, c *call, arrange func(expected string)) (outcome,
	error) {
	if s.apart {
		return s.writeApart(ctx, a, c)
	}
	for {
		if a.Err == nil {
			arrange(c.expected)
		}
		out, err := s.transmit(ctx, a, c)
		if err != nil {
			return outcome{}, err
		}
		out.created = out.code == "new"
		switch out.code {
		case "record":
			c.expected, c.found = out.text, true
			continue
		case "indexes":
			if err = s.agree(ctx, out.text); err != nil {
				return outcome{}, err
			}
			continue
		}
		return s.verdict(a, out)
	}
}

// transmit runs the script that does what a call asks for.
func (s *core) transmit(ctx context.Context, a *kernel.Action, c *call) (outcome, error) {
	if a.Err != nil || !s.puts(c) {
		keys, args := s.encode(c)
		out, err := kernel.DoShared(ctx, a, s.scripts.write, keys, args, decodeOutcome)
		return out, s.refused(c.id, err)
	}
	keys, args, indexes := s.putKeys(c)
	began := time.Now()
	out, err := kernel.DoShared(ctx, a, s.putter.script, keys, args, s.decodePut)
	if err == nil && indexes != nil && (out.code == "new" || out.code == "ok") {
		s.renewed.done(indexes, began)
	}
	return out, s.refused(c.id, err)
}

// verdict returns what an outcome is to the caller.
func (s *core) verdict(a *kernel.Action, out outcome) (outcome, error) {
	switch out.code {
	case "absent":
		return out, keywright.ErrNotFound
	case "present":
		return out, s.conflict(a, out, ErrExists)
	case "version":
		return out, s.conflict(a, out, ErrVersion)
	}
	return out, nil
}

func (s *core) conflict(a *kernel.Action, out outcome, err error) error {
	return &keywright.Error{Class: keywright.NotApplied, Op: a.Name, Entry: s.entry.Name,
		Err: &Conflict{Version: out.version, Err: err}}
}

func decodeOutcome(r kernel.Reply) (out outcome, err error) {
	texts, err := r.AsStrSlice()
	if err != nil {
		return out, err
	}
	if len(texts) > 3 {
		out.record = texts[3]
	}
	if len(texts) < 3 {
		return out, fmt.Errorf("the script answered with %d texts", len(texts))
	}
	out.code, out.text = texts[0], texts[1]
	out.version, _ = strconv.ParseInt(texts[1], 10, 64)
	out.now, err = strconv.ParseInt(texts[2], 10, 64)
	return out, err
}
