package cache

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// Get reads the value: ErrNotFound if it is not there. One round trip, or none on
// a hit in this process (Options.Local, Use).
func (i Item[V]) Get(ctx context.Context) (V, error) {
	if t := i.c.tier; t != nil && i.err() == nil {
		if v, ok := t.get(i.main); ok {
			i.c.got(ctx, nil)
			return v, nil
		}
	}
	switch i.c.way {
	case direct:
		v, err := i.plain(ctx)
		i.c.got(ctx, err)
		return v, err
	case local:
		v, err := i.cached(ctx)
		i.c.got(ctx, err)
		return v, err
	}
	r := i.read(ctx)
	i.c.read(ctx, r)
	return r.value, r.err
}

// GetOrLoad reads the value, and loads and stores it if it is not there: one load
// over all processes, whichever asks. A loader's ErrNotFound is remembered for
// Options.Absent. One round trip on a hit, two for what is known to be absent,
// three and the load otherwise. ctx bounds how long this caller waits, and does
// not stop a load; the error is then of class Retryable.
func (i Item[V]) GetOrLoad(ctx context.Context, load Loader[V]) (V, error) {
	if t := i.c.tier; t != nil && i.err() == nil {
		if v, ok := t.get(i.main); ok {
			i.c.got(ctx, nil)
			return v, nil
		}
	}
	switch i.c.way {
	case direct:
		if v, err := i.plain(ctx); err != keywright.ErrNotFound {
			i.c.got(ctx, err)
			return v, err
		}
		return i.fly(ctx, load, onMiss)
	case local:
		if v, err := i.cached(ctx); err != keywright.ErrNotFound {
			i.c.got(ctx, err)
			return v, err
		}
		return i.fly(ctx, load, onMiss)
	}
	return i.getOrLoad(ctx, load)
}

func (i Item[V]) getOrLoad(ctx context.Context, load Loader[V]) (V, error) {
	r := i.read(ctx)
	switch {
	case r.err == nil:
		i.c.read(ctx, r)
		if r.due {
			i.refresh(ctx, load, r.left)
		}
		return r.value, nil
	case r.err == keywright.ErrNotFound, i.c.o.Down != Fail && ctx.Err() == nil && failing(r.err):
		v, err := i.fly(ctx, load, onMiss)
		if err == nil && i.c.copies != nil {
			i.c.copies.put(i.main, v, time.Now())
		}
		return v, err
	}
	return r.value, r.err
}

// Refresh loads and stores again, whatever is there; a load of it that is under
// way anywhere is void and waits for this one. Two round trips and the load.
func (i Item[V]) Refresh(ctx context.Context, load Loader[V]) (V, error) {
	return i.fly(ctx, load, byForce)
}

// Set stores the value with its TTL, and makes a load of it that is under way
// void, in one step. Not sent again when its reply was lost.
func (i Item[V]) Set(ctx context.Context, v V, options ...keywright.WriteOption) error {
	if err := i.announce(ctx); err != nil {
		return err
	}
	_, err := i.LaterSet(v, options...).Do(ctx)
	return err
}

// LaterSet queues Set. Tags that lie in other cluster slots are not updated.
func (i Item[V]) LaterSet(v V, options ...keywright.WriteOption) keywright.Op[bool] {
	if len(options) == 0 {
		options = i.c.write
	}
	return i.fill(i.encoded(storing{effect: keywright.Writes, name: "set"}, v, options))
}

// Invalidate deletes the value, and makes a load of it that is under way void: what
// it loaded is not stored. It says whether there was anything. A key of another type is refused. One round trip,
// sent again after a lost reply.
func (i Item[V]) Invalidate(ctx context.Context) (bool, error) { return i.LaterInvalidate().Do(ctx) }

// LaterInvalidate queues Invalidate.
func (i Item[V]) LaterInvalidate() keywright.Op[bool] {
	return invalidation(i.action("invalidate", keywright.Idempotent), i.c.fillKey(i.main), i.forgetting(yes))
}

// forgetting returns decode, and then this process forgets what it knew of the key.
func (i Item[V]) forgetting(decode func(kernel.Reply) (bool, error)) func(kernel.Reply) (bool, error) {
	return func(r kernel.Reply) (bool, error) {
		i.c.forget(i.main)
		return decode(r)
	}
}

func (c *Cache[V]) forget(main string) {
	c.mu.Lock()
	delete(c.flights, main)
	c.mu.Unlock()
	if c.tier != nil {
		c.tier.drop(main)
	}
	if c.copies != nil {
		c.copies.drop(main)
	}
}

// reading describes what a read found, and whether it is time to load it again.
type reading[V any] struct {
	value V
	left  int64 // ms of its TTL, -1 unknown
	due   bool
	old   error // why this is a copy from before
	err   error
}

func get(key string) func(kernel.Builder) kernel.Command {
	return func(b kernel.Builder) kernel.Command { return b.Get().Key(key).Build() }
}

func tracking(key string) func(kernel.Builder) kernel.Cacheable {
	return func(b kernel.Builder) kernel.Cacheable { return b.Get().Key(key).Cache() }
}

// plain returns a GET and nothing else.
func (i Item[V]) plain(ctx context.Context) (V, error) {
	a, raw, key := i.action("get", keywright.Reads), i.c.client.Raw(), i.main
	return kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Get().Key(key).Build())
	}, i.decode)
}

// cached returns a tracked read and nothing else. What goes well and none observes
// takes no detour.
func (i Item[V]) cached(ctx context.Context) (V, error) {
	if c := i.c; i.more == nil && !c.client.Observed() {
		raw := c.client.Raw()
		text, err := raw.DoCache(ctx, raw.B().Get().Key(i.main).Cache(), c.o.Local).ToString()
		if err == nil {
			if v, err := i.codec().Parse(text); err == nil {
				return v, nil
			}
		}
	}
	return i.trackedOnly(ctx)
}

func (i Item[V]) trackedOnly(ctx context.Context) (V, error) {
	a, raw, key, age := i.action("get cached", keywright.Reads), i.c.client.Raw(), i.main, i.c.o.Local
	return kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return kernel.DoCache(ctx, raw, tracking(key), age)
	}, i.decode)
}

// read returns a read by the way that the options ask for.
func (i Item[V]) read(ctx context.Context) reading[V] {
	c := i.c
	if c.tier != nil && i.err() == nil {
		if r, ok := c.tier.getStale(i.main); ok {
			return r
		}
	}
	if c.guard == nil {
		return i.reach(ctx)
	}
	if !c.guard.Allow() {
		return i.without(c.unavailable("get"))
	}
	short, cancel := c.patient(ctx)
	defer cancel()
	r := i.reach(short)
	c.recordResult(ctx, r.err)
	switch {
	case r.err != nil && ctx.Err() == nil && failing(r.err):
		return i.without(r.err)
	case r.err == nil && c.copies != nil:
		c.copies.put(i.main, r.value, time.Now())
	case r.err == keywright.ErrNotFound && c.copies != nil:
		c.copies.drop(i.main)
	}
	return r
}

// reach reads from the server, or from what it keeps in this process for us.
func (i Item[V]) reach(ctx context.Context) reading[V] {
	switch {
	case i.c.tier != nil:
		return i.throughTier(ctx)
	case i.c.o.Local > 0:
		r, _ := i.tracked(ctx, i.c.o.Local)
		return r
	case i.c.timed:
		return i.withTTL(ctx)
	}
	v, err := i.plain(ctx)
	return reading[V]{value: v, left: -1, err: err}
}

// withTTL is GET and PTTL in one round trip.
func (i Item[V]) withTTL(ctx context.Context) reading[V] {
	r := reading[V]{left: -1}
	a, raw, key := i.action("get", keywright.Reads), i.c.client.Raw(), i.main
	r.value, r.err = kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		both := raw.DoMulti(ctx, raw.B().Get().Key(key).Build(), raw.B().Pttl().Key(key).Build())
		if left, err := both[1].AsInt64(); err == nil {
			r.left = left
		}
		return both[0]
	}, i.decode)
	r.due = r.err == nil && i.c.due(r.left)
	return r
}

// tracked returns a read through client-side caching. Only one that reached the server
// looks at the TTL: a value may be found stale by maxAge later.
func (i Item[V]) tracked(ctx context.Context, maxAge time.Duration) (r reading[V], until time.Time) {
	r.left = -1
	fetched := false
	a, raw, key := i.action("get cached", keywright.Reads), i.c.client.Raw(), i.main
	r.value, r.err = kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		reply := kernel.DoCache(ctx, raw, tracking(key), maxAge)
		fetched = !reply.IsCacheHit()
		if i.c.tier != nil {
			until = time.UnixMilli(reply.CachePXAT())
		}
		return reply
	}, i.decode)
	if i.c.timed && r.err == nil && (fetched || i.c.tier != nil) {
		if left, err := raw.Do(ctx, raw.B().Pttl().Key(key).Build()).AsInt64(); err == nil {
			r.left, r.due = left, i.c.due(left)
		}
	}
	return r, until
}

// due reports whether a value with this rest of its TTL is to be loaded again.
func (c *Cache[V]) due(left int64) bool {
	if left <= 0 {
		return false
	}
	return c.o.Fresh > 0 && left <= c.stale || c.o.Early > 0 && float64(left) <= c.refreshLead()
}

// refreshLead returns how many ms before its end a value is loaded again: XFetch, "Optimal
// Probabilistic Cache Stampede Prevention", Vattani and others, VLDB 2015.
func (c *Cache[V]) refreshLead() float64 {
	return c.o.Early * c.spent.ms() * -math.Log(1-rand.Float64())
}

// average represents a moving average of what loading takes in this process.
type average struct {
	mu    sync.Mutex
	value float64
}

func (a *average) add(d time.Duration) {
	ms := float64(d) / float64(time.Millisecond)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value == 0 {
		a.value = ms
	}
	a.value += (ms - a.value) / 5
}

func (a *average) ms() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.value
}
