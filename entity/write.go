package entity

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Create makes an item. One that is there already is a *Conflict that wraps
// ErrExists, and stays as it is. 1 round trip; 2 when an item of this id has
// expired and is not yet swept.
func (s *Store[I, T]) Create(ctx context.Context, id I, v T, options ...keywright.WriteOption) (Item[I, T], error) {
	return s.whole(ctx, "create", id, v, itemkeys.Absent, options)
}

// Put makes an item or replaces it. 1 round trip, 2 when it was in other indexes.
// It announces a creation where the item was not there, else an update. A field
// that the server stamps with the time of creation stays what it was; the item
// that is given has it only if it was made now.
func (s *Store[I, T]) Put(ctx context.Context, id I, v T, options ...keywright.WriteOption) (Item[I, T], error) {
	return s.whole(ctx, "put", id, v, itemkeys.Whatever, options)
}

// Replace writes all fields of an item that is there: those that v lacks are gone
// afterwards, and its TTL begins again. A missing item is keywright.ErrNotFound.
// 1 round trip, 2 when it was in other indexes.
func (s *Store[I, T]) Replace(ctx context.Context, id I, v T, options ...keywright.WriteOption) (Item[I, T], error) {
	return s.whole(ctx, "replace", id, v, itemkeys.Present, options)
}

// Save writes an item back as it was read and changed, if no other write has changed
// it: else it is a *Conflict that wraps ErrVersion, and nothing is written. The
// declaration must have a version. 1 round trip.
func (s *Store[I, T]) Save(ctx context.Context, item Item[I, T], options ...keywright.WriteOption) (Item[I, T], error) {
	if err := s.core.Versioned(); err != nil {
		return Item[I, T]{}, err
	}
	return s.whole(ctx, "save", item.ID, item.Value, strconv.FormatInt(item.Version, 10), options, s.known(&item))
}

// whole writes all fields of an item.
func (s *Store[I, T]) whole(ctx context.Context, name string, id I, v T, condition string,
	options []keywright.WriteOption, known ...string) (Item[I, T], error) {
	c := &itemkeys.Call{Condition: condition}
	key, err := s.typed.Key(id)
	a := s.core.Action(name, keywright.Writes, key, err)
	var in map[string]string
	if a.Err == nil {
		if s.typed.Identify != nil {
			s.typed.Identify(id, &v)
		}
		c.ID = s.core.ID(key)
		in, err = s.fill(key, &v, c, options)
		a = s.core.Action(name, keywright.Writes, key, err)
	}
	arrange := s.arranged(c, in)
	if len(known) > 0 && known[0] != "" {
		c.Expected = known[0]
	}
	c.Now = s.core.WrittenEvents(c.ID)
	out, err := s.writer.Write(ctx, &a, c, arrange)
	if err != nil {
		return Item[I, T]{}, err
	}
	item := s.stampedItem(id, v, out)
	item.record = c.Record
	return item, nil
}

// arranged expects the record that the item of a call has where it was in the same indexes, and returns what fits the
// call to another record.
func (s *Store[I, T]) arranged(c *itemkeys.Call, in map[string]string) func(expected string) {
	own, adds, drops := s.core.RecordOf(in, "", true), c.Adds, c.Drops
	c.Record, c.Expected = own, own
	return func(expected string) {
		c.Record, c.Adds, c.Drops, c.Dead = own, adds, drops, s.core.ExpiredEvents(c.ID, expected)
		if expected != own {
			c.Record = s.core.RecordOf(in, expected, true)
			c.Drops = append(drops[:len(drops):len(drops)], s.core.LeftEntries(expected, in)...)
		}
	}
}

// fill takes a value into a call.
func (s *Store[I, T]) fill(key string, v *T, c *itemkeys.Call, options []keywright.WriteOption) (in map[string]string,
	err error) {
	if c.TTL, err = s.ttl(v, options); err != nil {
		return nil, err
	}
	if err = s.texts(key, v, c); err != nil {
		return nil, err
	}
	if c.Condition == itemkeys.Absent {
		c.Removed = nil
	}
	return s.describe(v, c)
}

// stampedItem returns an item as it is now on the server.
func (s *Store[I, T]) stampedItem(id I, v T, out itemkeys.Outcome) Item[I, T] {
	item := Item[I, T]{ID: id, Value: v}
	if s.core.Spec.Version != "" {
		item.Version = out.Version
		s.set(&item.Value, s.core.Spec.Version, out.Text)
	}
	created := s.core.Spec.Created
	if !out.Created {
		created = ""
	}
	if s.core.Spec.Updated == "" && created == "" {
		return item
	}
	now := out.Now
	if s.core.Spec.Seconds {
		now /= 1000
	}
	text := strconv.FormatInt(now, 10)
	s.set(&item.Value, s.core.Spec.Updated, text)
	s.set(&item.Value, created, text)
	return item
}

func (s *Store[I, T]) set(v *T, field, text string) {
	if field != "" {
		_ = s.typed.Fields.Columns[s.core.Columns[field]].Parse(v, text) // a whole number by declaration
	}
}

// Update changes some fields of an item and gives its new version. A missing one
// is keywright.ErrNotFound. 1 round trip; one more when an indexed field changes,
// since what it was must be known to take it out of there, and now and then one
// when its TTL begins again, as an index must outlive its items.
func (s *Store[I, T]) Update(ctx context.Context, id I, changes ...Change[T]) (version int64, err error) {
	return s.update(ctx, "update", id, itemkeys.Present, changes, nil)
}

// UpdateWith works as Update does, with a choice of TTL.
func (s *Store[I, T]) UpdateWith(ctx context.Context, id I, options []keywright.WriteOption,
	changes ...Change[T]) (version int64, err error) {
	return s.update(ctx, "update", id, itemkeys.Present, changes, options)
}

// UpdateIf works as Update does, if the item has this version still; else it is a *Conflict
// that wraps ErrVersion and says which it has, and nothing is changed. Versions
// are never used again, not even after a delete.
func (s *Store[I, T]) UpdateIf(ctx context.Context, id I, version int64, changes ...Change[T]) (int64, error) {
	if err := s.core.Versioned(); err != nil {
		return 0, err
	}
	return s.update(ctx, "update", id, strconv.FormatInt(version, 10), changes, nil)
}

// Modify reads an item, lets f change it and writes it back, again and again
// until no other write was in between. An error of f ends it. The declaration must have a
// version. 2 round trips per attempt.
func (s *Store[I, T]) Modify(ctx context.Context, id I, f func(*T) error) (Item[I, T], error) {
	if err := s.core.Versioned(); err != nil { // before it is read: that may renew its TTL
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

func (s *Store[I, T]) patch(id I, changes []Change[T]) (*patch[I, T], error) {
	p := &patch[I, T]{store: s, touched: map[string]bool{}, unset: map[string]bool{}}
	for _, c := range changes {
		if c.set == nil && !c.unset {
			return nil, errors.New("a change of nothing: the zero Change, which no field has made")
		}
		if s.core.Stamped[c.field] {
			return nil, fmt.Errorf("%s is written by the server", c.field)
		}
		p.touched[c.field], p.unset[c.field] = true, c.unset
		if !c.unset {
			c.set(&p.v)
		}
	}
	if len(changes) == 0 && s.core.Spec.Updated == "" {
		return nil, errors.New("an update without changes, of an entity without a stamp of the update")
	}
	return p, p.identified(id)
}

// identified refuses another id in the field that holds the item's.
func (p *patch[I, T]) identified(id I) error {
	if p.store.typed.Identify == nil {
		return nil
	}
	own := p.v
	p.store.typed.Identify(id, &own)
	for i := range p.store.typed.Fields.Columns {
		col := &p.store.typed.Fields.Columns[i]
		if !p.touched[col.Name] || p.unset[col.Name] {
			continue
		}
		wrote, _, _ := col.Text(&p.v)
		if is, _, err := col.Text(&own); err == nil && wrote != is {
			return fmt.Errorf("%s is the id of the item and cannot be another one", col.Name)
		}
	}
	return nil
}

// touches reports whether a field is another one afterwards.
func (p *patch[I, T]) touches(field string) bool {
	return p.touched[field] || field != "" && p.store.core.Stamped[field] && field != p.store.core.Spec.Created
}

// fill takes the fields into a call.
func (p *patch[I, T]) fill(key string, c *itemkeys.Call) error {
	p.store.core.Stamp(c, false)
	for i, name := range p.store.core.Names {
		switch {
		case p.unset[name]:
			c.Removed = append(c.Removed, name)
		case p.touched[name]:
			text, _, err := p.store.text(key, &p.v, i)
			if err != nil {
				return value.In(name, err)
			}
			c.Fields = append(c.Fields, name, text)
		}
	}
	return nil
}

// moves says what happens to the entries of an item, given its record; needed is
// whether that must be known.
func (p *patch[I, T]) moves(record string, c *itemkeys.Call) (needed bool, err error) {
	in := p.store.core.KnownPlaces(record)
	c.Adds, c.Drops = nil, nil
	for i := range p.store.core.Spec.Indexes {
		ix := &p.store.core.Spec.Indexes[i]
		byValue, byScore := ix.Affected(p.touches)
		if ix.Field == "" {
			if byScore {
				c.Adds, in[ix.Name] = append(c.Adds, itemkeys.Entry{Key: ix.Prefix, Score: "@" + ix.Score}), ""
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
			c.Adds = append(c.Adds, itemkeys.Entry{Key: ix.KeyOf(in[ix.Name]), Score: ix.Live()})
		}
	}
	c.Drops = p.store.core.LeftEntries(record, in)
	c.Record = itemkeys.AnyRecord
	if needed || record != "" && record != itemkeys.AnyRecord {
		c.Record = p.store.core.RecordOf(in, record, true)
	}
	return needed, nil
}

// Text returns the new value of an index, "" for none.
func (p *patch[I, T]) text(i int) (string, error) {
	ix := &p.store.core.Spec.Indexes[i]
	if p.unset[ix.Field] {
		return "", nil
	}
	key, err := p.store.typed.Indexes[i].Key(&p.v)
	if err != nil {
		return "", err
	}
	return ix.Text(key), nil
}

func (s *Store[I, T]) update(ctx context.Context, name string, id I, condition string, changes []Change[T],
	options []keywright.WriteOption) (int64, error) {
	c := &itemkeys.Call{Condition: condition, Expected: itemkeys.AnyRecord}
	key, err := s.typed.Key(id)
	p, bad := s.patch(id, changes)
	if err == nil {
		err = bad
	}
	if err == nil && s.core.Err == nil {
		c.ID = s.core.ID(key)
		c.Now = s.core.EventTemplates(c.ID, itemkeys.WasThere, s.core.Spec.OnUpdate)
		if err = p.fill(key, c); err == nil {
			err = s.lifetime(ctx, s.core.Action(name, keywright.Writes, key, nil), p, c, options)
		}
	}
	var needed bool
	if err == nil && s.core.Err == nil {
		needed, err = p.moves("", c)
	}
	a := s.core.Action(name, keywright.Writes, key, err)
	if needed && a.Err == nil && !s.core.CrossSlot {
		if c.Expected, err = s.core.ReadRecord(ctx, &a, c.ID); err != nil {
			return 0, err
		}
	}
	out, err := s.writer.Write(ctx, &a, c, func(expected string) { _, _ = p.moves(expected, c) })
	if err == nil && out.Record != "" {
		if err = s.core.Outlive(ctx, out.Record); err != nil {
			err = &keywright.Error{Class: keywright.UnknownOutcome, Op: name, Entry: s.core.Entry.Name, Err: err,
				Hint: "the item is changed, and its indexes may end before it: touch it"}
		}
	}
	return out.Version, err
}

// lifetime chooses the TTL of an update: the one that was asked for, that of the
// rule when a field of the rule changes, and on an entry that slides the default
// where less is left.
func (s *Store[I, T]) lifetime(ctx context.Context, a kernel.Action, p *patch[I, T], c *itemkeys.Call,
	options []keywright.WriteOption) (err error) {
	begins, known := len(options) > 0 || s.core.Entry.TTL.Sliding, 0
	for _, field := range s.core.Spec.TTLFields {
		if p.touched[field] {
			begins, known = true, known+1
		}
	}
	switch {
	case !begins:
	case len(options) == 0 && s.typed.TTL != nil && known < len(s.core.Spec.TTLFields):
		c.TTL, err = s.ruled(ctx, &a)
	default:
		c.TTL, err = s.ttl(&p.v, options)
	}
	if len(options) == 0 && known == 0 && c.TTL != "" && c.TTL != "0" {
		c.TTL = "+" + c.TTL // as a read does, it shortens no life
	}
	return err
}

// Delete removes an item and reports whether it was there. 2 round trips: where
// it is must be known to take it out of there; DeleteItem needs 1.
func (s *Store[I, T]) Delete(ctx context.Context, id I) (bool, error) {
	return s.remove(ctx, id, itemkeys.Present, "")
}

// DeleteItem removes an item that was read, if it was not changed since: else
// it is a *Conflict that wraps ErrVersion. Without versions it is Delete. 1 round
// trip.
func (s *Store[I, T]) DeleteItem(ctx context.Context, item Item[I, T]) (bool, error) {
	condition := itemkeys.Present
	if s.core.Spec.Version != "" {
		condition = strconv.FormatInt(item.Version, 10)
	}
	return s.remove(ctx, item.ID, condition, s.known(&item))
}

func (s *Store[I, T]) remove(ctx context.Context, id I, condition string, known string) (bool, error) {
	key, err := s.typed.Key(id)
	a := s.core.Action("delete", keywright.Idempotent, key, err)
	c := &itemkeys.Call{Condition: condition, Stamps: itemkeys.Stamps{Version: s.core.Spec.Version}}
	if a.Err == nil {
		c.ID = s.core.ID(key)
		c.Now = s.core.EventTemplates(c.ID, itemkeys.WasThere, s.core.Spec.OnDelete)
		if c.Expected = known; known == "" && !s.core.CrossSlot {
			if c.Expected, err = s.core.ReadRecord(ctx, &a, c.ID); err != nil {
				return false, err
			}
		}
	}
	_, err = s.writer.Write(ctx, &a, c, func(expected string) { c.Drops = s.core.AllEntries(expected) })
	if errors.Is(err, keywright.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
