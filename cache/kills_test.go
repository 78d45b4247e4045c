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
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/harm"
	"github.com/keywright/keywright/typed"
)

// pages say how many items are read and written while processes are killed.
const pages = 4

// books represents a cache of what is counted in other keys of the server, as a database would.
type books struct {
	c     *keywright.Client
	items [pages]cache.Item[string]
	tag   typed.Key
	cache *cache.Cache[string]
	v     cache.Version
}

func newBooks(c *keywright.Client) *books {
	b := &books{c: c,
		cache: cache.New(keywright.Binding{Client: c, Entry: &page}, &text,
			cache.Options{Lease: 300 * time.Millisecond})}
	b.tag = typed.NewKey(keywright.Binding{Client: c, Entry: &tags, Key: "{s}:tag"})
	for n := range b.items {
		b.items[n] = b.cache.Key(fmt.Sprint("{s}:page:", n), nil)
		if n%2 == 1 {
			b.items[n] = b.items[n].Tagged(b.tag)
		}
	}
	b.v = cache.NewVersion(c, typed.NewKey(keywright.Binding{Client: c, Entry: &tags, Key: "{s}:version"}))
	return b
}

// acked has for each page the newest number of which no reader may see an older one.
const acked = "{s}:acked"

func source(n int) string { return fmt.Sprint("{s}:source:", n) }

func (b *books) load(n int) cache.Loader[string] {
	return func(ctx context.Context) (string, error) {
		raw := b.c.Raw()
		text, err := raw.Do(ctx, raw.B().Get().Key(source(n)).Build()).ToString()
		for range 3 { // what it has read may be old by now
			err = errors.Join(err, raw.Do(ctx, raw.B().Exists().Key(source(n)).Build()).Error())
		}
		return text, err
	}
}

// write counts the source of an item, and invalidates the item until that is acknowledged.
func (b *books) write(ctx context.Context, w *harm.Worker, n int) {
	raw, number := b.c.Raw(), int64(0)
	if !w.Until(ctx, func() (err error) {
		number, err = raw.Do(ctx, raw.B().Incr().Key(source(n)).Build()).AsInt64()
		return err
	}) {
		return
	}
	if w.Until(ctx, func() (err error) {
		if n%2 == 1 {
			_, err = b.cache.InvalidateTag(ctx, b.tag)
		} else {
			_, err = b.items[n].Invalidate(ctx)
		}
		return err
	}) {
		w.Say("done", n, number)
		_ = raw.Do(ctx,
			raw.B().Zadd().Key(acked).Gt().ScoreMember().ScoreMember(float64(number), fmt.Sprint(n)).Build()).Error()
	}
}

// read says when it was given what was invalidated before.
func (b *books) read(ctx context.Context, w *harm.Worker, n int) {
	raw := b.c.Raw()
	least, err := raw.Do(ctx, raw.B().Zscore().Key(acked).Member(fmt.Sprint(n)).Build()).AsFloat64()
	if err != nil {
		return
	}
	got, err := b.items[n].GetOrLoad(ctx, b.load(n))
	if number, _ := strconv.ParseInt(got, 10, 64); err == nil && number < int64(least) {
		w.Say("stale", n, number, "of", least)
	}
}

// TestHarmedProcess is no test: it is a process that reads, writes and invalidates.
func TestHarmedProcess(t *testing.T) {
	harm.Work(t, func(ctx context.Context, w *harm.Worker) {
		var c *keywright.Client
		if !w.Until(ctx, func() (err error) { c, err = keywright.Open(ctx, w.URL, keywright.Options{}); return err }) {
			return
		}
		defer c.Close()
		b := newBooks(c)
		var all sync.WaitGroup
		for n := range pages {
			all.Go(func() {
				for ctx.Err() == nil {
					b.write(ctx, w, n)
				}
			})
			all.Go(func() {
				for ctx.Err() == nil {
					b.read(ctx, w, n)
				}
			})
		}
		all.Go(func() {
			for ctx.Err() == nil {
				if v, err := b.v.Bump(ctx); err == nil {
					w.Say("bumped", v)
				}
			}
		})
		all.Wait()
	})
}

// stale returns what of a cache is older than it was.
func stale(t *testing.T, s *harm.Side) (wrong []string) {
	b, newest := newBooks(open(t, s.URL, keywright.Options{})), [pages]int{}
	for _, line := range s.Lines("done") {
		var n, number int
		_, err := fmt.Sscan(line, &n, &number)
		if err == nil {
			newest[n] = max(newest[n], number)
		}
	}
	for n, want := range newest {
		got, err := b.items[n].GetOrLoad(t.Context(), b.load(n))
		if number, _ := strconv.Atoi(got); err != nil || number < want {
			wrong = append(wrong, fmt.Sprintf("page %d is of %q, %v; %d was acknowledged", n, got, err, want))
		}
	}
	for _, line := range s.Lines("stale") {
		wrong = append(wrong, "a reader got of page "+line)
	}
	bumped, last := map[string]bool{}, int64(0)
	for _, v := range s.Lines("bumped") {
		if bumped[v] {
			wrong = append(wrong, "the version is twice "+v)
		}
		bumped[v] = true
		number, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		last = max(last, number)
	}
	if now, err := b.v.Bump(t.Context()); err != nil || now <= last {
		wrong = append(wrong, fmt.Sprintf("the version is %d, %v, and was %d", now, err, last))
	}
	t.Logf("%d of %d invalidations and %d versions are lost", len(wrong), len(s.Lines("done")), len(bumped))
	return wrong
}

// TestKills: whatever happens while the processes that read and write are killed, 0
// invalidations are lost, and no version comes twice.
func TestKills(t *testing.T) {
	gate.Skip(t, "24 processes are killed")
	t.Parallel()
	harm.Run(t, harm.Suite{Process: "TestHarmedProcess", Key: "{s}:tag", Wrong: stale,
		Begin: func(t *testing.T, s *harm.Side, backlog int) {
			b := newBooks(open(t, s.URL, keywright.Options{}))
			raw := b.c.Raw()
			for n := range pages {
				if err := raw.Do(t.Context(), raw.B().Set().Key(source(n)).Value("0").Build()).Error(); err != nil {
					t.Fatal(err)
				}
				if _, err := b.items[n].GetOrLoad(t.Context(), b.load(n)); err != nil {
					t.Fatal(err)
				}
			}
			for from := 0; from < backlog; from += 500 { // in a tag, as many items that are not there
				add := raw.B().Zadd().Key("{s}:tag").ScoreMember()
				for i := from; i < from+500; i++ {
					add = add.ScoreMember(9e12, fmt.Sprint("{s}:page:old", i))
				}
				if err := raw.Do(t.Context(), add.Build()).Error(); err != nil {
					t.Fatal(err)
				}
			}
		}})
}
