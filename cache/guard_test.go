package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
)

// stage describes where a guard is checked: two clients of one server, as two processes
// are.
type stage struct {
	ctx      context.Context
	s        *keywrighttest.Server
	a, b     *keywright.Client
	proxied  *keywright.Client
	proxy    *keywrighttest.Proxy
	patience time.Duration                   // what must end does within it
	lease    time.Duration                   // of a load that is slow
	beforeOp atomic.Pointer[func(op string)] // called before an operation of a
}

func newStage(t *testing.T, brand keywrighttest.Brand) *stage {
	g := &stage{s: keywrighttest.Start(t, brand), patience: expect.Patience, lease: 9 * time.Second}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	g.ctx = ctx
	hook := keywright.Hook{Start: func(ctx context.Context, call keywright.Call) context.Context {
		if fn := g.beforeOp.Load(); fn != nil {
			(*fn)(call.Op)
		}
		return ctx
	}}
	g.proxy = keywrighttest.NewProxy(t, g.s.Addr(), keywrighttest.Rules{})
	g.a = open(t, g.s.URL(), keywright.Options{Hooks: []keywright.Hook{hook}})
	g.b = open(t, g.s.URL(), keywright.Options{})
	g.proxied = open(t, "redis://"+g.proxy.Addr(), keywright.Options{Connections: -1, NoCache: true})
	return g
}

func (g *stage) item(c *keywright.Client, o cache.Options) cache.Item[string] {
	return cache.New(keywright.Binding{Client: c, Entry: &page}, &text, o).Key("page:1", nil)
}

func differs[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: %v, want %v", what, got, want)
	}
	return nil
}

// barrier represents a loader that says when it runs and waits to be let go.
type barrier struct {
	value   string
	err     error
	entered chan struct{}
	open    chan struct{}
	n       atomic.Int64
}

func newBarrier(value string, err error) *barrier {
	return &barrier{value: value, err: err, entered: make(chan struct{}, 100), open: make(chan struct{})}
}

func (g *barrier) load(ctx context.Context) (string, error) {
	g.n.Add(1)
	g.entered <- struct{}{}
	select {
	case <-g.open:
	case <-ctx.Done():
	}
	return g.value, g.err
}

// guards lists the things that a script takes care of: the check that fails without
// it, and the line that is taken out to show so.
var guards = []struct {
	name, file, old, new string
	check                func(g *stage) error
}{
	{"a load that was invalidated is not stored (C2)", "fill.lua", "fill ~= ARGV[1]", "false", invalidatedLoad},
	{"a load that was invalidated in one of many races is not stored (C2)", "fill.lua", "fill ~= ARGV[1]", "false",
		func(g *stage) error { return races(g, 400) }},
	{"a write makes a load void", "fill.lua", "redis.call('UNLINK', KEYS[2])\nreturn 1", "return 1", writtenLoad},
	{"one load at a time (C1)", "claim.lua", "ARGV[3] ~= 'force' and fill and", "false and", oneAtATime},
	{"a claim whose reply was lost is made again", "claim.lua", "and fill ~= ARGV[1] then", "then", lostClaim},
	{"a lease is renewed while the loader runs (C4)", "lease", "redis.call('PEXPIRE', KEYS[1], ARGV[2])",
		"redis.call('PTTL', KEYS[1])", slowLoad},
	{"a lease is given up by who has it", "lease", "not lease_held(KEYS[1], ARGV[1])", "false", othersLease},
	{"a failed load gives its lease up (C3)", "lease", "else redis.call('UNLINK', KEYS[1])",
		"else redis.call('PTTL', KEYS[1])", failedLoad},
	{"a value that is new already is not refreshed again", "claim.lua", "redis.call('PTTL', KEYS[1]) > tonumber(ARGV[4])",
		"false", refreshedAlready},
	{"absence is remembered", "claim.lua", "elseif fill == 'absent' then", "elseif false then", rememberedAbsence},
	{"what is absent now is not there any more", "fill.lua", "redis.call('UNLINK', KEYS[1], KEYS[2])",
		"redis.call('UNLINK', KEYS[2])", goneAtRefresh},
	{"a tag keeps what was stored since it was read", "tag_drop.lua",
		"tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or -1) == tonumber(ARGV[i + 1])", "true", taggedMeanwhile},
	{"a tag's score grows even when the TTL shrinks", "remember.lua", "fence_after(tonumber(old or 0), now + span)",
		"math.max(tonumber(old or 0), now + span)", taggedMeanwhile},
	{"a tag forgets the dead", "remember.lua", "redis.call('ZREM', w.key, unpack(dead))", "local kept = dead",
		deadMembers},
	{"a tag knows a load before it begins", "claim.lua", "remember(writes, KEYS[1])", "", taggedLoad},
	{"a refused key of a tag changes nothing and is named", "claim.lua", "if wrongTag then", "if false then", refusedTag},
	{"a refused key of a tag stores nothing and is named", "fill.lua",
		"wrong = plan(3, tonumber(ARGV[5]), KEYS[1])\nif wrong then",
		"wrong = plan(3, tonumber(ARGV[5]), KEYS[1])\nif false then", refusedTag},
	{"what has another type is not invalidated", "invalidate.lua", "if wrong then", "if false then", otherTypes},
	{"what has another type is not loaded again", "claim.lua", "if wrongValue then", "if false then", otherTypes},
	{"a value of another type is not overwritten", "fill.lua", "if wrongValue then", "if false then", otherTypes},
	{"a lease of another type is not deleted", "fill.lua", "if wrongFill then", "if false then", otherTypes},
	{"a refused key names itself", "asked.lua", "err = reply.err .. ' (key ' .. key .. ')'", "err = reply.err",
		refusedTag},
	{"a lease that never ends is none", "lease.lua", "if left < 0 then", "if false then", endlessLease},
	{"a version that was lost grows", "bump.lua", "fence_after(last, micros)", "fence_after(last, 0)", lostVersion},
	{"a version that is there is given as it is", "bump.lua", "elseif have and ARGV[2] == 'now' then",
		"elseif false then", lostVersion},
	{"a version is a number of this program", "bump.lua", "return redis.error_reply('FORM", "local kept = ('FORM",
		foreignVersion},
}

func TestGuards(t *testing.T) {
	for _, guard := range guards {
		t.Run(guard.name+"/with", func(t *testing.T) {
			for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
				t.Run(string(brand), func(t *testing.T) {
					t.Parallel()
					g := newStage(t, brand)
					g.s.WatchScripts()
					if err := guard.check(g); err != nil {
						t.Error(err)
					}
				})
			}
		})
		t.Run(guard.name+"/without", func(t *testing.T) {
			gate.Skip(t, "waits until a check has failed")
			g := newStage(t, keywrighttest.Redis)
			g.patience, g.lease = 2*time.Second, 2*time.Second
			restore, ok := cache.Mutate(guard.file, guard.old, guard.new)
			if !ok {
				t.Fatalf("%s has no single %q", guard.file, guard.old)
			}
			defer restore()
			if err := guard.check(g); err == nil {
				t.Error("the check does not notice that the guard is gone")
			}
		})
	}
}

func invalidatedLoad(g *stage) error {
	base := "old"
	v, err := g.item(g.a, cache.Options{}).GetOrLoad(g.ctx, func(ctx context.Context) (string, error) {
		got := base
		if base == "old" {
			base = "new"
			_, err := g.item(g.b, cache.Options{}).Invalidate(ctx)
			return got, err
		}
		return got, nil
	})
	return errors.Join(err, differs("value", v, "new"), differs("stored", g.s.Do("GET", "page:1"), any("new")))
}

// races lets readers fill and writers invalidate at once, many times over; what is
// stored in the end is what the base has, or nothing.
func races(g *stage, n int) error {
	caches := []*cache.Cache[string]{cache.New(keywright.Binding{Client: g.a, Entry: &page}, &text, cache.Options{}),
		cache.New(keywright.Binding{Client: g.b, Entry: &page}, &text, cache.Options{})}
	var stale atomic.Int64
	var failed atomic.Pointer[error]
	var workers sync.WaitGroup
	for worker := range 40 {
		workers.Go(func() {
			for round := range n / 40 {
				key := fmt.Sprintf("page:%d.%d", worker, round)
				if err := race(g, caches, key, worker+round, &stale); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return differs(fmt.Sprintf("stale values after %d races", n), stale.Load(), 0)
}

// race is one of them. In some of them the only reader is for certain loading
// while the writers invalidate: what it gives is old then, in any order.
func race(g *stage, caches []*cache.Cache[string], key string, seed int, stale *atomic.Int64) error {
	var base atomic.Int64
	readers := 2
	entered, written := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	load := func(context.Context) (string, error) { return fmt.Sprint(base.Load()), nil }
	if seed%8 == 0 {
		readers = 1
		load = func(context.Context) (string, error) {
			v := fmt.Sprint(base.Load())
			enter()
			<-written
			return v, nil
		}
	} else {
		enter()
	}
	var errs [3]error
	var both sync.WaitGroup
	for r := range readers {
		both.Go(func() { _, errs[r] = caches[r].Key(key, nil).GetOrLoad(g.ctx, load); enter() })
	}
	both.Go(func() {
		defer close(written)
		<-entered
		for range 1 + seed%3 {
			base.Add(1)
			if _, err := caches[seed%2].Key(key, nil).Invalidate(g.ctx); err != nil {
				errs[2] = err
			}
		}
	})
	both.Wait()
	v, err := caches[0].Key(key, nil).Get(g.ctx)
	if err == nil && v != fmt.Sprint(base.Load()) {
		stale.Add(1)
	}
	if err == keywright.ErrNotFound {
		err = nil
	}
	return errors.Join(append(errs[:], err)...)
}

func writtenLoad(g *stage) error {
	l := newBarrier("old", nil)
	done := make(chan error, 1)
	go func() { _, err := g.item(g.a, cache.Options{}).GetOrLoad(g.ctx, l.load); done <- err }()
	<-l.entered
	err := g.item(g.b, cache.Options{}).Set(g.ctx, "new")
	close(l.open)
	return errors.Join(err, <-done, differs("stored", g.s.Do("GET", "page:1"), any("new")))
}

func oneAtATime(g *stage) error {
	l := newBarrier("one", nil)
	results := make(chan error, 2)
	get := func(c *keywright.Client) {
		v, err := g.item(c, cache.Options{}).GetOrLoad(g.ctx, l.load)
		results <- errors.Join(err, differs("value", v, "one"))
	}
	go get(g.a)
	<-l.entered
	sent := make(chan struct{}, 1)
	go get(g.b)
	go l.waitSecond(g.s, sent)
	<-sent
	close(l.open)
	err := errors.Join(<-results, <-results)
	return errors.Join(err, differs("loads", l.n.Load(), 1))
}

// waitSecond says when the second caller has either begun to load or is waiting
// for the first: it reads fill to learn of its end.
func (g *barrier) waitSecond(s *keywrighttest.Server, sent chan<- struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for g.n.Load() < 2 && s.Info("tracking_total_keys") != "1" {
		<-tick.C
	}
	sent <- struct{}{}
}

func lostClaim(g *stage) error {
	ctx, cancel := context.WithTimeout(g.ctx, g.patience)
	defer cancel()
	i := g.item(g.proxied, cache.Options{Lease: time.Hour})
	if _, err := i.Get(ctx); err != keywright.ErrNotFound {
		return err
	}
	g.s.Do("SCRIPT", "FLUSH")
	g.proxy.LoseReplyTo("remember") // the text of the claim
	v, err := i.GetOrLoad(ctx, func(context.Context) (string, error) { return "one", nil })
	return errors.Join(err, differs("value", v, "one"), differs("a reply was lost", g.proxy.Lost(), true))
}

// slowLoad gives the lease a time by which a renewal is known, and looks when a
// second renewal begins: the first one has been done then.
func slowLoad(g *stage) error {
	l := newBarrier("one", nil)
	o := cache.Options{Lease: g.lease}
	done := make(chan error, 1)
	go func() {
		v, err := g.item(g.a, o).GetOrLoad(g.ctx, l.load)
		done <- errors.Join(err, differs("value", v, "one"))
	}()
	<-l.entered
	if g.s.Do("PEXPIRE", cache.FillKey("page:1"), "100000") != any(int64(1)) {
		return errors.New("there is no lease")
	}
	began := make(chan struct{}, 100)
	renews := func(string) { began <- struct{}{} }
	g.beforeOp.Store(&renews)
	<-began
	<-began
	g.beforeOp.Store(nil)
	left := g.s.Do("PTTL", cache.FillKey("page:1")).(int64)
	close(l.open)
	return errors.Join(<-done, differs("loads", l.n.Load(), 1),
		differs("renewed", left > 0 && left <= g.lease.Milliseconds(), true))
}

func othersLease(g *stage) error {
	broken := errors.New("broken")
	first, second := newBarrier("", broken), newBarrier("two", nil)
	one, two := make(chan error, 1), make(chan error, 1)
	go func() { _, err := g.item(g.a, cache.Options{}).GetOrLoad(g.ctx, first.load); one <- err }()
	<-first.entered
	go func() { _, err := g.item(g.b, cache.Options{}).Refresh(g.ctx, second.load); two <- err }()
	<-second.entered
	close(first.open)
	if err := <-one; !errors.Is(err, broken) {
		return err
	}
	held := g.s.Do("EXISTS", cache.FillKey("page:1"))
	close(second.open)
	return errors.Join(<-two, differs("the other's lease", held, any(int64(1))), differs("loads", second.n.Load(), 1))
}

func failedLoad(g *stage) error {
	_, err := g.item(g.a, cache.Options{Lease: time.Hour}).GetOrLoad(g.ctx,
		func(context.Context) (string, error) { return "", errors.New("broken") })
	if err == nil {
		return errors.New("no error")
	}
	return differs("fill", g.s.Do("EXISTS", cache.FillKey("page:1")), any(int64(0)))
}

func refreshedAlready(g *stage) error {
	a, b := g.item(g.a, cache.Options{}), g.item(g.b, cache.Options{})
	g.s.Do("SET", "page:1", "old", "PX", "5000")
	var l counter
	fresh := b.Renew(g.ctx, l.load("new"), 5000) && a.Renew(g.ctx, l.load("newer"), 5000)
	return errors.Join(differs("both found it new", fresh, true), differs("loads", l.n.Load(), 1),
		differs("stored", g.s.Do("GET", "page:1"), any("new")))
}

func rememberedAbsence(g *stage) error {
	var l counter
	for _, c := range []*keywright.Client{g.a, g.b} {
		_, err := g.item(c, cache.Options{Absent: time.Minute}).GetOrLoad(g.ctx, func(context.Context) (string, error) {
			l.n.Add(1)
			return "", keywright.ErrNotFound
		})
		if err != keywright.ErrNotFound {
			return fmt.Errorf("%v, want ErrNotFound", err)
		}
	}
	return differs("loads", l.n.Load(), 1)
}

func goneAtRefresh(g *stage) error {
	i := g.item(g.a, cache.Options{Absent: time.Minute})
	if err := i.Set(g.ctx, "old"); err != nil {
		return err
	}
	_, err := i.Refresh(g.ctx, func(context.Context) (string, error) { return "", keywright.ErrNotFound })
	return errors.Join(differs("refresh", err, keywright.ErrNotFound),
		differs("stored", g.s.Do("EXISTS", "page:1"), any(int64(0))))
}

// taggedMeanwhile stores a value again, with a shorter TTL, when InvalidateTag has
// deleted it and is about to take it out of the tag.
func taggedMeanwhile(g *stage) error {
	tag := typed.NewKey(keywright.Binding{Client: g.a, Entry: &tags, Key: "tag:red"})
	a, b := cache.New(keywright.Binding{Client: g.a, Entry: &page}, &text, cache.Options{}),
		g.item(g.b, cache.Options{}).Tagged(tag)
	if err := b.Set(g.ctx, "one", keywright.ExpiresIn(time.Hour)); err != nil {
		return err
	}
	var bad error
	once := func(op string) {
		if op == "tag drop" {
			g.beforeOp.Store(nil)
			bad = b.Set(g.ctx, "two", keywright.ExpiresIn(time.Minute))
		}
	}
	g.beforeOp.Store(&once)
	if _, err := a.InvalidateTag(g.ctx, tag); err != nil {
		return err
	}
	if g.beforeOp.Load() != nil {
		return errors.New("nothing was stored in between: this shows nothing")
	}
	n, err := a.InvalidateTag(g.ctx, tag)
	return errors.Join(bad, err, differs("keys that the tag still knows", n, 1))
}

func deadMembers(g *stage) error {
	tag := typed.NewKey(keywright.Binding{Client: g.a, Entry: &tags, Key: "tag:red"})
	for n := range 100 {
		g.s.Do("ZADD", "tag:red", "1700000000000000", fmt.Sprint("page:dead:", n))
	}
	for n := range 10 {
		_, err := cache.New(keywright.Binding{Client: g.a, Entry: &page}, &text,
			cache.Options{}).Key(fmt.Sprint("page:", n), nil).Tagged(tag).GetOrLoad(g.ctx,
			func(context.Context) (string, error) { return "x", nil })
		if err != nil {
			return err
		}
	}
	return differs("members", g.s.Do("ZCARD", "tag:red"), any(int64(10)))
}

func taggedLoad(g *stage) error {
	tag := typed.NewKey(keywright.Binding{Client: g.a, Entry: &tags, Key: "tag:red"})
	base := "old"
	v, err := g.item(g.a, cache.Options{}).Tagged(tag).GetOrLoad(g.ctx, func(ctx context.Context) (string, error) {
		got := base
		if base == "old" {
			base = "new"
			_, err := cache.New(keywright.Binding{Client: g.b, Entry: &page}, &text, cache.Options{}).InvalidateTag(ctx, tag)
			return got, err
		}
		return got, nil
	})
	return errors.Join(err, differs("value", v, "new"), differs("stored", g.s.Do("GET", "page:1"), any("new")))
}

// TestRefreshes that overtake each other give values that were loaded after the
// call, and the last one is stored.
func TestRefreshes(t *testing.T) {
	t.Parallel()
	g := newStage(t, keywrighttest.Redis)
	a, b := g.item(g.a, cache.Options{}), g.item(g.b, cache.Options{})
	must(t, a.Set(g.ctx, "old"))
	broken := errors.New("broken")
	first, second := newBarrier("first", nil), newBarrier("", broken)
	one, two := make(chan error, 1), make(chan error, 1)
	go func() {
		v, err := a.Refresh(g.ctx, first.load)
		one <- errors.Join(err, differs("refreshed", v, "first"))
	}()
	<-first.entered
	go func() { _, err := b.Refresh(g.ctx, second.load); two <- err }()
	<-second.entered
	close(first.open) // refused: it waits for the second, which fails
	close(second.open)
	if err := <-two; !errors.Is(err, broken) {
		t.Error(err)
	}
	must(t, <-one)
	expect.Equal(t, "stored", g.s.Do("GET", "page:1"), any("first"))
}

var must = expect.NoError

// TestEvents: what a generated function of an event queues makes a load void.
func TestEvents(t *testing.T) {
	t.Parallel()
	g := newStage(t, keywrighttest.Redis)
	base := "old"
	v, err := g.item(g.a, cache.Options{}).GetOrLoad(g.ctx, func(ctx context.Context) (string, error) {
		got := base
		if base == "old" {
			base = "new"
			return got,
				kernel.DoAll(ctx,
					cache.LaterInvalidate(g.b, typed.NewKey(keywright.Binding{Client: g.b, Entry: &page, Key: "page:1"})),
					cache.LaterInvalidate(g.b, typed.NewKey(keywright.Binding{Client: g.b, Entry: &page, Key: "page:2"})))
		}
		return got, nil
	})
	must(t, err)
	expect.Equal(t, "value", v, "new")
	var b keywright.Batch
	was := keywright.Queue(&b, g.item(g.a, cache.Options{}).LaterInvalidate())
	keywright.Queue(&b, g.item(g.a, cache.Options{}).LaterSet("newer"))
	must(t, b.Run(g.ctx))
	if yes, err := was.Result(); !yes || err != nil {
		t.Errorf("invalidated: %t, %v", yes, err)
	}
	expect.Equal(t, "stored", g.s.Do("GET", "page:1"), any("newer"))
}

// TestRaces is C2 at length: many races of fill against invalidation.
func TestRaces(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			if err := races(newStage(t, brand), gate.Count(t, "KEYWRIGHT_SOAK", 800, 10_000)); err != nil {
				t.Error(err)
			}
		})
	}
}
