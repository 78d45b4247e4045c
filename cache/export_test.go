package cache

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lease"
)

// Renew is a refresh in the foreground by who has seen so much of the TTL.
func (i Item[V]) Renew(ctx context.Context, load Loader[V], seen int64) bool {
	return i.renew(ctx, load, seen)
}

// Mutate replaces a piece of a script in caches that are made until restore is
// called; ok is false if it is not there exactly once.
func Mutate(file, old, new string) (restore func(), ok bool) {
	if file == "lease" {
		return lease.Mutate(old, new)
	}
	mutant, n := parts.Mutant(strings.TrimSuffix(file, ".lua"), old, new)
	if n != 1 {
		return nil, false
	}
	was, bump := standard, bumpScript
	standard, bumpScript = newScripts(mutant), keywright.NewScript("mutant", mutant.Script("bump"))
	return func() { standard, bumpScript = was, bump }, true
}

// CurrentOfNone is Current by who has seen no key.
func (v Version) CurrentOfNone(ctx context.Context) (int64, error) {
	return v.bump("version", "now").Do(ctx)
}

// LateGetOrLoad is GetOrLoad by who comes while a load is under way; asked is closed
// when it waits for that, or has what another has loaded.
func (i Item[V]) LateGetOrLoad(ctx context.Context, asked chan<- struct{}, load Loader[V]) (V, error) {
	looks := func() (f *localLoad[V], waiting int) {
		i.c.mu.Lock()
		defer i.c.mu.Unlock()
		if f = i.c.flights[i.main]; f != nil {
			waiting = f.waiting
		}
		return f, waiting
	}
	first, before := looks()
	var done atomic.Bool
	go func() {
		for {
			if f, waiting := looks(); done.Load() || f != first || waiting > before {
				close(asked)
				return
			}
			runtime.Gosched()
		}
	}()
	defer done.Store(true)
	return i.GetOrLoad(ctx, load)
}
