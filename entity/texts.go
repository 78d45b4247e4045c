package entity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Texts represents the items of a store as text by field, as they are stored: what is
// declared encrypted is sealed in it. It is for programs that keep copies of items elsewhere,
// as package fallback does. Items are named by their key.
type Texts[I, T any] struct{ s *Store[I, T] }

// Texts returns the items as text.
func (s *Store[I, T]) Texts() Texts[I, T] { return Texts[I, T]{s} }

// Entry returns what is declared.
func (x Texts[I, T]) Entry() *keywright.Entry { return x.s.core.Entry }

// Client returns the store's.
func (x Texts[I, T]) Client() *keywright.Client { return x.s.core.Client }

// Versioned returns an error if the entity has no version.
func (x Texts[I, T]) Versioned() error { return x.s.core.Versioned() }

// Stamped reports whether the server writes times into the items.
func (x Texts[I, T]) Stamped() bool {
	return x.s.core.Spec.Created != "" || x.s.core.Spec.Updated != ""
}

// Key returns the key of an item.
func (x Texts[I, T]) Key(id I) (string, error) {
	key, err := x.s.typed.Key(id)
	if err == nil {
		err = x.s.core.Err
	}
	if err != nil {
		return "", x.s.core.Invalid("item as text", err)
	}
	return key, nil
}

// DeleteSame removes an item that still has these fields with these texts and no others, and
// reports whether it was there: if it was written to since it is a *Conflict that wraps
// ErrVersion. sums are SHA-1 of the texts, in hex. 2 round trips.
func (x Texts[I, T]) DeleteSame(ctx context.Context, key string, sums map[string]string) (bool, error) {
	id, err := x.id(key)
	if err != nil {
		return false, err
	}
	var condition strings.Builder
	fmt.Fprintf(&condition, "=%d ", len(sums))
	for _, field := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&condition, "%d %.40s%s", len(field), sums[field], field)
	}
	return x.s.remove(ctx, id, condition.String(), "")
}

func (x Texts[I, T]) id(key string) (I, error) {
	id, ok := x.s.parsed(key)
	if !ok {
		return id, x.s.core.Invalid("item as text", errors.New("the key does not belong to this entity"))
	}
	return id, nil
}

// Get is Store.Get, and how long the item has left, 0 for ever. 1 round trip, 2 on
// an entity that slides.
func (x Texts[I, T]) Get(ctx context.Context, key string) (item Item[I, T], left time.Duration, err error) {
	id, err := x.id(key)
	if err != nil {
		return item, 0, err
	}
	if x.s.core.Entry.TTL.Sliding {
		if item, err = x.s.Get(ctx, id); err == nil {
			left, err = x.left(key).Do(ctx)
		}
		return item, left, err
	}
	var b keywright.Batch
	read := keywright.Queue(&b, kernel.NewOp(kernel.Spec[Item[I, T]]{
		Action: x.s.core.Action("get", keywright.Reads, key, nil),
		Build:  func(b kernel.Builder) kernel.Command { return b.Hmget().Key(key).Field(x.s.core.Names...).Build() },
		Decode: x.s.decode(id, key),
	}))
	ends := keywright.Queue(&b, x.left(key))
	if err = b.Run(ctx); err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return item, 0, err
	}
	if item, err = read.Result(); err == nil {
		left, err = ends.Result()
	}
	return item, left, err
}

// GetQuick works as Get does, without how long it has left. 1 round trip.
func (x Texts[I, T]) GetQuick(ctx context.Context, key string) (item Item[I, T], err error) {
	id, err := x.id(key)
	if err != nil {
		return item, err
	}
	return x.s.Get(ctx, id)
}

func (x Texts[I, T]) left(key string) keywright.Op[time.Duration] {
	return kernel.NewOp(kernel.Spec[time.Duration]{
		Action: x.s.core.Action("ttl", keywright.Reads, key, nil),
		Build:  func(b kernel.Builder) kernel.Command { return b.Pttl().Key(key).Build() },
		Decode: func(r kernel.Reply) (time.Duration, error) {
			ms, err := r.AsInt64()
			if err == nil && ms == -2 {
				err = keywright.ErrNotFound
			}
			return time.Duration(max(ms, 0)) * time.Millisecond, err
		},
	})
}

// Of returns an item as text: as it was read, or else its value, without what the
// server stamps.
func (x Texts[I, T]) Of(key string, item Item[I, T]) (map[string]string, error) {
	texts := map[string]string{}
	if item.texts == nil && x.s.typed.Identify != nil {
		id, err := x.id(key)
		if err != nil {
			return nil, err
		}
		x.s.typed.Identify(id, &item.Value)
	}
	for i, name := range x.s.core.Names {
		t, err := itemkeys.StoredText{}, error(nil)
		if item.texts != nil {
			t = item.texts[i]
		} else if !x.s.core.Stamped[name] {
			t.Text, t.There, err = x.s.text(key, &item.Value, i)
		}
		if err != nil {
			return nil, x.s.core.Invalid("item as text", value.In(name, err))
		}
		if t.There {
			texts[name] = t.Text
		}
	}
	return texts, nil
}

// Item reads an item from text.
func (x Texts[I, T]) Item(key string, texts map[string]string) (item Item[I, T], err error) {
	if item.ID, err = x.id(key); err != nil {
		return item, err
	}
	item.texts = make([]itemkeys.StoredText, len(x.s.core.Names))
	for i, name := range x.s.core.Names {
		item.texts[i].Text, item.texts[i].There = texts[name]
	}
	return item, x.s.parse(&item, key)
}

// Changes returns changes as text, and the fields that they take away.
func (x Texts[I, T]) Changes(key string, changes []Change[T]) (texts map[string]string, drop []string, err error) {
	id, err := x.id(key)
	if err != nil {
		return nil, nil, err
	}
	p, err := x.s.patch(id, changes)
	if err != nil {
		return nil, nil, x.s.core.Invalid("item as text", err)
	}
	texts = map[string]string{}
	for i, name := range x.s.core.Names {
		switch {
		case p.unset[name]:
			drop = append(drop, name)
		case p.touched[name]:
			if texts[name], _, err = x.s.text(key, &p.v, i); err != nil {
				return nil, nil, x.s.core.Invalid("item as text", value.In(name, err))
			}
		}
	}
	return texts, drop, nil
}

// Same reports whether two items are the same but for what the server stamps.
func (x Texts[I, T]) Same(a, b map[string]string) bool {
	bare := func(texts map[string]string) map[string]string {
		out := maps.Clone(texts)
		maps.DeleteFunc(out, func(name, _ string) bool { return x.s.core.Stamped[name] })
		return out
	}
	return maps.Equal(bare(a), bare(b))
}

// Kind describes what a write of texts does.
type Kind uint8

// The kinds.
const (
	Whole  Kind = iota // writes all fields
	Some               // changes fields of an item that is there
	Remove             // deletes
)

// TextWrite represents a write of texts, with the version that the item must have: -1 for
// any, 0 for none at all.
type TextWrite struct {
	Kind    Kind
	Texts   map[string]string
	Drop    []string
	TTL     time.Duration // 0: none, with Some: as it is. The declared bounds do not matter here
	Version int64
}

// TTL returns how long an item lives after a write, by the declaration or as asked
// (0: not). keep is whether it stays as it is; else 0 is for ever.
func (x Texts[I, T]) TTL(key string, w TextWrite, asked time.Duration) (ttl time.Duration, keep bool, err error) {
	var options []keywright.WriteOption
	if asked != 0 {
		options = append(options, keywright.ExpiresIn(asked))
	}
	c := &itemkeys.Call{}
	switch w.Kind {
	case Whole:
		item, err := x.Item(key, w.Texts)
		if err != nil {
			return 0, false, err
		}
		if c.TTL, err = x.s.ttl(&item.Value, options); err != nil {
			return 0, false, err
		}
	case Some:
		p, err := x.some(key, w)
		if err != nil {
			return 0, false, x.s.core.Invalid("item as text", err)
		}
		if asked == 0 && x.s.typed.TTL != nil && !p.knows(x.s.core.Spec.TTLFields) {
			return 0, true, nil // if its rule needs more, Write asks the server for it
		}
		if err = x.s.lifetime(context.Background(), x.s.core.Action("update", keywright.Reads, key, nil), p,
			c, options); err != nil {
			return 0, false, err
		}
	}
	ms, _ := strconv.ParseInt(c.TTL, 10, 64)
	return time.Duration(ms) * time.Millisecond, c.TTL == "" && w.Kind == Some, nil
}

// knows reports whether all these fields are written.
func (p *patch[I, T]) knows(fields []string) bool {
	return !slices.ContainsFunc(fields, func(name string) bool { return !p.touched[name] })
}

// some returns the patch that texts make.
func (x Texts[I, T]) some(key string, w TextWrite) (*patch[I, T], error) {
	p := &patch[I, T]{store: x.s, touched: map[string]bool{}, unset: map[string]bool{}}
	for _, name := range w.Drop {
		p.touched[name], p.unset[name] = true, true
	}
	for name, t := range w.Texts {
		i, known := x.s.core.Columns[name]
		if !known || x.s.core.Stamped[name] {
			return nil, fmt.Errorf("%q is no field that can be written", name)
		}
		p.touched[name] = true
		col := &x.s.typed.Fields.Columns[i]
		if col.Sealed {
			var err error
			if t, err = x.s.core.Client.Unseal(x.s.core.Entry, key, name, t); err != nil {
				return nil, err
			}
		}
		if err := col.Parse(&p.v, t); err != nil {
			return nil, value.In(name, err)
		}
	}
	id, err := x.id(key)
	if err != nil {
		return nil, err
	}
	return p, p.identified(id)
}

// Write writes texts as they are, and gives the version that the item has then, 0
// if it is gone. A version that is not the one is a *Conflict; a missing item is
// keywright.ErrNotFound. Round trips: as Put, Update and Delete.
func (x Texts[I, T]) Write(ctx context.Context, key string, w TextWrite) (int64, error) {
	id, err := x.id(key)
	if err == nil {
		err = x.s.core.Versioned()
	}
	if err != nil {
		return 0, err
	}
	switch w.Kind {
	case Remove:
		return 0, x.remove(ctx, id, w)
	case Some:
		return x.update(ctx, key, w)
	}
	return x.put(ctx, key, w)
}

func (w TextWrite) condition(any string) string {
	switch w.Version {
	case -1:
		return any
	case 0:
		return itemkeys.Absent
	}
	return strconv.FormatInt(w.Version, 10)
}

func (x Texts[I, T]) remove(ctx context.Context, id I, w TextWrite) error {
	there, err := x.s.remove(ctx, id, w.condition(itemkeys.Present), "")
	if err == nil && !there {
		err = keywright.ErrNotFound
	}
	return err
}

func (w TextWrite) ttl(none string) string {
	if w.TTL == 0 {
		return none
	}
	return strconv.FormatInt(max(w.TTL.Milliseconds(), 1), 10)
}

func (x Texts[I, T]) put(ctx context.Context, key string, w TextWrite) (int64, error) {
	item, err := x.Item(key, w.Texts)
	if err != nil {
		return 0, err
	}
	c := &itemkeys.Call{ID: x.s.core.ID(key), Condition: w.condition(itemkeys.Whatever), TTL: w.ttl("0")}
	if w.TTL == 0 && x.s.core.Spec.Expires != "" {
		c.TTL = ""
	}
	x.s.core.Stamp(c, true)
	x.take(c, w)
	in, err := x.s.describe(&item.Value, c)
	a := x.s.core.Action("put", keywright.Writes, key, err)
	c.Now = x.s.core.WrittenEvents(c.ID)
	out, err := x.s.writer.Write(ctx, &a, c, x.s.arranged(c, in))
	return out.Version, err
}

// take puts the texts into a call; those of a whole item that are missing are to go.
func (x Texts[I, T]) take(c *itemkeys.Call, w TextWrite) {
	for _, name := range x.s.core.Names {
		t, there := w.Texts[name]
		switch {
		case x.s.core.Stamped[name]:
		case there:
			c.Fields = append(c.Fields, name, t)
		case w.Kind == Whole && c.Condition != itemkeys.Absent || slices.Contains(w.Drop, name):
			c.Removed = append(c.Removed, name)
		}
	}
}

func (x Texts[I, T]) update(ctx context.Context, key string, w TextWrite) (int64, error) {
	p, err := x.some(key, w)
	c := &itemkeys.Call{ID: x.s.core.ID(key), Condition: w.condition(itemkeys.Present), Expected: itemkeys.AnyRecord,
		TTL: w.ttl("")}
	c.Now = x.s.core.EventTemplates(c.ID, itemkeys.WasThere, x.s.core.Spec.OnUpdate)
	var needed bool
	if err == nil {
		x.s.core.Stamp(c, false)
		x.take(c, w)
		needed, err = p.moves("", c)
	}
	if err == nil && w.TTL == 0 {
		err = x.s.lifetime(ctx, x.s.core.Action("update", keywright.Writes, key, nil), p, c, nil)
	}
	a := x.s.core.Action("update", keywright.Writes, key, err)
	if needed && a.Err == nil && !x.s.core.CrossSlot {
		if c.Expected, err = x.s.core.ReadRecord(ctx, &a, c.ID); err != nil {
			return 0, err
		}
	}
	out, err := x.s.writer.Write(ctx, &a, c, func(expected string) { _, _ = p.moves(expected, c) })
	if err == nil && out.Record != "" {
		err = x.s.core.Outlive(ctx, out.Record)
	}
	return out.Version, err
}
