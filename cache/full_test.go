package cache_test

import (
	"context"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
)

// TestWhatIsInvalidGoesWhenMemoryIsFull: a server without room serves no copy that was
// invalidated: an item, a tag, and what is loaded although it cannot be kept.
func TestWhatIsInvalidGoesWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand, keywrighttest.Config("maxmemory-policy", "noeviction"))
		c, ctx := open(t, s.URL(), keywright.Options{}), t.Context()
		pages := cache.New(keywright.Binding{Client: c, Entry: &page}, &text, cache.Options{Down: cache.LoadThrough})
		tag := typed.NewKey(keywright.Binding{Client: c, Entry: &tags, Key: "tag:red"})
		load := func(v string) cache.Loader[string] {
			return func(context.Context) (string, error) { return v, nil }
		}
		for _, key := range []string{"page:1", "page:2", "page:3"} {
			if _, err := pages.Key(key, nil).Tagged(tag).GetOrLoad(ctx, load("old")); err != nil {
				t.Fatal(err)
			}
		}
		s.Do("CONFIG", "SET", "maxmemory", "1000000")
		if _, err := pages.Key("page:1", nil).Invalidate(ctx); err != nil {
			t.Errorf("%s: invalidate: %v", brand, err)
		}
		if v, err := pages.Key("page:1", nil).GetOrLoad(ctx, load("new")); v != "new" || err != nil {
			t.Errorf("%s: an item that was invalidated is %q, %v", brand, v, err)
		}
		for range 10 { // the breaker counts no refusal for lack of memory: the server answers
			if v, err := pages.Key("page:1", nil).Refresh(ctx, load("new")); v != "new" || err != nil {
				t.Errorf("%s: what is loaded again is %q, %v", brand, v, err)
			}
		}
		if v, err := pages.Key("page:3", nil).GetOrLoad(ctx, load("new")); v != "old" || err != nil {
			t.Errorf("%s: an item that is there is %q, %v", brand, v, err)
		}
		if n, err := pages.InvalidateTag(ctx, tag); n < 2 || err != nil {
			t.Errorf("%s: invalidate a tag: %d, %v", brand, n, err)
		}
		if v, err := pages.Key("page:2", nil).GetOrLoad(ctx, load("new")); v != "new" || err != nil {
			t.Errorf("%s: an item of a tag that was invalidated is %q, %v", brand, v, err)
		}
		if v, err := pages.Key("page:9", nil).GetOrLoad(ctx, load("new")); v != "new" || err != nil {
			t.Errorf("%s: a new item is %q, %v", brand, v, err)
		}
	}
}

// TestTrackedReadsWhenMemoryIsFull: a server without room gives what it has also to a client that tracks it. Redis 7.0
// refuses every command of a transaction then.
func TestTrackedReadsWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	for _, brand := range keywrighttest.Brands() {
		s := keywrighttest.Start(t, brand, keywrighttest.Config("maxmemory-policy", "noeviction"))
		c, ctx := open(t, s.URL(), keywright.Options{}), t.Context()
		s.Do("MSET", "page:1", "x", "version:1", "7")
		s.Do("CONFIG", "SET", "maxmemory", "1")
		b := keywright.Binding{Client: c, Entry: &page}
		for name, o := range map[string]cache.Options{"local": {Local: time.Minute},
			"early": {Local: time.Minute, Early: 1}, "load through": {Local: time.Minute, Down: cache.LoadThrough}} {
			i := cache.New(b, &text, o).Key("page:1", nil)
			for range 2 {
				if v, err := i.Get(ctx); v != "x" || err != nil {
					t.Errorf("%s, %s: Get: %q, %v", brand, name, v, err)
				}
				if v, err := i.GetOrLoad(ctx, never); v != "x" || err != nil {
					t.Errorf("%s, %s: GetOrLoad: %q, %v", brand, name, v, err)
				}
			}
		}
		tiered := cache.New(b, &text, cache.Options{Local: time.Hour}).Use(newMapTier()).Key("page:1", nil)
		for _, want := range []string{"x", "y"} { // what was not tracked is not kept
			s.Do("CONFIG", "SET", "maxmemory", "0")
			s.Do("SET", "page:1", want)
			s.Do("CONFIG", "SET", "maxmemory", "1")
			eventually(t, "the value as it is", func() bool { v, err := tiered.Get(ctx); return v == want && err == nil })
		}
		if v, err := typed.NewString(b.To("page:1", nil), &text).Cached(time.Hour).Do(ctx); v != "y" || err != nil {
			t.Errorf("%s: a typed value: %q, %v", brand, v, err)
		}
		n, err := cache.NewVersion(c, typed.NewKey(keywright.Binding{Client: c, Entry: &tags, Key: "version:1"})).Current(ctx)
		if n != 7 || err != nil {
			t.Errorf("%s: a version: %d, %v", brand, n, err)
		}
	}
}
