package main

import (
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/benchkeys"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
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
	g, err := newGuard()
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

func newGuard() (*guard.Guard, error) {
	var files fs.FS = fstest.MapFS{"keyspace.yaml": {Data: benchkeys.Declaration}}
	ks, found := load.File(files, "keyspace.yaml")
	if c := finding.Count(found); c.Errors > 0 {
		return nil, errors.New(found[0].Message)
	}
	return guard.New(ks, guard.Options{})
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

// op represents one operation, done by each contestant in its own way.
type op struct {
	name       string
	contestant []contestant
}

type contestant struct {
	name string
	do   func(ctx context.Context, f *field, id int64) error
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
	{"Get", []contestant{
		{"keywright", func(ctx context.Context, f *field, id int64) error {
			return turns.Err(f.keys.Page(id).Get().Do(ctx))
		}},
		{"rueidis", func(ctx context.Context, f *field, id int64) error {
			return turns.Err(f.Raw.Do(ctx, f.Raw.B().Get().Key(pageKey(id)).Build()).ToString())
		}},
		{"go-redis", func(ctx context.Context, f *field, id int64) error {
			return turns.Err(f.GoRedis.Get(ctx, pageKey(id)).Result())
		}},
		{"keywright, guarded",
			func(ctx context.Context, f *field, id int64) error {
				return turns.Err(f.guarded.Page(id).Get().Do(ctx))
			}},
	}},
	{"Set", []contestant{
		{"keywright", func(ctx context.Context, f *field, id int64) error { return f.keys.Page(id).Set(page).Do(ctx) }},
		{"rueidis", func(ctx context.Context, f *field, id int64) error {
			return f.Raw.Do(ctx, f.Raw.B().Set().Key(pageKey(id)).Value(page).ExSeconds(60).Build()).Error()
		}},
		{"go-redis", func(ctx context.Context, f *field, id int64) error {
			return f.GoRedis.Set(ctx, pageKey(id), page, time.Minute).Err()
		}},
		{"keywright, guarded",
			func(ctx context.Context, f *field, id int64) error { return f.guarded.Page(id).Set(page).Do(ctx) }},
	}},
	{"HGetAll", []contestant{
		{"keywright",
			func(ctx context.Context, f *field, id int64) error {
				return turns.Err(f.keys.Person(id).Get().Do(ctx))
			}},
		{"rueidis", func(ctx context.Context, f *field, id int64) error {
			m, err := f.Raw.Do(ctx, f.Raw.B().Hgetall().Key(personKey(id)).Build()).AsStrMap()
			if err != nil {
				return err
			}
			return turns.Err(personOf(m))
		}},
		{"go-redis", func(ctx context.Context, f *field, id int64) error {
			m, err := f.GoRedis.HGetAll(ctx, personKey(id)).Result()
			if err != nil {
				return err
			}
			return turns.Err(personOf(m))
		}},
		{"keywright, guarded", func(ctx context.Context, f *field, id int64) error {
			return turns.Err(f.guarded.Person(id).Get().Do(ctx))
		}},
	}},
}

// race compares keywright (0) with rueidis (1) and go-redis (2), and the guarded client (3) with the plain one.
func (f *field) race(o op) turns.Race {
	race := turns.Race{Title: o.name + ", operations/s", Callers: turns.Callers, By: 1, Goals: []turns.Goal{
		{What: o.name + " @%d, keywright ÷ rueidis", By: 1, Bound: 0.95},
		{What: o.name + " @%d, keywright ÷ go-redis", By: 2, Bound: 1.5, Callers: []int{128}},
		{What: o.name + " @%d, guarded ÷ not", Of: 3, Bound: 0.7}}}
	for _, who := range o.contestant {
		race.All = append(race.All, turns.Contestant{Name: who.name, Do: func(ctx context.Context, goroutine, n int) error {
			return who.do(ctx, f, int64(goroutine*7919+n)%population+1)
		}})
	}
	return race
}
