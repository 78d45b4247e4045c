package fallback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/kernel"
)

// Entities represents the items of a declared entity under a guard. The entity must have a
// version (stamps: {version: version}). It holds items as they are stored: what is
// declared encrypted stays sealed in the second store. An item that waits for the
// server has no new stamps yet.
type Entities[I, T any] struct {
	guard *Guard[entity.Item[I, T]]
	texts entity.Texts[I, T]
}

// NewEntities gives the items of an entity a second store. Close it.
func NewEntities[I, T any](s *entity.Store[I, T], second Store, o Options) (*Entities[I, T], error) {
	t := items[I, T]{s.Texts()}
	if err := t.Versioned(); err != nil {
		return nil, err
	}
	o.Name = cmp.Or(o.Name, t.Entry().Name)
	g, err := New(t, second, o)
	if err != nil {
		return nil, err
	}
	return &Entities[I, T]{g, t.Texts}, nil
}

// Guard returns what an entity shares with other targets: State, Conflicts, Settled,
// Discard. Its ids are the keys of the items.
func (e *Entities[I, T]) Guard() *Guard[entity.Item[I, T]] { return e.guard }

// Close does what Guard.Close does.
func (e *Entities[I, T]) Close() error { return e.guard.Close() }

// Get does what Guard.Get does.
func (e *Entities[I, T]) Get(ctx context.Context, id I) (Answer[entity.Item[I, T]], error) {
	key, err := e.texts.Key(id)
	if err != nil {
		return Answer[entity.Item[I, T]]{}, err
	}
	a, err := e.guard.Get(ctx, key)
	a.Value.ID, a.Value.Version = id, a.Version
	return a, err
}

// Create makes an item; ErrConflict if it is there already. See Guard.Put.
func (e *Entities[I, T]) Create(ctx context.Context, id I, v T, options ...WriteOption) (Receipt, error) {
	return e.Put(ctx, id, v, append(options[:len(options):len(options)], If(Absent))...)
}

// Put does what Guard.Put does.
func (e *Entities[I, T]) Put(ctx context.Context, id I, v T, options ...WriteOption) (Receipt, error) {
	key, err := e.texts.Key(id)
	if err != nil {
		return Receipt{}, err
	}
	return e.guard.Put(ctx, key, entity.Item[I, T]{ID: id, Value: v}, options...)
}

// Update does what Guard.Update does, by the changes of generated code.
func (e *Entities[I, T]) Update(ctx context.Context, id I, changes []entity.Change[T], options ...WriteOption) (Receipt,
	error) {
	key, err := e.texts.Key(id)
	if err != nil {
		return Receipt{}, err
	}
	texts, drop, err := e.texts.Changes(key, changes)
	if err != nil {
		return Receipt{}, err
	}
	return e.guard.Update(ctx, key, texts, append(options[:len(options):len(options)], Without(drop...))...)
}

// Delete does what Guard.Delete does.
func (e *Entities[I, T]) Delete(ctx context.Context, id I, options ...WriteOption) (Receipt, error) {
	key, err := e.texts.Key(id)
	if err != nil {
		return Receipt{}, err
	}
	return e.guard.Delete(ctx, key, options...)
}

// items represents the Target of an entity.
type items[I, T any] struct{ entity.Texts[I, T] }

// Get implements Target.
func (t items[I, T]) Get(ctx context.Context, key string) (Item[entity.Item[I, T]], error) {
	item, left, err := t.Texts.Get(ctx, key)
	out := Item[entity.Item[I, T]]{Value: item, Version: item.Version}
	if left > 0 {
		out.Expires = time.Now().Add(left)
	}
	return out, err
}

// GetQuick implements Quick.
func (t items[I, T]) GetQuick(ctx context.Context, key string) (Item[entity.Item[I, T]], error) {
	item, err := t.Texts.GetQuick(ctx, key)
	return Item[entity.Item[I, T]]{Value: item, Version: item.Version}, err
}

// Write implements Target.
func (t items[I, T]) Write(ctx context.Context, key string, c Change) (int64, error) {
	version, err := t.Texts.Write(ctx, key, asTexts(c))
	if conflict, ok := errors.AsType[*entity.Conflict](err); ok {
		return 0, fmt.Errorf("%w: %w", ErrConflict, conflict) // without its class: NotApplied is a server that is away
	}
	return version, err
}

func asTexts(c Change) entity.TextWrite {
	w := entity.TextWrite{Texts: c.Fields, Drop: c.Drop, Version: c.If,
		Kind: [...]entity.Kind{Put: entity.Whole, Update: entity.Some, Delete: entity.Remove}[c.Kind]}
	if !c.Expires.IsZero() {
		w.TTL = max(time.Until(c.Expires), time.Millisecond)
	}
	return w
}

// Prepare implements Target: the TTL that is declared, or asked for within its
// bounds, becomes the deadline.
func (t items[I, T]) Prepare(key string, c Change) (Change, error) {
	w := asTexts(c)
	now := time.Now()
	ttl, keep, err := t.TTL(key, w, cmp.Or(c.Asked, w.TTL))
	switch {
	case err != nil:
		return c, err
	case keep || ttl == 0 || !c.Expires.IsZero():
		return c, nil
	}
	c.Expires = now.Add(ttl)
	return c, nil
}

// Stamps implements Stamper.
func (t items[I, T]) Stamps() bool { return t.Stamped() }

// Ping implements Target.
func (t items[I, T]) Ping(ctx context.Context) error {
	_, err := kernel.NewOp(kernel.Spec[string]{
		Action: kernel.Action{Client: t.Client(), Name: "ping", Entry: t.Entry()},
		Build:  func(b kernel.Builder) kernel.Command { return b.Ping().Build() },
		Decode: func(r kernel.Reply) (string, error) { return r.ToString() },
	}).Do(ctx)
	return err
}

// Encode implements Target.
func (t items[I, T]) Encode(key string, item entity.Item[I, T]) (Fields, error) {
	return t.Of(key, item)
}

// Decode implements Target.
func (t items[I, T]) Decode(key string, f Fields) (entity.Item[I, T], error) {
	return t.Item(key, f)
}

// Same implements Target.
func (t items[I, T]) Same(_ string, stored, wanted Fields) bool { return t.Texts.Same(stored, wanted) }
