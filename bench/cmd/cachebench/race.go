package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	peer "github.com/go-redis/cache/v9"
	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/value"
	"github.com/maypok86/otter/v2"
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

// field represents the server, and what reads from it.
type field struct {
	*harness.Program
	harness.Clients
	server *live.Server

	plain, local, tiered *cache.Cache[string]
	peer, peerLocal      *peer.Cache
	otter                *otter.Cache[string, string]
}

func (f *field) open(ctx context.Context, server string) (err error) {
	if f.server, f.Clients, err = f.Connect(ctx, server, 0); err != nil {
		return err
	}
	tier, err := newOtterTier[string](2 * population)
	if err != nil {
		return err
	}
	if f.otter, err = otter.New(&otter.Options[string, string]{MaximumSize: 2 * population}); err != nil {
		return err
	}
	binding := keywright.Binding{Client: f.Client, Entry: &entry}
	f.plain = cache.New(binding, &text, cache.Options{})
	f.local = cache.New(binding, &text, cache.Options{Local: time.Hour})
	f.tiered = cache.New(binding, &text, cache.Options{Local: time.Hour}).Use(tier)
	f.peer = peer.New(&peer.Options{Redis: f.GoRedis})
	f.peerLocal = peer.New(&peer.Options{Redis: f.GoRedis, LocalCache: peer.NewTinyLFU(2*population, time.Hour)})
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
	part, name string
	bound      float64
	all        []turns.Contestant
}

func (f *field) races() []race {
	const n = population
	doCache := turns.Among("rueidis DoCache", n, func(ctx context.Context, n int) error {
		return turns.Err(f.Raw.DoCache(ctx, f.Raw.B().Get().Key(keys[n]).Cache(), time.Hour).ToString())
	})
	return []race{
		{"server", "Hit from the server", 0.95, []turns.Contestant{
			ours("keywright", &f.plain),
			turns.Among("rueidis GET", n, func(ctx context.Context, n int) error {
				return turns.Err(f.Raw.Do(ctx, f.Raw.B().Get().Key(keys[n]).Build()).ToString())
			}),
			theirs("go-redis/cache", &f.peer)}},
		{"tracked", "Tracked hit in the process", 0.9, []turns.Contestant{ours("keywright, Local", &f.local), doCache,
			theirs("go-redis/cache, TinyLFU", &f.peerLocal)}},
		{"tier", "Hit in a tier of otter", 2.5, []turns.Contestant{ours("keywright, otter tier", &f.tiered), doCache,
			turns.Among("otter alone, without invalidation", n, func(_ context.Context, n int) error {
				if _, ok := f.otter.GetIfPresent(keys[n]); !ok {
					return errors.New("not there")
				}
				return nil
			})}},
	}
}

func ours(name string, c **cache.Cache[string]) turns.Contestant {
	none := func(context.Context) (string, error) { return "", errors.New("a hit has called the loader") }
	return turns.Among(name, population, func(ctx context.Context, n int) error {
		return turns.Err((*c).Key(keys[n], nil).GetOrLoad(ctx, none))
	})
}

func theirs(name string, c **peer.Cache) turns.Contestant {
	return turns.Among(name, population, func(ctx context.Context, n int) error {
		var v string
		return (*c).Get(ctx, peers[n], &v)
	})
}

// race lets the contestants run in turns, at each number of goroutines.
func (f *field) race(ctx context.Context, out *report.Report, r race) error {
	for _, who := range r.all {
		for n := range population { // what is kept in the process is there
			if err := who.Do(ctx, 0, n); err != nil {
				return err
			}
		}
	}
	goal := turns.Goal{What: r.name + " @%d, keywright ÷ " + r.all[1].Name, By: 1, Bound: r.bound}
	return turns.Race{Title: r.name + ", per second", All: r.all, Callers: turns.Callers, By: 1,
		Goals: []turns.Goal{goal}}.Show(ctx, out, f.Rounds, f.Slice)
}
