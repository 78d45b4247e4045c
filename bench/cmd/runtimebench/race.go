package main

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/benchkeys"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// population says how many keys there are of each kind.
const population = 10_000

var page = strings.Repeat("x", 256)

// field represents the server, and what reads and writes.
type field struct {
	*harness.Program
	harness.Clients
	keys    *benchkeys.Keyspace
	guarded *benchkeys.Keyspace
}

func (f *field) open(ctx context.Context, binary string) error {
	server, c, err := f.Connect(ctx, binary, 0)
	if err != nil {
		return err
	}
	f.Clients = c
	ks, err := harness.Declared(benchkeys.Declaration)
	if err != nil {
		return err
	}
	g, err := guard.New(ks, guard.Options{})
	if err != nil {
		return err
	}
	guarded, err := keywright.Open(ctx, server.URL(), keywright.Options{Wrap: g.Wrap})
	if err != nil {
		return err
	}
	f.Cleanup(guarded.Close)
	f.keys, f.guarded = benchkeys.New(f.Client), benchkeys.New(guarded)
	return f.fill(ctx)
}

func (f *field) fill(ctx context.Context) error {
	moment := time.UnixMilli(1_795_167_000_000)
	for id := int64(1); id <= population; id++ {
		p := benchkeys.PersonValue{Name: "somebody", Mail: "somebody@example.com", Age: 42, Seen: moment, Score: 1.5,
			Active: true}
		if err := errors.Join(f.keys.Page(id).Set(page).Do(ctx), f.keys.Person(id).Set(p).Do(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// op represents one operation, as generated code has it and by hand.
type op struct {
	name      string
	generated func(ctx context.Context, k *benchkeys.Keyspace, id int64) error
	rueidis   func(ctx context.Context, c rueidis.Client, id int64) error
	goRedis   func(ctx context.Context, c *redis.Client, id int64) error
}

func pageKey(id int64) string   { return "cache:page:" + strconv.FormatInt(id, 10) }
func personKey(id int64) string { return "bench:person:" + strconv.FormatInt(id, 10) }

// person describes what a program by hand makes of a hash.
type person struct {
	name, mail string
	age, seen  int64
	score      float64
	active     bool
}

func personOf(m map[string]string) (p person, err error) {
	var e1, e2, e3, e4 error
	p.name, p.mail = m["name"], m["mail"]
	p.age, e1 = strconv.ParseInt(m["age"], 10, 64)
	p.seen, e2 = strconv.ParseInt(m["seen"], 10, 64)
	p.score, e3 = strconv.ParseFloat(m["score"], 64)
	p.active, e4 = strconv.ParseBool(m["active"])
	return p, errors.Join(e1, e2, e3, e4)
}

var ops = []op{
	{"Get", func(ctx context.Context, k *benchkeys.Keyspace, id int64) error {
		return turns.Err(k.Page(id).Get().Do(ctx))
	}, func(ctx context.Context, c rueidis.Client, id int64) error {
		return turns.Err(c.Do(ctx, c.B().Get().Key(pageKey(id)).Build()).ToString())
	}, func(ctx context.Context, c *redis.Client, id int64) error {
		return turns.Err(c.Get(ctx, pageKey(id)).Result())
	}},
	{"Set", func(ctx context.Context, k *benchkeys.Keyspace, id int64) error {
		return k.Page(id).Set(page).Do(ctx)
	}, func(ctx context.Context, c rueidis.Client, id int64) error {
		return c.Do(ctx, c.B().Set().Key(pageKey(id)).Value(page).ExSeconds(60).Build()).Error()
	}, func(ctx context.Context, c *redis.Client, id int64) error {
		return c.Set(ctx, pageKey(id), page, time.Minute).Err()
	}},
	{"HGetAll", func(ctx context.Context, k *benchkeys.Keyspace, id int64) error {
		return turns.Err(k.Person(id).Get().Do(ctx))
	}, func(ctx context.Context, c rueidis.Client, id int64) error {
		m, err := c.Do(ctx, c.B().Hgetall().Key(personKey(id)).Build()).AsStrMap()
		return cmp.Or(err, turns.Err(personOf(m)))
	}, func(ctx context.Context, c *redis.Client, id int64) error {
		m, err := c.HGetAll(ctx, personKey(id)).Result()
		return cmp.Or(err, turns.Err(personOf(m)))
	}},
}

// race compares keywright (0) with rueidis (1) and go-redis (2), and the guarded client (3) with the plain one.
func (f *field) race(o op) turns.Race {
	among := func(name string, do func(ctx context.Context, id int64) error) turns.Contestant {
		return turns.Among(name, population, func(ctx context.Context, n int) error { return do(ctx, int64(n)+1) })
	}
	return turns.Race{Title: o.name + ", operations/s", Callers: turns.Callers, By: 1, All: []turns.Contestant{
		among("keywright", func(ctx context.Context, id int64) error { return o.generated(ctx, f.keys, id) }),
		among("rueidis", func(ctx context.Context, id int64) error { return o.rueidis(ctx, f.Raw, id) }),
		among("go-redis", func(ctx context.Context, id int64) error { return o.goRedis(ctx, f.GoRedis, id) }),
		among("keywright, guarded", func(ctx context.Context, id int64) error { return o.generated(ctx, f.guarded, id) }),
	}, Goals: []turns.Goal{
		{What: o.name + " @%d, keywright ÷ rueidis", By: 1, Bound: 0.95},
		{What: o.name + " @%d, keywright ÷ go-redis", By: 2, Bound: 1.5, Callers: []int{128}},
		{What: o.name + " @%d, guarded ÷ not", Of: 3, Bound: 0.7}}}
}
