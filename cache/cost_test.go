package cache_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/keywrighttest"
)

// TestByCost: what is dear to load lives longer, alone and among many, when it is loaded the
// first time and again, and never outside of what is declared.
func TestByCost(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w world) {
		ctx := w.Context()
		for name, c := range map[string]struct{ chosen, ttl time.Duration }{
			"within": {20 * time.Minute, 20 * time.Minute}, "above": {48 * time.Hour, time.Hour},
			"below": {0, 100 * time.Millisecond},
		} {
			var told time.Duration
			o := cache.Options{ByCost: func(spent time.Duration) time.Duration { told = spent; return c.chosen }}
			i := w.cache(o).Key("page:"+name, nil)
			left := func(when string) {
				w.Helper()
				ms := time.Duration(w.do(i.Name(), "PTTL", i.Name()).(int64)) * time.Millisecond
				if ms > c.ttl || ms < c.ttl-time.Minute || told <= 0 {
					w.Errorf("%s, %s: %v after a load of %v, not %v", name, when, ms, told, c.ttl)
				}
			}
			load := func(context.Context) (string, error) { return name, nil }
			_, err := i.GetOrLoad(ctx, load)
			w.ok(err)
			left("loaded")
			_, err = i.Refresh(ctx, load)
			w.ok(err)
			left("refreshed")
		}
	})
}

// TestByCostOfMany: the time of the loader of many is shared by what it loaded.
func TestByCostOfMany(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		var each time.Duration
		began := time.Now()
		c := w.cache(cache.Options{ByCost: func(spent time.Duration) time.Duration {
			each = max(each, spent)
			return 30 * time.Minute
		}})
		items := []cache.Item[string]{c.Key("page:1", nil), c.Key("page:2", nil)}
		for _, r := range c.GetOrLoadMany(w.Context(), items, func(_ context.Context, missing []int) (map[int]string, error) {
			found := map[int]string{}
			for from := time.Now(); time.Since(from) < 20*time.Millisecond; { // a loader that takes a while
				for _, n := range missing {
					found[n] = "x"
				}
			}
			return found, nil
		}) {
			w.ok(r.Err)
		}
		if all := time.Since(began); each <= 0 || each > all/2 {
			w.Errorf("one of two cost %v of %v", each, all)
		}
		for _, i := range items {
			if ms := w.do(i.Name(), "PTTL", i.Name()).(int64); ms < (29 * time.Minute).Milliseconds() {
				w.Errorf("%s lives for %d ms", i.Name(), ms)
			}
		}
	})
}

// TestByCostOfNothing: a chosen TTL of less than nothing is the least there is.
func TestByCostOfNothing(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	brief := page
	brief.TTL.Min = 0
	for _, chosen := range []time.Duration{0, -time.Hour} {
		c := cache.New(keywright.Binding{Client: w.c, Entry: &brief}, &text,
			cache.Options{ByCost: func(time.Duration) time.Duration { return chosen }})
		v, err := c.Key("page:1", nil).GetOrLoad(t.Context(), func(context.Context) (string, error) { return "x", nil })
		if v != "x" || err != nil {
			t.Errorf("%v: %q, %v", chosen, v, err)
		}
	}
}

// TestByCostNotWithFresh: a value is stale after a share of a TTL that is known; and one
// that lives for ever, or slides, has no TTL to choose.
func TestByCostNotWithFresh(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	by := func(time.Duration) time.Duration { return time.Minute }
	forever := page
	forever.TTL = keywright.TTL{Policy: keywright.Forever}
	for what, c := range map[string]*cache.Cache[string]{
		"with Fresh":    w.cache(cache.Options{ByCost: by, Fresh: time.Second}),
		"without a TTL": cache.New(keywright.Binding{Client: w.c, Entry: &forever}, &text, cache.Options{ByCost: by}),
	} {
		if _, err := c.Key("page:1", nil).Get(t.Context()); err == nil || !strings.Contains(err.Error(), "ByCost needs") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
