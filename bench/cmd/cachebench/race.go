package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	peer "github.com/go-redis/cache/v9"
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/value"
	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// population says how many keys there are.
const population = 10_000

var (
	page  = strings.Repeat("x", 256)
	text  = value.Text(0)
	entry = keywright.Entry{Name: "page", Pattern: "cache:page:{id}", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Hour, Min: time.Hour, Max: time.Hour, Text: "1h"}}
	keys  = names("cache:page:")
	peers = names("peer:page:") // go-redis/cache has a format of its own
)

func names(prefix string) []string {
	out := make([]string, population)
	for i := range out {
		out[i] = prefix + strconv.Itoa(i)
	}
	return out
}

// field represents the clients, connected.
type field struct {
	raw     rueidis.Client
	client  *keywright.Client
	goRedis *redis.Client

	plain, local, tiered *cache.Cache[string]
	peer, peerLocal      *peer.Cache
	otter                *otter.Cache[string, string]
}

func enter(ctx context.Context, addr string) (*field, error) {
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableRetry: true})
	if err != nil {
		return nil, err
	}
	client, err := keywright.Open(ctx, "redis://"+addr, keywright.Options{})
	if err != nil {
		return nil, err
	}
	tier, err := newOtterTier[string](2 * population)
	if err != nil {
		return nil, err
	}
	alone, err := otter.New(&otter.Options[string, string]{MaximumSize: 2 * population})
	if err != nil {
		return nil, err
	}
	f := &field{raw: raw, client: client, otter: alone,
		goRedis: redis.NewClient(&redis.Options{Addr: addr, PoolSize: 128, MaxRetries: -1})}
	f.plain = cache.New(keywright.Binding{Client: client, Entry: &entry}, &text, cache.Options{})
	f.local = cache.New(keywright.Binding{Client: client, Entry: &entry}, &text, cache.Options{Local: time.Hour})
	f.tiered = cache.New(keywright.Binding{Client: client, Entry: &entry}, &text,
		cache.Options{Local: time.Hour}).Use(tier)
	f.peer = peer.New(&peer.Options{Redis: f.goRedis})
	f.peerLocal = peer.New(&peer.Options{Redis: f.goRedis, LocalCache: peer.NewTinyLFU(2*population, time.Hour)})
	return f, nil
}

func (f *field) close() {
	f.raw.Close()
	f.client.Close()
	f.goRedis.Close()
}

func (f *field) fill(ctx context.Context) error {
	for n := range population {
		f.otter.Set(keys[n], page)
		if err := errors.Join(f.plain.Key(keys[n], nil).Set(ctx, page),
			f.peer.Set(&peer.Item{Ctx: ctx, Key: peers[n], Value: page, TTL: time.Hour})); err != nil {
			return err
		}
	}
	return nil
}

// race represents one kind of hit, by each contestant in its own way. The first is ours,
// the second what it is measured by.
type race struct {
	name       string
	bound      float64
	contestant []contestant
}

type contestant struct {
	name string
	do   func(ctx context.Context, f *field, n int) error
}

func noLoad(context.Context) (string, error) { return "", errors.New("a hit has called the loader") }

func second[T any](_ T, err error) error { return err }

func doCache(ctx context.Context, f *field, n int) error {
	return second(f.raw.DoCache(ctx, f.raw.B().Get().Key(keys[n]).Cache(), time.Hour).ToString())
}

func theirs(name string, of func(f *field) *peer.Cache) contestant {
	return contestant{name, func(ctx context.Context, f *field, n int) error {
		var v string
		return of(f).Get(ctx, peers[n], &v)
	}}
}

var races = []race{
	{"Hit from the server", 0.95, []contestant{
		{"keywright", func(ctx context.Context, f *field, n int) error {
			return second(f.plain.Key(keys[n], nil).GetOrLoad(ctx, noLoad))
		}},
		{"rueidis GET", func(ctx context.Context, f *field, n int) error {
			return second(f.raw.Do(ctx, f.raw.B().Get().Key(keys[n]).Build()).ToString())
		}},
		theirs("go-redis/cache", func(f *field) *peer.Cache { return f.peer }),
	}},
	{"Tracked hit in the process", 0.9, []contestant{
		{"keywright, Local", func(ctx context.Context, f *field, n int) error {
			return second(f.local.Key(keys[n], nil).GetOrLoad(ctx, noLoad))
		}},
		{"rueidis DoCache", doCache},
		theirs("go-redis/cache, TinyLFU", func(f *field) *peer.Cache { return f.peerLocal }),
	}},
	{"Hit in a tier of otter", 2.5, []contestant{
		{"keywright, otter tier", func(ctx context.Context, f *field, n int) error {
			return second(f.tiered.Key(keys[n], nil).GetOrLoad(ctx, noLoad))
		}},
		{"rueidis DoCache", doCache},
		{"otter alone, without invalidation", func(_ context.Context, f *field, n int) error {
			if _, ok := f.otter.GetIfPresent(keys[n]); !ok {
				return errors.New("not there")
			}
			return nil
		}},
	}},
}

// callers lists the numbers of goroutines.
var callers = []int{1, 16, 128}

// race lets the contestants run in turns, at each number of goroutines.
func (f *field) race(ctx context.Context, r race, settings options) (report.Table, []report.Goal, error) {
	all := make([]turns.Contestant, len(r.contestant))
	for i, who := range r.contestant {
		for n := range population { // what is kept in the process is there
			if err := who.do(ctx, f, n); err != nil {
				return report.Table{}, nil, err
			}
		}
		all[i] = turns.Contestant{Name: who.name, Do: func(ctx context.Context, goroutine, n int) error {
			return who.do(ctx, f, (goroutine*7919+n)%population)
		}}
	}
	rates, err := turns.Race(ctx, all, callers, settings.rounds, settings.slice)
	if err != nil {
		return report.Table{}, nil, err
	}
	var goals []report.Goal
	for _, n := range callers {
		goals = append(goals, report.Goal{What: fmt.Sprintf("%s @%d, keywright ÷ %s", r.name, n, all[1].Name),
			Value: rates.Ratio(0, 1, n), Bound: r.bound, AtLeast: true})
	}
	return rates.Table(r.name+", per second", 1), goals, nil
}
