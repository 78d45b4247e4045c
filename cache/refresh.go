package cache

import (
	"context"
	"errors"
	"time"

	"github.com/keywright/keywright"
)

// rest says how long a key is left alone when its refresh came to nothing: a caller
// else does it, or the loader failed.
const rest = time.Second

// refresh loads again in the background what a caller has just got, if no other one
// does. seen is the TTL that was left: a value with more is newer.
func (i Item[V]) refresh(ctx context.Context, load Loader[V], seen int64) {
	c := i.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, on := c.refreshes[i.main]; on {
		return
	}
	c.refreshes[i.main] = struct{}{}
	ctx = context.WithoutCancel(ctx)
	go func() {
		if i.renew(ctx, load, seen) {
			c.rested(i.main)
			return
		}
		time.AfterFunc(rest, func() { c.rested(i.main) })
	}()
}

func (c *Cache[V]) rested(main string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.refreshes, main)
}

// renew reports whether the value is new now. A failed load keeps its lease for a
// moment, so that the other processes rest too.
func (i Item[V]) renew(ctx context.Context, load Loader[V], seen int64) bool {
	limited, cancel := i.c.finishing(ctx)
	defer cancel()
	token := newToken()
	got, err := i.ask(limited, token, claiming{mode: "stale", seen: seen})
	if err != nil {
		if !errors.Is(err, ErrOpen) {
			i.release(ctx, token, 0)
		}
		return false
	}
	if got.state != mine {
		return got.state == hit
	}
	stop := i.c.renewing(ctx, token, i)
	defer stop()
	v, spent, err := i.run(ctx, load)
	stop()
	found := err == nil
	if !found && !errors.Is(err, keywright.ErrNotFound) {
		i.release(ctx, token, min(rest, i.c.o.Lease))
		return false
	}
	i.c.spent.add(spent)
	return i.storeLoaded(ctx, token, v, found, spent)
}

func (i Item[V]) storeLoaded(ctx context.Context, token string, v V, found bool, spent time.Duration) bool {
	limited, cancel := i.c.finishing(ctx)
	defer cancel()
	if i.announce(limited) != nil {
		return false
	}
	stored, err := i.loaded(token, v, found, spent).Do(limited)
	if err != nil {
		i.release(ctx, token, 0)
	}
	return err == nil && stored
}
