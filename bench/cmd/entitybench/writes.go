package main

import (
	"context"
	"sync"

	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/entity"
)

// writes races creations, updates that move an item to other indexes, and
// deletions. The project has a goal for creations alone; the others' ratios are
// in their tables.
func (f *field) writes(ctx context.Context, out *report.Report) error {
	return f.show(ctx, out,
		f.racing("Create", 1, 0.8,
			contestant{Name: "keywright", Do: f.creates(false)},
			contestant{Name: "naive MULTI, rueidis", Do: f.naive(false)},
			contestant{Name: "pipeline, go-redis",
				Do: func(ctx context.Context, g, n int) error { t := itemOf(g, n, 0); return f.piped.create(ctx, &t) }}),
		f.racing("Create, with an event", 1, 0,
			contestant{Name: "keywright", Do: f.creates(true)},
			contestant{Name: "naive MULTI, rueidis", Do: f.naive(true)},
			contestant{Name: "keywright without it", Do: f.creates(false)}),
		f.racing("Update of an indexed field", 2, 0,
			contestant{Name: "keywright, Save of what it has", Do: f.saves()},
			contestant{Name: "keywright, Update", Do: f.update},
			contestant{Name: "naive MULTI, rueidis", Do: f.naiveUpdates(false)},
			contestant{Name: "naive, read first", Do: f.naiveUpdates(true)}),
		f.racing("Create and delete", 2, 0,
			contestant{Name: "keywright, DeleteItem of what it has", Do: func(ctx context.Context, g, n int) error {
				t := itemOf(g, n, 0)
				made, err := f.ours.Create(ctx, t.ID, t)
				if err != nil {
					return err
				}
				return turns.Err(f.ours.DeleteItem(ctx, made))
			}},
			contestant{Name: "keywright, Delete", Do: func(ctx context.Context, g, n int) error {
				if err := f.creates(false)(ctx, g, n); err != nil {
					return err
				}
				return turns.Err(f.ours.Delete(ctx, itemOf(g, n, 0).ID))
			}},
			contestant{Name: "naive MULTI, rueidis", Do: func(ctx context.Context, g, n int) error {
				t := itemOf(g, n, 0)
				if err := f.bare.create(ctx, &t, ttl); err != nil {
					return err
				}
				return f.bare.remove(ctx, &t)
			}}))
}

func (f *field) creates(announced bool) operation {
	return func(ctx context.Context, g, n int) error {
		t, s := itemOf(g, n, 0), f.ours // every turn has stores of its own
		if announced {
			s = f.announced
		}
		return turns.Err(s.Create(ctx, t.ID, t))
	}
}

func (f *field) naive(announced bool) operation {
	return func(ctx context.Context, g, n int) error {
		t := itemOf(g, n, 0)
		if !announced {
			return f.bare.create(ctx, &t, ttl)
		}
		return f.bare.create(ctx, &t, ttl, f.bare.announce(&t))
	}
}

// Each goroutine updates one item of its own, again and again. The server is
// empty when a turn begins: the first makes the item.

func (f *field) saves() operation {
	var had sync.Map
	return func(ctx context.Context, g, n int) (err error) {
		t := itemOf(g, 0, n)
		if n == 0 {
			made, err := f.ours.Create(ctx, t.ID, t)
			had.Store(g, &made)
			return err
		}
		kept, _ := had.Load(g)
		it := kept.(*entity.Item[string, item])
		it.Value.Kind, it.Value.Priority = t.Kind, t.Priority
		*it, err = f.ours.Save(ctx, *it)
		return err
	}
}

func (f *field) update(ctx context.Context, g, n int) error {
	t := itemOf(g, 0, n)
	if n == 0 {
		return turns.Err(f.ours.Create(ctx, t.ID, t))
	}
	return turns.Err(f.ours.Update(ctx, t.ID, setKind.Set(t.Kind), setPriority.Set(t.Priority)))
}

func (f *field) naiveUpdates(look bool) operation {
	return func(ctx context.Context, g, n int) (err error) {
		t := itemOf(g, 0, n)
		if n == 0 {
			return f.bare.create(ctx, &t, ttl)
		}
		old := itemOf(g, 0, n-1)
		if look {
			if old, err = f.bare.get(ctx, t.ID); err != nil {
				return err
			}
		}
		return f.bare.update(ctx, &old, &t)
	}
}
