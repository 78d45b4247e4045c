package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/keywright/keywright"
)

// Tier represents a store of decoded values in this process, such as one of otter: bounded
// by itself, safe for concurrent use, and quick, for Delete and Clear are called
// by the goroutine that reads a connection. It may drop what it likes. The
// declared deadlines are kept by the cache.
type Tier[V any] interface {
	Get(key string) (Kept[V], bool)
	Set(key string, v Kept[V])
	Delete(key string)
	Clear()
}

// Kept represents a value in a Tier, with what the cache needs to know of it.
type Kept[V any] struct {
	Value V
	stale int64 // of the clock: from here on it is to be loaded again, or
	late  *late // nil: not given any more
}

// late describes what a value needs that is served stale.
type late struct {
	until int64 // not given any more
	ends  int64 // its TTL ends
}

// tier represents a Tier that holds nothing the server has taken back: a value that was
// on its way when its key was invalidated is not put in.
type tier[V any] struct {
	Tier[V]
	look    func(key string) (Kept[V], bool) // Tier.Get, found once
	clock   *clock
	mu      sync.Mutex
	fetches map[string]*fetch
}

// fetch is values of one key on their way.
type fetch struct {
	n    int
	void bool
}

// Use puts a tier in front: what was read stays there for at most Options.Local,
// which must be set, and goes when the server says that it has changed. It needs
// client-side caching and a client made by Open. A hit is no round trip and gives
// the same value to all: do not change what it points to. Call it once, before
// the cache is used.
func (c *Cache[V]) Use(t Tier[V]) *Cache[V] {
	mine := &tier[V]{Tier: t, look: t.Get, clock: newClock(min(max(c.o.Local/64, time.Millisecond), 50*time.Millisecond)),
		fetches: map[string]*fetch{}}
	_, ok := c.client.OnInvalidations(mine.invalidated)
	switch {
	case c.err != nil:
	case !ok:
		c.err = &keywright.Error{Class: keywright.Invalid, Entry: c.entry.Name,
			Err:  errors.New("a tier needs client-side caching to be notified of changes"),
			Hint: "open the client with keywright.Open and without NoCache"}
	case c.o.Local == 0:
		c.err = &keywright.Error{Class: keywright.Invalid, Entry: c.entry.Name,
			Err: errors.New("a tier needs Options.Local, the longest time it may keep a value")}
	}
	c.tier, c.way = mine, thorough
	return c
}

func (t *tier[V]) invalidated(keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if keys == nil {
		for _, f := range t.fetches {
			f.void = true
		}
		t.Clear()
	}
	for _, key := range keys {
		t.void(key)
	}
}

func (t *tier[V]) drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.void(key)
}

func (t *tier[V]) void(key string) {
	if f := t.fetches[key]; f != nil {
		f.void = true
		delete(t.fetches, key) // those who come now begin a new one
	}
	t.Delete(key)
}

func (t *tier[V]) begin(key string) *fetch {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.fetches[key]
	if f == nil || f.void {
		f = &fetch{}
		t.fetches[key] = f
	}
	f.n++
	return f
}

func (t *tier[V]) end(key string, f *fetch, keep bool, v Kept[V]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.n--; f.n == 0 && t.fetches[key] == f {
		delete(t.fetches, key)
	}
	if keep && !f.void {
		t.Set(key, v)
	}
}

// get returns a hit that needs nothing else.
func (t *tier[V]) get(key string) (v V, ok bool) {
	kept, ok := t.look(key)
	return kept.Value, ok && t.clock.read() < kept.stale
}

// getStale returns any hit.
func (t *tier[V]) getStale(key string) (r reading[V], ok bool) {
	kept, ok := t.Tier.Get(key)
	now := t.clock.exact()
	if !ok || kept.late == nil || now >= kept.late.until {
		return reading[V]{value: kept.Value}, ok && now < kept.stale
	}
	return reading[V]{value: kept.Value, left: (kept.late.ends - now) / int64(time.Millisecond),
		due: now >= kept.stale}, true
}

// throughTier returns a tracked read that ends in the tier, unless the key was
// invalidated while it was on its way.
func (i Item[V]) throughTier(ctx context.Context) reading[V] {
	c := i.c
	f := c.tier.begin(i.main)
	var kept Kept[V]
	keep := false
	defer func() { c.tier.end(i.main, f, keep, kept) }()
	r, until := i.tracked(ctx, c.o.Local)
	if r.err != nil {
		return r
	}
	now := c.tier.clock.exact()
	last := now + int64(min(time.Until(until), c.o.Local)-c.tier.clock.step)
	kept = Kept[V]{Value: r.value, stale: last}
	if c.timed && r.left >= 0 {
		kept.stale, kept.late = min(last, c.staleAt(now, r.left)),
			&late{until: last, ends: now + r.left*int64(time.Millisecond)}
	}
	keep = true
	return r
}

// staleAt returns when a value that has so many ms left is to be loaded again.
func (c *Cache[V]) staleAt(now, left int64) int64 {
	ahead := float64(0)
	if c.o.Early > 0 {
		ahead = c.refreshLead()
	}
	if c.o.Fresh > 0 {
		ahead = max(ahead, float64(c.stale))
	}
	return now + int64((float64(left)-ahead)*float64(time.Millisecond))
}
