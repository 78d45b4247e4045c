package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if reader() {
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

var (
	page = keywright.Entry{Name: "page", Pattern: "page:{id}", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Minute, Min: 100 * time.Millisecond, Max: time.Hour,
			Text: "1m in 100ms..1h"}}
	tags = keywright.Entry{Name: "tag", Pattern: "tag:{name}", Type: "zset",
		TTL: keywright.TTL{Policy: keywright.Undecided, Text: "any"}}
	text = value.Text(0)
)

// world represents a server or a cluster, and a client of it.
type world struct {
	*testing.T
	url string
	s   *keywrighttest.Server
	c   *keywright.Client
	do  func(key string, args ...string) any // a command on the server of the key
}

var (
	open       = servertest.Open
	eventually = expect.Eventually
)

// oneServer returns a world of one server.
func oneServer(t *testing.T, brand keywrighttest.Brand, o keywright.Options) world {
	s := keywrighttest.Start(t, brand)
	return world{t, s.URL(), s, open(t, s.URL(), o),
		func(_ string, args ...string) any { t.Helper(); return s.Do(args...) }}
}

// worlds runs a test on each server, alone.
func worlds(t *testing.T, run func(w world)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			run(oneServer(t, brand, keywright.Options{}))
		})
	}
}

// everywhere is worlds, and clusters of three.
func everywhere(t *testing.T, run func(w world)) {
	worlds(t, run)
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			cl := keywrighttest.StartCluster(t, brand, 3, 0)
			c := open(t, cl.URL(), keywright.Options{})
			run(world{t, cl.URL(), nil, c, func(_ string, args ...string) any {
				t.Helper()
				for _, n := range cl.Nodes {
					if reply, err := n.Try(args...); err == nil {
						return reply
					} else if !strings.Contains(err.Error(), "MOVED") {
						t.Fatal(err)
					}
				}
				return nil
			}})
		})
	}
}

func (w world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w world) cache(o cache.Options) *cache.Cache[string] {
	return cache.New(keywright.Binding{Client: w.c, Entry: &page}, &text, o)
}

// counter represents a loader that counts.
type counter struct{ n atomic.Int64 }

func (l *counter) load(v string) cache.Loader[string] {
	return func(context.Context) (string, error) { l.n.Add(1); return v, nil }
}

func never(context.Context) (string, error) { return "", errors.New("the loader was called") }

func TestGetOrLoad(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w world) {
		ctx := w.Context()
		if w.s != nil {
			w.s.WatchScripts() // none writes before it has looked at all its keys
		}
		i := w.cache(cache.Options{Absent: time.Minute}).Key("page:1", nil)
		if _, err := i.Get(ctx); err != keywright.ErrNotFound {
			t.Errorf("before: %v", err)
		}
		var l counter
		for range 3 {
			v, err := i.GetOrLoad(ctx, l.load("one"))
			w.ok(err)
			expect.Equal(t, "value", v, "one")
		}
		expect.Equal(t, "loads", l.n.Load(), 1)
		expect.Equal(t, "main is the value and nothing else", w.do("page:1", "GET", "page:1"), any("one"))
		expect.Equal(t, "fill after the load", w.do("page:1", "EXISTS", cache.FillKey("page:1")), any(int64(0)))
		if left := w.do("page:1", "PTTL", "page:1").(int64); left <= 0 || left > 60_000 {
			t.Errorf("TTL %d ms, want at most a minute", left)
		}
		was, err := i.Invalidate(ctx)
		w.ok(err)
		expect.Equal(t, "there was something", was, true)

		// nothing is an answer that is remembered, until someone writes
		missing := func(context.Context) (string, error) {
			l.n.Add(1)
			return "", fmt.Errorf("in the base: %w", keywright.ErrNotFound)
		}
		for range 3 {
			if _, err := i.GetOrLoad(ctx, missing); err != keywright.ErrNotFound {
				t.Errorf("absent: %v", err)
			}
		}
		expect.Equal(t, "loads", l.n.Load(), 2)
		w.ok(i.Set(ctx, "two", keywright.ExpiresIn(time.Minute)))
		v, err := i.GetOrLoad(ctx, never)
		w.ok(err)
		expect.Equal(t, "after Set", v, "two")
		v, err = i.Refresh(ctx, l.load("three"))
		w.ok(err)
		expect.Equal(t, "refreshed", v, "three")
		expect.Equal(t, "stored", w.do("page:1", "GET", "page:1"), any("three"))
	})
}

// TestFailedLoads leave no lease: the next caller loads at once.
func TestFailedLoads(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx := w.Context()
		i := w.cache(cache.Options{Lease: time.Hour}).Key("page:1", nil)
		broken := errors.New("the base is down")
		if _, err := i.GetOrLoad(ctx, func(context.Context) (string, error) { return "", broken }); !errors.Is(err, broken) {
			t.Errorf("%v, want the loader's error", err)
		}
		if _, err := i.GetOrLoad(ctx, func(context.Context) (string, error) { panic("at the disco") }); err == nil ||
			!strings.Contains(err.Error(), "disco") {
			t.Errorf("a panic: %v", err)
		}
		expect.Equal(t, "fill", w.do("", "EXISTS", cache.FillKey("page:1")), any(int64(0)))
		v, err := i.GetOrLoad(ctx, func(context.Context) (string, error) { return "one", nil })
		w.ok(err)
		expect.Equal(t, "value", v, "one")
	})
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	sliding, open := page, page
	sliding.TTL.Sliding, open.TTL = true, keywright.TTL{Policy: keywright.Undecided, Text: "any"}
	forever := open
	forever.TTL = keywright.TTL{Policy: keywright.Forever, Text: "none"}
	for want, c := range map[string]*cache.Cache[string]{
		"slides":          cache.New(keywright.Binding{Client: w.c, Entry: &sliding}, &text, cache.Options{}),
		"set Options.TTL": cache.New(keywright.Binding{Client: w.c, Entry: &open}, &text, cache.Options{}),
		"need a TTL":      cache.New(keywright.Binding{Client: w.c, Entry: &forever}, &text, cache.Options{Early: 1}),
		"lie between":     w.cache(cache.Options{Fresh: time.Hour}),
		"1m in 100ms..1h": w.cache(cache.Options{TTL: 2 * time.Hour}),
		"lease of 1ms":    w.cache(cache.Options{Lease: time.Millisecond}),
		"negative":        w.cache(cache.Options{Local: -1}),
		"Options.Local":   w.cache(cache.Options{}).Use(newMapTier()),
		"client-side": cache.New(keywright.Binding{Client: kernel.New(w.c.Raw(), keywright.Options{}), Entry: &page}, &text,
			cache.Options{Local: time.Second}).Use(newMapTier()),
	} {
		_, err := c.Key("page:1", nil).GetOrLoad(t.Context(), never)
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := w.cache(cache.Options{}).Key("", errors.New("no id")).Invalidate(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "no id") {
		t.Errorf("a key that could not be built: %v", err)
	}
}

func TestGetOrLoadMany(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w world) {
		ctx := w.Context()
		c := w.cache(cache.Options{Absent: time.Minute})
		items := make([]cache.Item[string], 100)
		for n := range items {
			items[n] = c.Key(fmt.Sprintf("page:%d", n), nil)
		}
		w.ok(items[7].Set(ctx, "seven"))
		calls, asked := 0, 0
		load := func(_ context.Context, missing []int) (map[int]string, error) {
			calls++
			asked += len(missing)
			out := map[int]string{}
			for _, n := range missing {
				if n != 13 {
					out[n] = fmt.Sprint(n)
				}
			}
			return out, nil
		}
		for range 2 {
			for n, r := range c.GetOrLoadMany(ctx, items, load) {
				switch {
				case n == 13:
					expect.Equal(t, "13", r.Err, keywright.ErrNotFound)
				case r.Err != nil || n != 7 && r.Value != fmt.Sprint(n) || n == 7 && r.Value != "seven":
					t.Errorf("%d: %v", n, r)
				}
			}
		}
		expect.Equal(t, "calls of the loader", calls, 1)
		expect.Equal(t, "values it was asked for", asked, 99)
		if r := c.GetMany(ctx, items[:8]); r[7].Value != "seven" || r[0].Value != "0" || r[0].Err != nil {
			t.Errorf("GetMany: %v", r)
		}
	})
}

// TestManyDoNotWaitForEachOther: two batches that want each other's keys.
func TestManyDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		one, two := w.cache(cache.Options{}),
			cache.New(keywright.Binding{Client: open(t, w.url, keywright.Options{}), Entry: &page}, &text,
				cache.Options{})
		var loads atomic.Int64
		var all sync.WaitGroup
		for n, c := range []*cache.Cache[string]{one, two, one, two} {
			all.Go(func() {
				var items []cache.Item[string]
				for k := range 20 {
					items = append(items, c.Key(fmt.Sprintf("page:%d", (k+n*5)%20), nil))
				}
				for _, r := range c.GetOrLoadMany(w.Context(), items,
					func(_ context.Context, missing []int) (map[int]string, error) {
						loads.Add(int64(len(missing)))
						out := map[int]string{}
						for _, k := range missing {
							out[k] = "x"
						}
						return out, nil
					}) {
					if r.Err != nil || r.Value != "x" {
						t.Errorf("%v", r)
					}
				}
			})
		}
		all.Wait()
		expect.Equal(t, "values loaded", loads.Load(), 20)
	})
}

func TestTags(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w world) {
		ctx := w.Context()
		c := w.cache(cache.Options{TTL: time.Hour})
		red := typed.NewKey(keywright.Binding{Client: w.c, Entry: &tags, Key: "tag:red"})
		blue := typed.NewKey(keywright.Binding{Client: w.c, Entry: &tags, Key: "tag:blue"})
		n := 1200 // more than one script takes
		if w.s == nil {
			n = 60
		}
		var l counter
		for k := range n {
			i := c.Key(fmt.Sprintf("page:%d", k), nil).Tagged(red)
			if k%2 == 0 {
				i = i.Tagged(blue)
			}
			_, err := i.GetOrLoad(ctx, l.load("x"))
			w.ok(err)
		}
		if left := w.do("tag:red", "PTTL", "tag:red").(int64); left <= 0 {
			t.Errorf("a tag's set has no TTL: %d", left)
		}
		got, err := c.InvalidateTag(ctx, blue)
		w.ok(err)
		expect.Equal(t, "invalidated", got, n/2)
		for k := range 10 {
			_, err := c.Key(fmt.Sprintf("page:%d", k), nil).Get(ctx)
			if gone := err == keywright.ErrNotFound; gone != (k%2 == 0) {
				t.Errorf("%d: %v", k, err)
			}
		}
		got, err = c.InvalidateTag(ctx, red)
		w.ok(err)
		expect.Equal(t, "members of the other tag", got, n)
		expect.Equal(t, "left in the set", w.do("tag:red", "EXISTS", "tag:red"), any(int64(0)))

		// a load under way when its tag is invalidated is not stored
		i := c.Key("page:slow", nil).Tagged(red)
		first := true
		v, err := i.GetOrLoad(ctx, func(context.Context) (string, error) {
			if first {
				first = false
				if got, err := c.InvalidateTag(ctx, red); got != 1 || err != nil {
					t.Errorf("invalidated %d, %v", got, err)
				}
				return "old", nil
			}
			return "new", nil
		})
		w.ok(err)
		expect.Equal(t, "the caller gets what was loaded after the invalidation", v, "new")
		expect.Equal(t, "stored", w.do("page:slow", "GET", "page:slow"), any("new"))
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w world) {
		ctx := w.Context()
		v := cache.NewVersion(w.c, typed.NewKey(keywright.Binding{Client: w.c, Entry: &tags, Key: "version:shop"}))
		n, err := v.Current(ctx)
		w.ok(err)
		last := n
		for range 3 {
			n, err := v.Bump(ctx)
			w.ok(err)
			if n <= last {
				t.Errorf("%d after %d", n, last)
			}
			last = n
			eventually(t, "the new version", func() bool { n, err := v.Current(ctx); return err == nil && n == last })
		}
		w.do("version:shop", "DEL", "version:shop")
		if n, err := v.Bump(ctx); err != nil || n <= last {
			t.Errorf("a version that was lost goes back: %d after %d, %v", n, last, err)
		}
		w.do("version:shop", "DEL", "version:shop")
		eventually(t, "a new number", func() bool { n, err = v.Current(ctx); return err == nil && n > last })
		expect.Equal(t, "stored", w.do("version:shop", "GET", "version:shop"), any(strconv.FormatInt(n, 10)))
	})
}

// mapTier represents the smallest tier.
type mapTier struct {
	mu sync.Mutex
	m  map[string]cache.Kept[string]
}

func newMapTier() *mapTier { return &mapTier{m: map[string]cache.Kept[string]{}} }

func (t *mapTier) Get(key string) (cache.Kept[string], bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.m[key]
	return v, ok
}

func (t *mapTier) Set(key string, v cache.Kept[string]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.m[key] = v
}

func (t *mapTier) Delete(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.m, key)
}

func (t *mapTier) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.m)
}
