package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestCancelledCallers is C3: callers that leave stop no load and leave no lease
// left; a leaked lease would last for an hour here.
func TestCancelledCallers(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		c := w.cache(cache.Options{Lease: time.Hour})
		var all sync.WaitGroup
		var gone atomic.Int64
		for n := range 300 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(w.Context(), time.Duration(n%30)*200*time.Microsecond)
				defer cancel()
				_, err := c.Key(fmt.Sprintf("page:%d", n), nil).GetOrLoad(ctx, slow)
				// the client looks at the clock, the context has a timer
				if err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
					gone.Add(1)
				} else if err != nil {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		if gone.Load() == 0 {
			t.Error("nobody was cancelled: this shows nothing")
		}
		for n := range 300 {
			fill := cache.FillKey(fmt.Sprintf("page:%d", n))
			eventually(t, "the end of a lease", func() bool { return w.s.Do("EXISTS", fill) == int64(0) })
		}

		// another waits for the load whose first caller has left
		l := newBarrier("one", nil)
		i := c.Key("page:x", nil)
		ctx, cancel := context.WithCancel(w.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := i.GetOrLoad(ctx, l.load); first <- err }()
		<-l.entered
		go func() { _, err := i.GetOrLoad(w.Context(), never); second <- err }()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left: %v", err)
		}
		close(l.open)
		w.ok(<-second)
		expect.Equal(t, "loads", l.n.Load(), 1)
	})
}

// TestStale: a value past Fresh is served while one of two processes loads it.
func TestStale(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx := w.Context()
		o := cache.Options{TTL: time.Hour, Fresh: 30 * time.Minute}
		a := cache.New(keywright.Binding{Client: w.c, Entry: &page}, &text, o).Key("page:1", nil)
		b := cache.New(keywright.Binding{Client: open(t, w.url, keywright.Options{}), Entry: &page}, &text,
			o).Key("page:1", nil)
		w.ok(a.Set(ctx, "old"))
		v, err := a.GetOrLoad(ctx, never)
		w.ok(err)
		expect.Equal(t, "fresh", v, "old")
		w.s.Do("PEXPIRE", "page:1", "1700000") // past 30 of 60 minutes
		l := newBarrier("new", nil)
		for range 20 {
			for _, i := range []cache.Item[string]{a, b} {
				v, err := i.GetOrLoad(ctx, l.load)
				w.ok(err)
				expect.Equal(t, "stale", v, "old")
			}
		}
		<-l.entered
		close(l.open)
		eventually(t, "the new value", func() bool { v, err := b.Get(ctx); return err == nil && v == "new" })
		expect.Equal(t, "loads", l.n.Load(), 1)

		// a refresh that fails leaves the value alone
		w.s.Do("PEXPIRE", "page:1", "1700000")
		var tried atomic.Int64
		broken := func(context.Context) (string, error) { tried.Add(1); return "", errors.New("broken") }
		eventually(t, "a refresh", func() bool {
			v, err := b.GetOrLoad(ctx, broken)
			return err == nil && v == "new" && tried.Load() > 0
		})
		v, err = a.GetOrLoad(ctx, broken)
		w.ok(err)
		expect.Equal(t, "after a refresh that failed", v, "new")
	})
}

// TestStaleInProcess: a copy in this process that is past Fresh is served while it
// is loaded again, once, and then goes.
func TestStaleInProcess(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		for name, use := range copiesOf {
			i := use(w.cache(cache.Options{TTL: time.Hour, Fresh: 30 * time.Minute, Local: time.Hour})).Key("page:"+name, nil)
			w.ok(i.Set(t.Context(), "old"))
			w.s.Do("PEXPIRE", "page:"+name, "1700000") // past 30 of 60 minutes
			l := newBarrier("new", nil)
			for range 20 {
				v, err := i.GetOrLoad(t.Context(), l.load)
				w.ok(err)
				expect.Equal(t, name, v, "old")
			}
			<-l.entered
			close(l.open)
			eventually(t, "the new value",
				func() bool { v, err := i.GetOrLoad(t.Context(), never); return err == nil && v == "new" })
			expect.Equal(t, name+", loads", l.n.Load(), 1)
		}
	})
}

// TestLocalAge: nothing is kept for longer than Local, even when no one says that
// it has changed.
func TestLocalAge(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	for name, use := range copiesOf {
		i := use(cache.New(keywright.Binding{Client: open(t, s.URL(), keywright.Options{}), Entry: &page}, &text,
			cache.Options{Local: 50 * time.Millisecond})).
			Key("page:1", nil)
		must(t, i.Set(t.Context(), "x"))
		_, err := i.Get(t.Context())
		must(t, err)
		before := s.Do("INFO", "commandstats")
		eventually(t, name+": another read of the server", func() bool {
			_, err := i.Get(t.Context())
			return err == nil && gets(s.Do("INFO", "commandstats")) > gets(before)
		})
	}
}

func gets(stats any) (n int) {
	_, after, _ := strings.Cut(fmt.Sprint(stats), "cmdstat_get:calls=")
	_, _ = fmt.Sscanf(after, "%d", &n)
	return n
}

// TestEarly: XFetch refreshes before the end of the TTL when loading takes long
// compared with what is left, and not otherwise.
func TestEarly(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		ctx := w.Context()
		for early, refreshed := range map[float64]bool{1e-9: false, 1e9: true} {
			i := w.cache(cache.Options{Early: early}).Key(fmt.Sprint("page:", early), nil)
			var l counter
			load := func(ctx context.Context) (string, error) { _, _ = slow(ctx); return l.load("x")(ctx) }
			_, err := i.GetOrLoad(ctx, load)
			w.ok(err)
			for range 20 {
				_, err := i.GetOrLoad(ctx, load)
				w.ok(err)
			}
			if refreshed {
				eventually(t, "a refresh", func() bool { return l.n.Load() > 1 })
			} else {
				expect.Equal(t, "loads", l.n.Load(), 1)
			}
		}
	})
}

// copiesOf lists the ways to keep values in this process.
var copiesOf = map[string]func(*cache.Cache[string]) *cache.Cache[string]{
	"tracked": func(c *cache.Cache[string]) *cache.Cache[string] { return c },
	"tier":    func(c *cache.Cache[string]) *cache.Cache[string] { return c.Use(newMapTier()) },
}

// TestLocalCopies are taken back by the server, whatever happens to the connection
// (C5, C6, C7); they would last for an hour here.
func TestLocalCopies(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		for name, use := range copiesOf {
			t.Run(name, func(t *testing.T) {
				o := keywright.Options{Attempts: 16}
				i := use(cache.New(keywright.Binding{Client: open(t, w.url, o), Entry: &page}, &text,
					cache.Options{TTL: time.Hour, Local: time.Hour})).Key(
					"page:"+name, nil)
				writer := cache.New(keywright.Binding{Client: open(t, w.url, o), Entry: &page}, &text,
					cache.Options{TTL: time.Hour}).Key("page:"+name, nil)
				harm := []func(){
					func() {},
					func() { w.s.Do("CLIENT", "KILL", "TYPE", "normal") },
					func() { w.s.Do("FLUSHALL") },
					w.s.Restart,
				}
				for round := range 12 {
					want := fmt.Sprint(round)
					eventually(t, "a write", func() bool { return writer.Set(t.Context(), want) == nil })
					eventually(t, "the value of round "+want,
						func() bool { v, err := i.Get(t.Context()); return err == nil && v == want })
					commands := processed(w.s)
					for range 100 {
						if v, err := i.Get(t.Context()); err != nil || v != want {
							t.Fatalf("%q, %v", v, err)
						}
					}
					if sent := processed(w.s) - commands; sent > 50 {
						t.Errorf("100 local hits sent %d commands", sent)
					}
					harm[round%len(harm)]()
				}
				eventually(t, "invalidating", func() bool { _, err := writer.Invalidate(t.Context()); return err == nil })
				eventually(t, "the invalidation", func() bool { _, err := i.Get(t.Context()); return err == keywright.ErrNotFound })
			})
		}
	})
}

func processed(s *keywrighttest.Server) (n int) {
	_, _ = fmt.Sscan(s.Info("total_commands_processed"), &n)
	return n
}

// TestTierSurvivesFailover: a copy of the old primary goes.
func TestTierSurvivesFailover(t *testing.T) {
	t.Parallel()
	cl := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 1)
	key := "page:1"
	for n := 0; slot.Of([]byte(key)) >= 5461; n++ { // of the first primary
		key = fmt.Sprint("page:", n)
	}
	o := keywright.Options{Attempts: 16}
	i := cache.New(keywright.Binding{Client: open(t, cl.URL(), o), Entry: &page}, &text,
		cache.Options{Local: time.Hour}).Use(newMapTier()).Key(key, nil)
	writer := cache.New(keywright.Binding{Client: open(t, cl.URL(), o), Entry: &page}, &text,
		cache.Options{}).Key(key, nil)
	for round := range 2 {
		if round > 0 {
			cl.Failover(3)
		}
		want := fmt.Sprint(round)
		eventually(t, "a write", func() bool { return writer.Set(t.Context(), want) == nil })
		eventually(t, "round "+want, func() bool { v, err := i.Get(t.Context()); return err == nil && v == want })
	}
}

// TestTierStaleReads is C7: while a writer writes and the tier is read, who has
// seen a value never sees an older one.
func TestTierStaleReads(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		reader := cache.New(keywright.Binding{Client: open(t, w.url, keywright.Options{}), Entry: &page}, &text,
			cache.Options{Local: time.Hour}).Use(
			newMapTier()).Key("page:1", nil)
		writer := w.cache(cache.Options{}).Key("page:1", nil)
		const last = 1000
		done := make(chan error, 1)
		w.ok(writer.Set(t.Context(), "0"))
		go func() {
			for n := range last {
				if err := writer.Set(t.Context(), fmt.Sprint(n+1)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		seen := 0
		for seen < last {
			v, err := reader.Get(t.Context())
			w.ok(err)
			n := 0
			_, _ = fmt.Sscan(v, &n)
			if n < seen {
				t.Fatalf("%d after %d", n, seen)
			}
			seen = n
		}
		w.ok(<-done)
	})
}

// TestFlushUnderLoad is C5: no call is stuck after a flush, a reconnect or a
// restart, and afterwards everything works.
func TestFlushUnderLoad(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		c := cache.New(keywright.Binding{Client: open(t, w.url, keywright.Options{Attempts: 16}), Entry: &page},
			&text, cache.Options{Local: time.Minute}).Use(
			newMapTier())
		ctx, cancel := context.WithTimeout(t.Context(), 5*expect.Patience)
		defer cancel()
		var stop atomic.Bool
		var calls, failed atomic.Int64
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for n := g; !stop.Load(); n++ {
					v, err := c.Key(fmt.Sprintf("page:%d", n%50), nil).GetOrLoad(ctx,
						func(context.Context) (string, error) { return "x", nil })
					calls.Add(1)
					if errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("stuck: %v", err)
					} else if err != nil {
						failed.Add(1)
					} else if v != "x" {
						t.Errorf("%q", v)
					}
				}
			})
		}
		harm := []func(){func() { w.s.Do("FLUSHALL") }, func() { w.s.Do("CLIENT", "KILL", "TYPE", "normal") },
			func() { w.s.Do("FLUSHALL", "ASYNC") }}
		for n := range 12 {
			harm[n%len(harm)]()
			before := calls.Load()
			eventually(t, "more calls", func() bool { return calls.Load() > before+100 })
		}
		w.s.Restart()
		before := calls.Load()
		eventually(t, "calls after a restart", func() bool { return calls.Load() > before+100 })
		stop.Store(true)
		all.Wait()
		t.Logf("%d calls, %d failed", calls.Load(), failed.Load())
		if _, err := c.Key("page:1", nil).GetOrLoad(ctx,
			func(context.Context) (string, error) { return "x", nil }); err != nil {
			t.Error(err)
		}
	})
}

// TestDown: what a cache gives while its server is frozen or dead, and that it
// comes back.
func TestDown(t *testing.T) {
	t.Parallel()
	worlds(t, func(w world) {
		o := cache.Options{Patience: 100 * time.Millisecond}
		through, stale := o, o
		through.Down, stale.Down = cache.LoadThrough, cache.ServeStale
		caches := map[string]cache.Item[string]{
			"fail":    w.cache(o).Key("page:1", nil),
			"through": w.cache(through).Key("page:1", nil),
			"stale":   w.cache(stale).Key("page:1", nil),
			"unseen":  w.cache(stale).Key("page:2", nil),
		}
		ask := func() (out map[string]string) {
			out = map[string]string{}
			for name, i := range caches {
				v, err := i.GetOrLoad(t.Context(), func(context.Context) (string, error) { return "loaded", nil })
				if err != nil {
					v = "error"
				}
				out[name] = v
			}
			for name, down := range map[string]cache.Down{"fail": cache.Fail, "through": cache.LoadThrough} {
				many := w.cache(cache.Options{Patience: o.Patience, Down: down})
				r := many.GetOrLoadMany(t.Context(), []cache.Item[string]{many.Key("page:1", nil)},
					func(context.Context, []int) (map[int]string, error) { return map[int]string{0: "loaded"}, nil })[0]
				if r.Err != nil {
					r.Value = "error"
				}
				out["many, "+name] = r.Value
			}
			return out
		}
		w.ok(caches["fail"].Set(t.Context(), "stored"))
		const up = "map[fail:stored many, fail:stored many, through:stored stale:stored through:stored unseen:loaded]"
		eventually(t, up, func() bool { return fmt.Sprint(ask()) == up }) // a busy server is down at times
		for name, harm := range map[string][2]func(){"frozen": {w.s.Stop, w.s.Continue}, "dead": {w.s.Kill, w.s.Restart}} {
			harm[0]()
			for range 8 { // beyond the five that open the breaker
				expect.Equal(t, name, fmt.Sprint(ask()),
					"map[fail:error many, fail:error many, through:loaded stale:stored through:loaded unseen:loaded]")
			}
			_, err := caches["fail"].Get(t.Context())
			if class, ok := keywright.ClassOf(err); !ok || class == keywright.Invalid || class == keywright.Refused {
				t.Errorf("%s: %v", name, err)
			}
			harm[1]()
			eventually(t, "an answer of a server that was "+name, func() bool {
				v, err := caches["fail"].GetOrLoad(t.Context(), func(context.Context) (string, error) { return "stored", nil })
				return err == nil && v == "stored"
			})
		}
	})
}

// TestBreaker: an open breaker sends nothing.
func TestBreaker(t *testing.T) {
	t.Parallel()
	w := oneServer(t, keywrighttest.Redis, keywright.Options{})
	i := w.cache(cache.Options{Patience: 50 * time.Millisecond}).Key("page:1", nil)
	w.s.Stop()
	defer w.s.Continue()
	eventually(t, "an open breaker", func() bool { _, err := i.Get(t.Context()); return errors.Is(err, cache.ErrOpen) })
}
