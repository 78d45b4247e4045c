package entity

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/paging"
)

// Going holds the items that may go when memory is short, in the order of an index
// with a zset per value: a target of package pressure. Ids are as they are in
// the index. All of it works on a server that is at its maxmemory.
type Going[I, T any] struct {
	store *Store[I, T]
	index string
}

// Going returns the items by an index that has a zset per value.
func (s *Store[I, T]) Going(index string) *Going[I, T] { return &Going[I, T]{s, index} }

// Key returns the key of an item.
func (g *Going[I, T]) Key(id string) string { return g.store.core.Key(id) }

// Page gives a page of ids, the lowest score first. 1 round trip; O(log n + page).
func (g *Going[I, T]) Page(ctx context.Context, value, after string, n int) (ids []string, next string, err error) {
	q := paging.Query{Of: g.store.By(g.index, value).IndexKey, Limit: min(n, paging.LargestLimit), After: after}
	l, err := g.store.lister.List(ctx, q, nil)
	for _, row := range l.Rows {
		ids = append(ids, row.ID)
	}
	return ids, l.Next, err
}

// while returns the condition that an item has a value still: the step that changes it
// looks at that.
func (g *Going[I, T]) while(value, otherwise string) string {
	if ix, err := g.store.core.Index(g.index); err == nil && ix.Field != "" {
		return "@" + ix.Field + "=" + value
	}
	return otherwise
}

// Shorten is Store.Shorten of several items that have the value still; it gives
// how many were changed. A round trip per 64 of them, in a cluster one each, many
// at a time.
func (g *Going[I, T]) Shorten(ctx context.Context, value string, ids []string, to time.Duration) (int, error) {
	mode := g.while(value, itemkeys.TouchLess)
	return g.each(ids, func(id I) (bool, error) {
		_, changed, err := g.store.touch(ctx, "shorten", id, nil, mode, nil, to)
		if err == keywright.ErrNotFound {
			return false, nil
		}
		return changed, err
	})
}

// Release is Store.Delete of several items that have the value still: one that
// was given another meanwhile stays. It gives how many it deleted. Two round trips
// per 64 of them, in a cluster two each, many at a time.
func (g *Going[I, T]) Release(ctx context.Context, value string, ids []string) (int, error) {
	condition := g.while(value, itemkeys.Present)
	return g.each(ids, func(id I) (bool, error) { return g.store.remove(ctx, id, condition, "") })
}

// together says how many items are changed at a time: as many as one call of a
// shared script takes.
const together = 64

// each calls do for every item, many at a time, and counts those it says true
// for. After an error no other one is begun.
func (g *Going[I, T]) each(ids []string, do func(I) (bool, error)) (n int, failed error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	room := make(chan struct{}, together)
	stop := func() bool { mu.Lock(); defer mu.Unlock(); return failed != nil }
	for _, text := range ids {
		if room <- struct{}{}; stop() {
			break
		}
		running.Go(func() {
			defer func() { <-room }()
			did, err := g.one(text, do)
			mu.Lock()
			defer mu.Unlock()
			if did {
				n++
			}
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	running.Wait()
	return n, failed
}

func (g *Going[I, T]) one(text string, do func(I) (bool, error)) (bool, error) {
	id, ok := g.store.parsed(g.store.core.Key(text))
	if !ok {
		return false, g.store.broken(g.store.core.Key(text), "", fmt.Errorf("a member of the index %s is no id of an item",
			g.index))
	}
	return do(id)
}
