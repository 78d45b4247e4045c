package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
)

// Loader gets a value from where it comes from. ErrNotFound says that there is
// none. Its context has the values of the first caller's and not its end: it ends
// after Options.Limit, and when the client is closed.
type Loader[V any] = func(ctx context.Context) (V, error)

// localLoad represents one load of one key in this process, with the callers that wait for it.
type localLoad[V any] struct {
	done  chan struct{}
	value V
	err   error

	waiting int  // callers; guarded by Cache.mu
	loading bool // the loader runs: it is not stopped any more
	leave   context.CancelFunc
}

// process is in every token; the number after it makes it one of its kind.
var (
	process = rand.Text()
	tokens  atomic.Uint64
)

func newToken() string { return process + ":" + strconv.FormatUint(tokens.Add(1), 36) }

// fly returns the value by the load that is under way, or a new one. A caller whose
// context ends leaves; the load goes on for the others, and for the cache.
func (i Item[V]) fly(ctx context.Context, load Loader[V], why claiming) (V, error) {
	c := i.c
	c.mu.Lock()
	f, own := c.flights[i.main], false
	if f == nil || why.mode == "force" {
		f, own = i.start(ctx, load, why), true
	}
	f.waiting++
	c.mu.Unlock()
	select {
	case <-f.done:
		if !own || !f.loading {
			c.notice(ctx, notice.CacheMiss, 0, nil)
		}
		return f.value, f.err
	case <-ctx.Done():
	case <-c.client.Life().Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	hint := "the load goes on; it is stored when it is done"
	if f.waiting--; f.waiting == 0 && !f.loading {
		c.land(i.main, f) // what comes now begins again
		f.leave()
		hint = ""
	}
	var zero V
	if err := c.over(c.client.Life()); err != nil {
		return zero, err
	}
	return zero, &keywright.Error{Class: keywright.Retryable, Op: "get or load", Entry: c.entry.Name, Err: ctx.Err(),
		Hint: hint}
}

// apart returns a context that ends with the client, and not with that of a caller.
func (c *Cache[V]) apart(ctx context.Context) (context.Context, context.CancelFunc) {
	return c.client.While(context.WithoutCancel(ctx))
}

// over returns why a load goes on no longer, nil if its context has not ended: ErrClosed if the client was closed.
func (c *Cache[V]) over(ctx context.Context) error {
	if err := c.client.Ended(ctx, "get or load", c.entry); err != nil {
		return err
	}
	return ctx.Err()
}

// start is called with Cache.mu held.
func (i Item[V]) start(ctx context.Context, load Loader[V], why claiming) *localLoad[V] {
	inner, leave := i.c.apart(ctx)
	f := &localLoad[V]{done: make(chan struct{}), leave: leave}
	i.c.flights[i.main] = f
	go func() {
		defer leave()
		defer func() {
			i.c.mu.Lock()
			i.c.land(i.main, f)
			i.c.mu.Unlock()
			close(f.done)
		}()
		f.err = errGone
		f.value, f.err = i.lead(inner, f, load, why)
	}()
	return f
}

// errGone is what callers get when a loader ends its goroutine.
var errGone = errors.New("the loader ended its goroutine")

// land forgets a flight, unless another has begun; Cache.mu is held.
func (c *Cache[V]) land(main string, f *localLoad[V]) {
	if c.flights[main] == f {
		delete(c.flights, main)
	}
}

// refusals says how often a load begins again because what it loaded was
// invalidated meanwhile. Then it is given to its callers and not stored.
const refusals = 3

// lead claims until there is a value, or the lease is held and the value loaded.
// ctx ends when none waits any more; that does not end the loader.
func (i Item[V]) lead(ctx context.Context, f *localLoad[V], load Loader[V], why claiming) (v V, err error) {
	forced := why.mode == "force"
	for waits, refused := 0, 0; ; {
		token := newToken()
		got, err := i.ask(ctx, token, why)
		switch {
		case err != nil:
			return i.unclaimed(ctx, f, token, load, err)
		case got.state == hit:
			return got.value, nil
		case got.state == absent:
			return v, keywright.ErrNotFound
		case got.state == busy:
			if err := i.await(ctx, waits, got.left); err != nil {
				return v, err
			}
			waits++
			continue
		}
		if ctx.Err() != nil {
			i.release(ctx, token, 0)
			return v, i.c.over(ctx)
		}
		if why = onMiss; forced {
			why = again
		}
		i.c.begins(f)
		var stored bool
		v, stored, err = i.loadAndFill(ctx, token, load)
		if stored || err != nil && err != keywright.ErrNotFound {
			return v, err
		}
		if refused == refusals {
			return v, err
		}
		refused++ // what comes from now on begins a load of its own: see forgetting
	}
}

// begins says that a flight is not to be stopped any more.
func (c *Cache[V]) begins(f *localLoad[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.loading = true
}

// ask returns a claim, and before it the tags of the item.
func (i Item[V]) ask(ctx context.Context, token string, why claiming) (out claimed[V], err error) {
	if i.c.guard != nil && !i.c.guard.Allow() {
		return out, i.c.unavailable("claim")
	}
	// Who leaves does not end a claim: it might be carried out after the release of
	// its lease, which may go over another connection.
	short, cancel := i.c.patient(context.WithoutCancel(ctx))
	defer cancel()
	if err = i.announce(short); err == nil {
		out, err = i.claim(token, why).Do(short)
	}
	i.c.recordResult(ctx, err)
	return out, err
}

// unclaimed handles a failed claim. It gives up the lease, since the claim may have been granted although the reply
// was lost. If the server is down, the load is done without a lease.
func (i Item[V]) unclaimed(ctx context.Context, f *localLoad[V], token string, load Loader[V], err error) (V, error) {
	var zero V
	if !failing(err) {
		return zero, err
	}
	if !errors.Is(err, ErrOpen) {
		go i.release(ctx, token, 0) // none waits for a server that may be down
	}
	if i.c.o.Down == Fail || ctx.Err() != nil {
		return zero, err
	}
	i.c.begins(f)
	v, _, err := i.run(ctx, load)
	return v, err
}

// loadAndFill runs the loader under the lease, and stores what it gives.
func (i Item[V]) loadAndFill(ctx context.Context, token string, load Loader[V]) (v V, stored bool, err error) {
	stop := i.c.renewing(ctx, token, i)
	defer stop() // also when the loader ends its goroutine
	v, spent, err := i.run(ctx, load)
	stop()
	found := err == nil
	if !found && !errors.Is(err, keywright.ErrNotFound) {
		i.release(ctx, token, 0)
		return v, false, err
	}
	i.c.spent.add(spent)
	limited, cancel := i.c.finishing(ctx)
	defer cancel()
	if err := i.announce(limited); err != nil {
		return v, true, i.unstored(err, found)
	}
	stored, err = i.loaded(token, v, found, spent).Do(limited)
	if err != nil {
		go i.release(ctx, token, 0)
		return v, true, i.unstored(err, found)
	}
	if !found {
		err = keywright.ErrNotFound
	}
	return v, stored, err
}

// unstored returns what callers get when a value was loaded and could not be stored:
// the value, unless it is the value that is wrong.
func (i Item[V]) unstored(err error, found bool) error {
	if class, _ := keywright.ClassOf(err); class == keywright.Invalid || class == keywright.Refused {
		return err
	}
	if !found {
		return keywright.ErrNotFound
	}
	return nil
}

// run calls the loader with a context of its own.
func (i Item[V]) run(ctx context.Context, load Loader[V]) (v V, spent time.Duration, err error) {
	ctx, free := i.c.apart(ctx)
	defer free()
	ctx, cancel := context.WithTimeout(ctx, i.c.o.Limit)
	defer cancel()
	began := time.Now()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the loader of %s panicked: %v", i.c.entry.Name, r)
		}
		spent = time.Since(began)
		i.c.ran(ctx, spent, err)
	}()
	v, err = load(ctx)
	return v, 0, i.c.stopped(ctx, err)
}

// stopped returns the error of a loader, or that the client was closed where the loader says that its context ended.
func (c *Cache[V]) stopped(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, ctx.Err()) {
		return cmp.Or(c.client.Ended(ctx, "get or load", c.entry), err)
	}
	return err
}

// finishing returns the context of what must be done although none waits: limited,
// and not ended by a caller.
func (c *Cache[V]) finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), min(max(c.o.Lease, time.Second), 10*time.Second))
}

// patient returns the context of a claim.
func (c *Cache[V]) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.o.Patience > 0 {
		return context.WithTimeout(ctx, c.o.Patience)
	}
	return ctx, func() {}
}

// release gives up a lease, or lets it last for rest. What fails here is healed by
// the end of the lease.
func (i Item[V]) release(ctx context.Context, token string, rest time.Duration) {
	ctx, cancel := i.c.finishing(ctx)
	defer cancel()
	_, _ = i.lease(token, rest).Do(ctx)
}

// renewing keeps leases alive while a loader runs.
func (c *Cache[V]) renewing(ctx context.Context, token string, items ...Item[V]) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(max(c.o.Lease/3, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var b keywright.Batch
			for _, i := range items {
				keywright.Queue(&b, i.lease(token, c.o.Lease))
			}
			_ = b.Run(ctx) // one that is lost has its fill refused
		}
	}()
	return func() { cancel(); <-done }
}

// await waits for another process to end its load: until the server says that
// fill has changed, or for a while that grows.
func (i Item[V]) await(ctx context.Context, n int, left time.Duration) error {
	fill := i.c.fillKey(i.main)
	wake := make(chan struct{}, 1)
	stop, tracked := i.c.client.OnInvalidation(fill, func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	defer stop()
	longest := 50 * time.Millisecond
	if tracked {
		longest = 500 * time.Millisecond
		raw := i.c.client.Raw()
		text, err := raw.DoCache(ctx, raw.B().Get().Key(fill).Cache(), time.Minute).ToString()
		if kernel.IsNil(err) || err == nil && text == string(absent) {
			return i.c.over(ctx) // it has ended already
		}
	}
	pause := min(2*time.Millisecond<<min(n, 10), longest, max(left, 0)+5*time.Millisecond)
	timer := time.NewTimer(pause/2 + mrand.N(pause/2+1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return i.c.over(ctx)
	case <-wake:
	case <-timer.C:
	}
	return nil
}
