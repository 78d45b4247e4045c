package main

import (
	"context"
	"sync"

	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/entity"
)

// writes races creations, updates that move an item to other indexes, and
// deletions. The project has a goal for creations alone; the others' ratios are
// in their tables.
func (f *field) writes(ctx context.Context) (tables []report.Table, goals []report.Goal, err error) {
	for _, r := range []race{
		{name: "Create", by: 1, measured: []int{0}, bound: 0.8, empty: true, all: []contestant{
			{"keywright", func(ctx context.Context, g, n int) error { return f.create(ctx, f.ours, g, n) }},
			{"naive MULTI, rueidis",
				func(ctx context.Context, g, n int) error { t := itemOf(g, n, 0); return f.bare.create(ctx, &t, ttl) }},
			{"pipeline, go-redis",
				func(ctx context.Context, g, n int) error { t := itemOf(g, n, 0); return f.piped.create(ctx, &t) }},
		}},
		{name: "Create, with an event", by: 1, empty: true, all: []contestant{
			{"keywright", func(ctx context.Context, g, n int) error { return f.create(ctx, f.announced, g, n) }},
			{"naive MULTI, rueidis", func(ctx context.Context, g, n int) error {
				t := itemOf(g, n, 0)
				return f.bare.create(ctx, &t, ttl, f.bare.announce(&t))
			}},
			{"keywright without it", func(ctx context.Context, g, n int) error { return f.create(ctx, f.ours, g, n) }},
		}},
		{name: "Update of an indexed field", by: 2, empty: true, all: []contestant{
			{"keywright, Save of what it has", f.saves()},
			{"keywright, Update", f.updates()},
			{"naive MULTI, rueidis", f.naiveUpdates(false)},
			{"naive, read first", f.naiveUpdates(true)},
		}},
		{name: "Create and delete", by: 2, empty: true, all: []contestant{
			{"keywright, DeleteItem of what it has", func(ctx context.Context, g, n int) error {
				t := itemOf(g, n, 0)
				made, err := f.ours.Create(ctx, t.ID, t)
				if err != nil {
					return err
				}
				return second(f.ours.DeleteItem(ctx, made))
			}},
			{"keywright, Delete", func(ctx context.Context, g, n int) error {
				t := itemOf(g, n, 0)
				if err := f.create(ctx, f.ours, g, n); err != nil {
					return err
				}
				return second(f.ours.Delete(ctx, t.ID))
			}},
			{"naive MULTI, rueidis", func(ctx context.Context, g, n int) error {
				t := itemOf(g, n, 0)
				if err := f.bare.create(ctx, &t, ttl); err != nil {
					return err
				}
				return f.bare.remove(ctx, &t)
			}},
		}},
	} {
		if f.o.race != "" && f.o.race != r.name {
			continue
		}
		some, more, err := f.run(ctx, r)
		if err != nil {
			return tables, goals, err
		}
		tables, goals = append(tables, some...), append(goals, more...)
	}
	return tables, goals, nil
}

func (f *field) create(ctx context.Context, s *entity.Store[string, item], g, n int) error {
	t := itemOf(g, n, 0)
	return second(s.Create(ctx, t.ID, t))
}

// Each goroutine updates one item of its own, again and again. The server is
// empty when a turn begins: the first makes the item.

func (f *field) saves() func(ctx context.Context, g, n int) error {
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

func (f *field) updates() func(ctx context.Context, g, n int) error {
	return func(ctx context.Context, g, n int) error {
		t := itemOf(g, 0, n)
		if n == 0 {
			return second(f.ours.Create(ctx, t.ID, t))
		}
		return second(f.ours.Update(ctx, t.ID, setKind.Set(t.Kind), setPriority.Set(t.Priority)))
	}
}

func (f *field) naiveUpdates(look bool) func(ctx context.Context, g, n int) error {
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
