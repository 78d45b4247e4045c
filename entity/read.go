package entity

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Get reads an item. A missing or expired one is keywright.ErrNotFound. On an
// entity that slides it prolongs the item, and never gives it a shorter life than it
// had. 1 round trip, 2 where it slides by a rule.
func (s *Store[I, T]) Get(ctx context.Context, id I) (Item[I, T], error) {
	if s.core.Entry.TTL.Sliding {
		item, _, err := s.touch(ctx, "get", id, s.core.Names, itemkeys.TouchMore, nil)
		return item, err
	}
	key, err := s.typed.Key(id)
	a := s.core.Action("get", keywright.Reads, key, err)
	raw := s.core.Client.Raw()
	return kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Hmget().Key(key).Field(s.core.Names...).Build())
	}, s.decode(id, key))
}

// Cached works as Get does, through client-side caching: what it gives may be as old as
// maxAge, or as the staleness bound that docs/cache.md says, and never lives
// longer than the item. It does not prolong.
func (s *Store[I, T]) Cached(ctx context.Context, id I, maxAge time.Duration) (Item[I, T], error) {
	key, err := s.typed.Key(id)
	a := s.core.Action("get cached", keywright.Reads, key, err)
	raw := s.core.Client.Raw()
	return kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return kernel.DoCache(ctx, raw, func(b kernel.Builder) kernel.Cacheable {
			return b.Hmget().Key(key).Field(s.core.Names...).Cache()
		}, maxAge)
	}, s.decode(id, key))
}

// Exists reports whether an item is there. 1 round trip.
func (s *Store[I, T]) Exists(ctx context.Context, id I) (bool, error) {
	key, err := s.typed.Key(id)
	a := s.core.Action("exists", keywright.Reads, key, err)
	raw := s.core.Client.Raw()
	return kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Exists().Key(key).Build())
	}, func(r kernel.Reply) (bool, error) { return r.AsBool() })
}

// GetMany reads items, in the order of the ids, one pipeline per server. Missing
// ones are left out. It prolongs nothing.
func (s *Store[I, T]) GetMany(ctx context.Context, ids ...I) ([]Item[I, T], error) {
	items := make([]Item[I, T], 0, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), itemkeys.MostAtOnce)
		some, err := s.getSome(ctx, ids[:n])
		if err != nil {
			return nil, err
		}
		items, ids = append(items, some...), ids[n:]
	}
	return items, nil
}

func (s *Store[I, T]) getSome(ctx context.Context, ids []I) (items []Item[I, T], err error) {
	var b keywright.Batch
	results := make([]*keywright.Pending[Item[I, T]], len(ids))
	for i, id := range ids {
		key, bad := s.typed.Key(id)
		op := kernel.NewOp(kernel.Spec[Item[I, T]]{
			Action: s.core.Action("get", keywright.Reads, key, bad),
			Build:  func(b kernel.Builder) kernel.Command { return b.Hmget().Key(key).Field(s.core.Names...).Build() },
			Decode: s.decode(id, key),
		})
		results[i] = keywright.Queue(&b, op)
	}
	runErr := b.Run(ctx)
	for _, r := range results {
		item, err := r.Result()
		switch {
		case err == nil:
			items = append(items, item)
		case !errors.Is(err, keywright.ErrNotFound) && !errors.Is(err, keywright.ErrNotRun):
			return nil, err
		}
	}
	if runErr != nil && !errors.Is(runErr, keywright.ErrNotFound) {
		return nil, runErr
	}
	return items, nil
}

// decode reads the texts of all columns.
func (s *Store[I, T]) decode(id I, key string) func(kernel.Reply) (Item[I, T], error) {
	return func(r kernel.Reply) (Item[I, T], error) {
		all, err := r.ToArray()
		if err != nil {
			return Item[I, T]{}, err
		}
		return s.item(id, key, all)
	}
}

// item reads an item from the texts of its columns; all of them missing is an
// item that is not there.
func (s *Store[I, T]) item(id I, key string, all []kernel.Value) (item Item[I, T], err error) {
	columns := s.typed.Fields.Columns
	if len(all) != len(columns) {
		return item, fmt.Errorf("%d texts for %d fields", len(all), len(columns))
	}
	item.ID = id
	item.texts = make([]itemkeys.StoredText, len(all))
	found := false
	for i := range all {
		if all[i].IsNil() {
			continue
		}
		found = true
		t, err := all[i].ToString()
		if err != nil {
			return item, err
		}
		item.texts[i] = itemkeys.StoredText{Text: t, There: true}
	}
	if !found {
		return item, keywright.ErrNotFound
	}
	return item, s.parse(&item, key)
}

// parse reads the value of an item from its texts.
func (s *Store[I, T]) parse(item *Item[I, T], key string) error {
	columns := s.typed.Fields.Columns
	for i := range columns {
		col, t := &columns[i], item.texts[i]
		if !t.There {
			if !col.Optional && !s.core.Stamped[col.Name] {
				return s.broken(key, col.Name, value.Missing(col.Name))
			}
			continue
		}
		plain := t.Text
		if col.Sealed {
			var err error
			if plain, err = s.core.Client.Unseal(s.core.Entry, key, col.Name, plain); err != nil {
				return s.broken(key, col.Name, err)
			}
		}
		if err := col.Parse(&item.Value, plain); err != nil {
			return s.broken(key, col.Name, err)
		}
	}
	if s.core.Spec.Version != "" {
		item.Version, _ = strconv.ParseInt(item.texts[s.core.Columns[s.core.Spec.Version]].Text, 10, 64)
	}
	return nil
}

func (s *Store[I, T]) broken(key, field string, err error) error {
	switch err.(type) {
	case *keywright.DecodeError, *keywright.Error: // of opening what is sealed
		return err
	}
	return &keywright.DecodeError{Entry: s.core.Entry.Name, Key: key, Field: field, Err: err}
}

// Touch begins the TTL of an item again: the declared one, or what
// keywright.ExpiresIn asks for. A missing item is keywright.ErrNotFound. 1 round
// trip, 2 where the declaration has a rule for it, now and then one more: an index
// must outlive its items.
func (s *Store[I, T]) Touch(ctx context.Context, id I, options ...keywright.WriteOption) error {
	_, _, err := s.touch(ctx, "touch", id, nil, itemkeys.TouchAny, options)
	return err
}

// Shorten gives an item a TTL if it would live longer, and reports whether it
// did: a second time changes nothing. The TTL may be below what is declared, as
// when memory is short. It works on a server at its maxmemory. 1 round trip.
func (s *Store[I, T]) Shorten(ctx context.Context, id I, ttl time.Duration) (bool, error) {
	_, changed, err := s.touch(ctx, "shorten", id, nil, itemkeys.TouchLess, nil, ttl)
	return changed, err
}

func (s *Store[I, T]) touch(ctx context.Context, name string, id I, fields []string, mode string,
	options []keywright.WriteOption, shorten ...time.Duration) (Item[I, T], bool, error) {
	key, err := s.typed.Key(id)
	a := s.core.Action(name, keywright.Idempotent, key, err)
	ttl, bad := s.touchTTL(ctx, &a, options, shorten)
	if a.Err == nil && bad != nil {
		a = s.core.Action(name, keywright.Idempotent, key, bad)
	}
	if a.Err != nil {
		return Item[I, T]{}, false, a.Err
	}
	item := Item[I, T]{ID: id}
	if s.core.CrossSlot {
		changed, err := crossslot.Touch(ctx, s.core, &a, fields, mode, ttl, func(texts []kernel.Value) (err error) {
			item, err = s.item(id, key, texts)
			return err
		})
		return item, changed, err
	}
	args := append([]string{strconv.Itoa(5 + len(fields)), s.core.ID(key), ttl, s.core.Keeps, mode}, fields...)
	keys := []string{key, s.core.Spec.Expires, s.core.Spec.Records}
	all, _, err := kernel.RunShared(ctx, &a, s.core.Scripts.Touch, keys, args, found)
	if err != nil {
		return Item[I, T]{}, false, s.core.FormError(s.core.ID(key), err)
	}
	record, _ := all[0].ToString()
	changed, _ := all[1].ToString()
	if fields != nil {
		item, err = s.item(id, key, all[2:])
	}
	if mode != itemkeys.TouchLess && err == nil {
		err = s.core.Outlive(ctx, record)
	}
	return item, changed == "1", err
}

func (s *Store[I, T]) touchTTL(ctx context.Context, a *kernel.Action, options []keywright.WriteOption,
	shorten []time.Duration) (string, error) {
	if s.core.Spec.Expires == "" {
		return "", errors.New("items of this entity never expire")
	}
	if len(shorten) > 0 {
		if shorten[0] < time.Millisecond {
			return "", fmt.Errorf("a TTL of %v", shorten[0])
		}
		return strconv.FormatInt(shorten[0].Milliseconds(), 10), nil
	}
	ms, asked, err := s.core.Entry.Choose(options)
	if err == nil && !asked && a.Err == nil && s.typed.TTL != nil {
		return s.ruled(ctx, a)
	}
	if err == nil && ms == 0 {
		err = errors.New("there is no TTL to begin again: ask for one")
	}
	return strconv.FormatInt(ms, 10), err
}

// ruled returns the TTL by rule of an item that is there, in the form of the scripts: a
// reading of the fields that the rule looks at.
func (s *Store[I, T]) ruled(ctx context.Context, a *kernel.Action) (string, error) {
	reading := *a
	reading.Effect = keywright.Reads
	raw := s.core.Client.Raw()
	return kernel.Run(ctx, &reading, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Hmget().Key(a.Key).Field(s.core.Spec.TTLFields...).Build())
	}, func(r kernel.Reply) (string, error) {
		all, err := r.ToArray()
		if err != nil {
			return "", err
		}
		var v T
		for i, name := range s.core.Spec.TTLFields {
			if t, missing := all[i].ToString(); missing == nil {
				if err := s.typed.Fields.Columns[s.core.Columns[name]].Parse(&v, t); err != nil {
					return "", s.broken(a.Key, name, err)
				}
			}
		}
		return s.ttl(&v, nil)
	})
}

// found returns a reply that is nil where there is no item.
func found(r kernel.Reply) ([]kernel.Value, error) {
	all, err := r.ToArray()
	if kernel.IsNil(err) {
		return nil, keywright.ErrNotFound
	}
	return all, err
}
