package entity

import (
	"context"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
)

// CreateAll is Create of many items: their ID and Value count. It gives them as
// they are now, and Errors if some failed. A round trip per 64 of them, two at a
// time; in a cluster one each, in a pipeline per server.
func (s *Store[I, T]) CreateAll(ctx context.Context, items []Item[I, T],
	options ...keywright.WriteOption) ([]Item[I, T], error) {
	return s.writeAll(items, func(i Item[I, T]) (Item[I, T], error) { return s.Create(ctx, i.ID, i.Value, options...) })
}

// PutAll is Put of many items, as CreateAll is Create.
func (s *Store[I, T]) PutAll(ctx context.Context, items []Item[I, T], options ...keywright.WriteOption) ([]Item[I, T],
	error) {
	return s.writeAll(items, func(i Item[I, T]) (Item[I, T], error) { return s.Put(ctx, i.ID, i.Value, options...) })
}

func (s *Store[I, T]) writeAll(items []Item[I, T], write func(Item[I, T]) (Item[I, T], error)) ([]Item[I, T], error) {
	out := slices.Clone(items)
	return out, itemkeys.AtOnce(len(items), func(i int) (err error) {
		item, err := write(items[i])
		if err == nil {
			out[i] = item
		}
		return err
	})
}

// TouchAll is Touch of many items: a missing one is keywright.ErrNotFound in
// Errors.
func (s *Store[I, T]) TouchAll(ctx context.Context, ids []I, options ...keywright.WriteOption) error {
	return itemkeys.AtOnce(len(ids), func(i int) error { return s.Touch(ctx, ids[i], options...) })
}

// DeleteAll is Delete of many items, and gives how many there were.
func (s *Store[I, T]) DeleteAll(ctx context.Context, ids ...I) (n int, err error) {
	there := make([]bool, len(ids))
	err = itemkeys.AtOnce(len(ids), func(i int) (err error) {
		there[i], err = s.Delete(ctx, ids[i])
		return err
	})
	for _, was := range there {
		if was {
			n++
		}
	}
	return n, err
}
