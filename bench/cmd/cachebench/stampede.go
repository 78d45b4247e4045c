package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	peer "github.com/go-redis/cache/v9"
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/cache"
	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const (
	processes = 4
	readers   = 1000
)

// herd is get-or-load of one client.
type herd func(ctx context.Context, key string, load func() (string, error)) (string, error)

// opener makes a herd with a connection of its own, as a process has it.
type opener func(ctx context.Context, addr string) (herd, func(), error)

type breed struct {
	name string
	open opener
}

func (b breed) String() string { return b.name }

var breeds = []breed{
	{"keywright", func(ctx context.Context, addr string) (herd, func(), error) {
		c, err := keywright.Open(ctx, "redis://"+addr, keywright.Options{})
		if err != nil {
			return nil, nil, err
		}
		x := cache.New(keywright.Binding{Client: c, Entry: &entry}, &text, cache.Options{})
		return func(ctx context.Context, key string, load func() (string, error)) (string, error) {
			return x.Key(key, nil).GetOrLoad(ctx, func(context.Context) (string, error) { return load() })
		}, c.Close, nil
	}},
	{"go-redis/cache Once", func(_ context.Context, addr string) (herd, func(), error) {
		c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 128})
		x := peer.New(&peer.Options{Redis: c})
		return func(ctx context.Context, key string, load func() (string, error)) (v string, err error) {
			err = x.Once(
				&peer.Item{Ctx: ctx, Key: key, Value: &v, TTL: time.Hour, Do: func(*peer.Item) (any, error) { return load() }})
			return v, err
		}, func() { c.Close() }, nil
	}},
	{"otter loader", func(context.Context, string) (herd, func(), error) {
		x, err := otter.New(&otter.Options[string, string]{MaximumSize: 100})
		return func(ctx context.Context, key string, load func() (string, error)) (string, error) {
			return x.Get(ctx, key,
				otter.LoaderFunc[string, string](func(context.Context, string) (string, error) { return load() }))
		}, func() {}, err
	}},
	{"rueidis by hand: GET, load, SET", func(_ context.Context, addr string) (herd, func(), error) {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, key string, load func() (string, error)) (string, error) {
			v, err := c.Do(ctx, c.B().Get().Key(key).Build()).ToString()
			if err == nil {
				return v, nil
			}
			if v, err = load(); err != nil {
				return "", err
			}
			return v, c.Do(ctx, c.B().Set().Key(key).Value(v).ExSeconds(3600).Build()).Error()
		}, c.Close, nil
	}},
}

// rush represents one time that all callers want a cold key.
type rush struct{ loads, ms float64 }

func (f *field) stampedes(ctx context.Context, out *report.Report) error {
	const rounds = 5
	turn := 0
	loads := func(r rush) float64 { return r.loads }
	return turns.Compare(out, fmt.Sprintf("A cold key: %d callers of %d clients, a loader of 20 ms, %d times", readers,
		processes, rounds), rounds, breeds, func(b breed) (rush, error) {
		turn++
		return stampede(ctx, f.server.Addr, fmt.Sprintf("cache:page:cold:%d", turn), b.open)
	}, turns.List("loads each time", "%.0f", loads), turns.Most("most", "%.0f", loads).AtMost(1, "loads of a cold key"),
		turns.Median("all served, median ms", "%.0f", func(r rush) float64 { return r.ms }))
}

func stampede(ctx context.Context, addr, key string, open opener) (r rush, err error) {
	var loads atomic.Int64
	load := func() (string, error) {
		loads.Add(1)
		time.Sleep(20 * time.Millisecond)
		return page, nil
	}
	var herds [processes]herd
	for i := range herds {
		get, leave, err := open(ctx, addr)
		if err != nil {
			return r, err
		}
		defer leave()
		herds[i] = get
	}
	began := time.Now()
	err = turns.Each(readers, readers, func(_, i int) error {
		v, err := herds[i%processes](ctx, key, load)
		if err == nil && v != page {
			err = fmt.Errorf("%d bytes instead of %d", len(v), len(page))
		}
		return err
	})
	return rush{float64(loads.Load()), time.Since(began).Seconds() * 1000}, err
}
