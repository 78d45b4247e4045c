package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	peer "github.com/go-redis/cache/v9"
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/cache"
	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const (
	clients = 4
	readers = 1000
)

// herd is get-or-load of one client.
type herd func(ctx context.Context, key string, load func() (string, error)) (string, error)

// breeds make a herd with a connection of its own, as a process has it.
var breeds = []struct {
	name string
	make func(ctx context.Context, addr string) (herd, func(), error)
}{
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

func stampedes(ctx context.Context, addr string, rounds int) (report.Table, []report.Goal, error) {
	t := report.Table{Title: fmt.Sprintf("A cold key: %d callers of %d clients, a loader of 20 ms, %d times", readers,
		clients, rounds), Columns: []string{"contestant", "loads each time", "most", "all served, median ms"}}
	var goals []report.Goal
	for b, breed := range breeds {
		var took []float64
		counts, most := "", int64(0)
		for round := range rounds {
			loads, elapsed, err := stampede(ctx, addr, fmt.Sprintf("cache:page:cold:%d:%d", b, round), breed.make)
			if err != nil {
				return t, goals, fmt.Errorf("%s: %w", breed.name, err)
			}
			took, most = append(took, elapsed.Seconds()*1000), max(most, loads)
			counts += fmt.Sprint(loads, " ")
		}
		t.Add(breed.name, counts, most, fmt.Sprintf("%.0f", report.Median(took)))
		if b == 0 {
			goals = append(goals, report.Goal{What: "loads of a cold key", Value: float64(most), Bound: 1})
		}
	}
	return t, goals, nil
}

func stampede(ctx context.Context, addr, key string, breed func(context.Context, string) (herd, func(), error)) (int64,
	time.Duration, error) {
	var loads atomic.Int64
	var failed atomic.Pointer[error]
	load := func() (string, error) {
		loads.Add(1)
		time.Sleep(20 * time.Millisecond)
		return page, nil
	}
	start := make(chan struct{})
	var all sync.WaitGroup
	for range clients {
		get, leave, err := breed(ctx, addr)
		if err != nil {
			return 0, 0, err
		}
		defer leave()
		for range readers / clients {
			all.Go(func() {
				<-start
				if v, err := get(ctx, key, load); err != nil {
					failed.Store(&err)
				} else if v != page {
					err = fmt.Errorf("%d bytes instead of %d", len(v), len(page))
					failed.Store(&err)
				}
			})
		}
	}
	began := time.Now()
	close(start)
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	return loads.Load(), time.Since(began), nil
}
