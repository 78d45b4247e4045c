package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
)

// refusedAt returns an error of class Refused that names the key.
func refusedAt(err error, key string) error {
	if class, ok := keywright.ClassOf(err); !ok || class != keywright.Refused ||
		!strings.Contains(err.Error(), "(key "+key+")") {
		return fmt.Errorf("%v does not refuse and name %s", err, key)
	}
	return nil
}

// refusedTag loads and stores with a tag of a wrong type after a good one: nothing
// at all is written.
func refusedTag(g *stage) error {
	g.s.Do("SET", "tag:wrong", "x")
	good, wrong := typed.NewKey(keywright.Binding{Client: g.a, Entry: &tags, Key: "tag:good"}),
		typed.NewKey(keywright.Binding{Client: g.a, Entry: &tags, Key: "tag:wrong"})
	i := g.item(g.a, cache.Options{}).Tagged(good, wrong)
	_, err := i.GetOrLoad(g.ctx, func(context.Context) (string, error) { return "x", nil })
	return errors.Join(refusedAt(err, "tag:wrong"), refusedAt(i.Set(g.ctx, "x"), "tag:wrong"),
		differs("keys", g.s.Do("DBSIZE"), any(int64(1))))
}

// otherTypes calls everything that writes or deletes while one of the two keys is a list: the list stays.
func otherTypes(g *stage) error {
	tag := typed.NewKey(keywright.Binding{Client: g.a, Entry: &tags, Key: "tag:red"})
	var all error
	for _, key := range []string{"page:1", "{page:1}:fill"} {
		c := cache.New(keywright.Binding{Client: g.a, Entry: &page}, &text, cache.Options{})
		i := c.Key("page:1", nil)
		add := func() { g.s.Do("RPUSH", key, "x") }
		loaded := func(err error) cache.Loader[string] { // the key is written while the loader runs
			return func(context.Context) (string, error) { g.s.Do("DEL", key); add(); return "x", err }
		}
		for name, call := range map[string]func() error{
			"set":           func() error { add(); return i.Set(g.ctx, "x") },
			"refresh":       func() error { add(); _, err := i.Refresh(g.ctx, never); return err },
			"invalidate":    func() error { add(); _, err := i.Invalidate(g.ctx); return err },
			"get or load":   func() error { add(); _, err := i.GetOrLoad(g.ctx, never); return err },
			"fill":          func() error { _, err := i.GetOrLoad(g.ctx, loaded(nil)); return err },
			"fill of none":  func() error { _, err := i.GetOrLoad(g.ctx, loaded(keywright.ErrNotFound)); return err },
			"an event's":    func() error { add(); _, err := later(g, "page:1").Do(g.ctx); return err },
			"in a pipeline": func() error { add(); return kernel.DoAll(g.ctx, later(g, "page:1"), later(g, "page:2")) },
			"by its tag": func() error {
				add()
				g.s.Do("ZADD", "tag:red", "99999999999999999", "page:1")
				_, err := c.InvalidateTag(g.ctx, tag)
				g.s.Do("DEL", "tag:red")
				return err
			},
		} {
			err := errors.Join(refusedAt(call(), key), differs("what it is", g.s.Do("TYPE", key), any("list")))
			if err != nil {
				all = errors.Join(all, fmt.Errorf("%s, with a list at %s: %w", name, key, err))
			}
			g.s.Do("FLUSHALL")
		}
	}
	return all
}

func later(g *stage, key string) keywright.Op[bool] {
	return cache.LaterInvalidate(g.a, typed.NewKey(keywright.Binding{Client: g.a, Entry: &page, Key: key}))
}

// endlessLease returns a fill key of a form that this program does not write.
func endlessLease(g *stage) error {
	g.s.Do("SET", "{page:1}:fill", "v2:somebody")
	ctx, cancel := context.WithTimeout(g.ctx, g.patience)
	defer cancel()
	_, err := g.item(g.a, cache.Options{}).GetOrLoad(ctx, func(context.Context) (string, error) { return "x", nil })
	if !errors.Is(err, cache.ErrForm) || !strings.Contains(err.Error(), "{page:1}:fill") {
		return fmt.Errorf("it is not refused: %v", err)
	}
	return differs("the lease", g.s.Do("GET", "{page:1}:fill"), any("v2:somebody"))
}

// lostVersion returns one that is asked for while its key comes and goes.
func lostVersion(g *stage) error {
	// without copies in the process
	v := cache.NewVersion(g.proxied, typed.NewKey(keywright.Binding{Client: g.proxied, Entry: &tags, Key: "version:1"}))
	last := int64(0)
	for range 3 {
		n, err := v.Current(g.ctx)
		if err != nil || n <= last {
			return fmt.Errorf("%d after %d, %v", n, last, err)
		}
		for range 2 {
			if again, err := v.Current(g.ctx); err != nil || again != n {
				return fmt.Errorf("%d and then %d, %v", n, again, err)
			}
		}
		if last, err = v.Bump(g.ctx); err != nil || last <= n {
			return fmt.Errorf("bumped from %d to %d, %v", n, last, err)
		}
		g.s.Do("DEL", "version:1")
	}
	// two that see no key at once agree on what is stored
	g.s.Do("SET", "version:1", strconv.FormatInt(last+5, 10))
	n, err := v.CurrentOfNone(g.ctx)
	return errors.Join(err, differs("the number of somebody quicker", n, last+5))
}

// foreignVersion returns a key with something else in it.
func foreignVersion(g *stage) error {
	v := cache.NewVersion(g.proxied, typed.NewKey(keywright.Binding{Client: g.proxied, Entry: &tags, Key: "version:1"}))
	for _, text := range []string{"x", "-1", "1.5", "9007199254740991", "99999999999999999999"} {
		g.s.Do("SET", "version:1", text)
		if _, err := v.Bump(g.ctx); !errors.Is(err, cache.ErrForm) || g.s.Do("GET", "version:1") != text {
			return fmt.Errorf("%s: %v, and the key holds %v", text, err, g.s.Do("GET", "version:1"))
		}
	}
	return nil
}

// TestAVersionOfThisProgramIsRead: what today's Bump stores.
func TestAVersionOfThisProgramIsRead(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Valkey, keywright.Options{})
	w.do("", "SET", "version:1", "1795000000000000")
	n, err := cache.NewVersion(w.c,
		typed.NewKey(keywright.Binding{Client: w.c, Entry: &tags, Key: "version:1"})).Current(t.Context())
	w.ok(err)
	expect.Equal(t, "the version", n, 1795000000000000)
}

// TestWhatIsInvalidatedIsLoadedAgain: also when there was nothing, and however
// often; a caller that asks after an invalidation never gets what was loaded before it.
func TestWhatIsInvalidatedIsLoadedAgain(t *testing.T) {
	t.Parallel()
	for _, invalidations := range []int{1, 3, 4, 9} {
		for _, before := range []string{"", "old"} {
			t.Run(fmt.Sprint(invalidations, before), func(t *testing.T) {
				t.Parallel()
				invalidated(t, invalidations, before)
			})
		}
	}
}

func invalidated(t *testing.T, invalidations int, before string) {
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	i := w.cache(cache.Options{Absent: time.Minute}).Key("page:1", nil)
	other := cache.New(keywright.Binding{Client: open(t, w.url, keywright.Options{}), Entry: &page}, &text,
		cache.Options{}).Key("page:1", nil)
	var mu sync.Mutex
	row, loads := before, 0
	var late sync.WaitGroup
	load := func(ctx context.Context) (string, error) {
		mu.Lock()
		v, n := row, loads
		loads++
		if n < invalidations {
			row = fmt.Sprint("new ", n) // someone writes the row while this load has read it
		}
		want := row
		mu.Unlock()
		if n < invalidations {
			if _, err := other.Invalidate(ctx); err != nil {
				t.Error(err)
			}
			asked := make(chan struct{})
			late.Go(func() {
				got, err := i.LateGetOrLoad(t.Context(), asked, func(context.Context) (string, error) {
					mu.Lock()
					defer mu.Unlock()
					return row, nil
				})
				if err != nil || got < want {
					t.Errorf("after invalidation %d: %q, %v; want %q or later", n, got, err, want)
				}
			})
			<-asked // it waits for this load now
		}
		if v == "" {
			return "", keywright.ErrNotFound
		}
		return v, nil
	}
	_, err := i.GetOrLoad(t.Context(), load)
	if err != nil && err != keywright.ErrNotFound {
		t.Error(err)
	}
	late.Wait()
}

// TestAnItemThatIsRefusedFailsAlone: others of the same call are loaded.
func TestAnItemThatIsRefusedFailsAlone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(w world) {
		w.do("tag:wrong", "SET", "tag:wrong", "x")
		w.do("page:2", "RPUSH", "page:2", "x")
		w.do("{page:3}:fill", "RPUSH", "{page:3}:fill", "x")
		c := w.cache(cache.Options{})
		items := []cache.Item[string]{c.Key("page:0", nil),
			c.Key("page:1", nil).Tagged(typed.NewKey(keywright.Binding{Client: w.c, Entry: &tags, Key: "tag:wrong"})),
			c.Key("page:2", nil), c.Key("page:3", nil),
			c.Key("page:4", nil)}
		out := c.GetOrLoadMany(w.Context(), items, func(_ context.Context, missing []int) (map[int]string, error) {
			got := map[int]string{}
			for _, n := range missing {
				got[n] = "x"
			}
			return got, nil
		})
		for n, r := range out {
			class, failed := keywright.ClassOf(r.Err)
			if bad := n >= 1 && n <= 3; bad != (r.Err != nil) || bad && (!failed || class != keywright.Refused) ||
				!bad && r.Value != "x" {
				t.Errorf("%d: %+v", n, r)
			}
		}
	})
}

// TestAKeyOfATagThatIsRefusedStaysAlone: all others are invalidated, also those of later chunks.
func TestAKeyOfATagThatIsRefusedStaysAlone(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	tag := typed.NewKey(keywright.Binding{Client: w.c, Entry: &tags, Key: "tag:red"})
	const far = 99_000_000_000_000_000
	add, set := []string{"ZADD", "tag:red"}, []string{"MSET"}
	for n := range 1001 {
		key := fmt.Sprint("page:", n)
		add = append(add, strconv.Itoa(far+n), key)
		set = append(set, key, "x")
	}
	w.do("", add...)
	w.do("", set...)
	wrong := []string{"page:0", "page:499", "page:1000"} // also the last one of a chunk
	for _, key := range wrong {
		w.do("", "DEL", key)
		w.do("", "RPUSH", key, "x")
	}
	n, err := w.cache(cache.Options{}).InvalidateTag(t.Context(), tag)
	expect.Equal(t, "invalidated", n, 1001-len(wrong))
	w.ok(refusedAt(err, wrong[0]))
	expect.Equal(t, "keys that stay, and the tag", w.do("", "DBSIZE"), any(int64(len(wrong)+1)))
	expect.Equal(t, "the tag", w.do("", "ZCARD", "tag:red"), any(int64(len(wrong))))
}

// TestNotices: each call for a value is one notice, and each run of a loader.
func TestNotices(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	heard := map[notice.Kind]int{}
	var failed error
	hook := keywright.Hook{Notice: func(_ context.Context, n keywright.Notice) {
		mu.Lock()
		defer mu.Unlock()
		heard[n.Kind]++
		failed = errors.Join(failed, n.Err)
		if n.Entry != "page" {
			t.Errorf("a notice of %q", n.Entry)
		}
	}}
	w := oneServer(t, keywrighttest.Redis, keywright.Options{Hooks: []keywright.Hook{hook}})
	told := func(what string, want map[notice.Kind]int) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if fmt.Sprint(heard) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", what, heard, want)
		}
		clear(heard)
	}
	const hit, miss, load, stale = notice.CacheHit, notice.CacheMiss, notice.CacheLoad, notice.CacheStale
	found := func(context.Context) (string, error) { return "x", nil }
	none := func(context.Context) (string, error) { return "", keywright.ErrNotFound }
	for name, o := range map[string]cache.Options{"plain": {}, "local": {Local: time.Minute},
		"breaker": {Patience: 10 * time.Second}, "timed": {Fresh: 30 * time.Second}} {
		w.do("", "FLUSHALL")
		o.Absent = time.Minute
		c := w.cache(o)
		i := c.Key("page:"+name, nil)
		_, _ = i.Get(t.Context())
		told(name+", nothing", map[notice.Kind]int{miss: 1})
		_, _ = i.GetOrLoad(t.Context(), found)
		told(name+", a load", map[notice.Kind]int{load: 1})
		eventually(t, "the value", func() bool { v, err := i.Get(t.Context()); clear(heard); return err == nil && v == "x" })
		_, _ = i.GetOrLoad(t.Context(), never)
		told(name+", a hit", map[notice.Kind]int{hit: 1})
		gone := c.Key("page:gone:"+name, nil)
		_, _ = gone.GetOrLoad(t.Context(), none)
		_, _ = gone.GetOrLoad(t.Context(), never)
		told(name+", absent and known to be", map[notice.Kind]int{load: 1, miss: 1})
		c.GetOrLoadMany(t.Context(), []cache.Item[string]{i, gone, c.Key("page:new:"+name, nil)},
			func(context.Context, []int) (map[int]string, error) { return nil, nil })
		told(name+", many", map[notice.Kind]int{hit: 1, miss: 1, load: 1})
	}
	if failed != nil {
		t.Error(failed)
	}
	i := w.cache(cache.Options{Fresh: 30 * time.Second}).Key("page:old", nil)
	w.ok(i.Set(t.Context(), "old", keywright.ExpiresIn(20*time.Second)))
	_, _ = i.GetOrLoad(t.Context(), func(context.Context) (string, error) { return "", errors.New("no database") })
	eventually(t, "the refresh", func() bool { mu.Lock(); defer mu.Unlock(); return heard[load] == 1 })
	told("stale", map[notice.Kind]int{stale: 1, load: 1})
	if failed == nil || failed.Error() != "no database" {
		t.Errorf("a failed load: %v", failed)
	}
}

// TestNoScriptIsLongWithLargeTags: 100,000 keys of one tag, half of them dead, are
// invalidated by scripts that do little each, by their commands and by the slow log.
func TestNoScriptIsLongWithLargeTags(t *testing.T) {
	gate.Skip(t, "100,000 keys of one tag")
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	pages := cache.New(keywright.Binding{Client: c, Entry: &page}, &text, cache.Options{})
	tag := typed.NewKey(keywright.Binding{Client: c, Entry: &tags, Key: "tag:red"})
	invalidate := func() {
		now := time.Now().UnixMicro()
		for from := 0; from < 100_000; from += 1000 {
			add := []string{"ZADD", "tag:red"}
			for n := from; n < from+1000; n++ {
				add = append(add, strconv.FormatInt(now+int64(n%2*2-1)*600e6, 10), fmt.Sprint("page:", n))
			}
			s.Do(add...)
		}
		s.Do("SLOWLOG", "RESET")
		must(t, pages.Key("page:1", nil).Tagged(tag).Set(t.Context(), "x"))
		n, err := pages.InvalidateTag(t.Context(), tag)
		must(t, err)
		expect.Equal(t, "invalidated", n, 50_000)
		expect.Equal(t, "the tag", s.Do("EXISTS", "tag:red"), any(int64(0)))
	}
	if long := s.Long(5*time.Millisecond, invalidate); len(long) > 0 {
		t.Errorf("they hold the server for more than 5 ms: %q", long)
	}
	scripts := s.WatchScripts()
	invalidate()
	calls := scripts.Calls()
	for _, call := range calls {
		words := 0
		for _, command := range call.Commands {
			words += len(command)
		}
		if len(call.Commands) > 510 || words > 2100 {
			t.Errorf("a script sends %d commands of %d words", len(call.Commands), words)
		}
	}
	if len(calls) < 200 {
		t.Errorf("only %d scripts: this shows nothing", len(calls))
	}
}

func TestTooManyTagsAreInvalid(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	i := w.cache(cache.Options{}).Key("page:1", nil).Tagged(make([]typed.Key, cache.MaxTags+1)...)
	if class, ok := keywright.ClassOf(i.Set(t.Context(), "x")); !ok || class != keywright.Invalid {
		t.Error("101 tags were taken")
	}
}

// TestStoredForms: what today's version keeps beside a value is read; any other
// text is someone's lease, which is waited for and not overwritten.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Valkey, keywright.Options{})
	c := w.cache(cache.Options{})
	w.do("", "SET", "{page:1}:fill", "absent", "PX", "60000")
	_, err := c.Key("page:1", nil).GetOrLoad(t.Context(), never)
	expect.Equal(t, "known to be absent", err, error(keywright.ErrNotFound))
	for _, lease := range []string{"GQ3TSNHMZVMFXTXBBTJ6RPAVNH:1z", "v2 of a newer program"} {
		w.do("", "SET", "{page:2}:fill", lease, "PX", "60000")
		done := make(chan error, 1)
		waiting := newBarrier("x", nil)
		close(waiting.open)
		go func() {
			_, err := c.Key("page:2", nil).GetOrLoad(t.Context(), waiting.load)
			done <- err
		}()
		eventually(t, "somebody who waits", func() bool { return strings.Contains(w.s.Info("cmdstat_evalsha"), "calls=") })
		expect.Equal(t, "the lease", w.do("", "GET", "{page:2}:fill"), any(lease))
		expect.Equal(t, "loads", waiting.n.Load(), 0)
		w.do("", "DEL", "{page:2}:fill")
		must(t, <-done)
		expect.Equal(t, "loads", waiting.n.Load(), 1)
		w.do("", "FLUSHALL")
		w.do("", "CONFIG", "RESETSTAT")
	}
}

// TestOfNothingIsNothing: a call for no values sends nothing.
func TestOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	c := w.cache(cache.Options{Patience: time.Second})
	before := processed(w.s)
	none := func(context.Context, []int) (map[int]string, error) { return nil, errors.New("the loader was called") }
	if len(c.GetMany(t.Context(), nil))+len(c.GetOrLoadMany(t.Context(), nil, none)) > 0 {
		t.Error("there are results")
	}
	if n := processed(w.s) - before; n > 1 { // INFO itself
		t.Errorf("%d commands", n)
	}
}
