package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/benchkeys"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// population says how many keys there are of each kind.
const population = 10_000

var page = strings.Repeat("x", 256)

// field represents the clients, connected.
type field struct {
	raw     rueidis.Client
	goRedis *redis.Client
	keys    *benchkeys.Keyspace
	guarded *benchkeys.Keyspace
}

func enter(ctx context.Context, addr string) (*field, error) {
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableRetry: true})
	if err != nil {
		return nil, err
	}
	plain, err := keywright.Open(ctx, "redis://"+addr, keywright.Options{})
	if err != nil {
		return nil, err
	}
	g, err := newGuard()
	if err != nil {
		return nil, err
	}
	guarded, err := keywright.Open(ctx, "redis://"+addr, keywright.Options{Wrap: g.Wrap})
	if err != nil {
		return nil, err
	}
	return &field{raw, redis.NewClient(&redis.Options{Addr: addr, PoolSize: 128, MaxRetries: -1}), benchkeys.New(plain),
		benchkeys.New(guarded)}, nil
}

func newGuard() (*guard.Guard, error) {
	var files fs.FS = fstest.MapFS{"keyspace.yaml": {Data: benchkeys.Declaration}}
	ks, found := load.File(files, "keyspace.yaml")
	if c := finding.Count(found); c.Errors > 0 {
		return nil, errors.New(found[0].Message)
	}
	return guard.New(ks, guard.Options{})
}

func (f *field) close() {
	f.raw.Close()
	f.goRedis.Close()
	f.keys.Client().Close()
	f.guarded.Client().Close()
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
			_, err := f.keys.Page(id).Get().Do(ctx)
			return err
		}},
		{"rueidis", func(ctx context.Context, f *field, id int64) error {
			return second(f.raw.Do(ctx, f.raw.B().Get().Key(pageKey(id)).Build()).ToString())
		}},
		{"go-redis", func(ctx context.Context, f *field, id int64) error {
			return second(f.goRedis.Get(ctx, pageKey(id)).Result())
		}},
		{"keywright, guarded",
			func(ctx context.Context, f *field, id int64) error {
				_, err := f.guarded.Page(id).Get().Do(ctx)
				return err
			}},
	}},
	{"Set", []contestant{
		{"keywright", func(ctx context.Context, f *field, id int64) error { return f.keys.Page(id).Set(page).Do(ctx) }},
		{"rueidis", func(ctx context.Context, f *field, id int64) error {
			return f.raw.Do(ctx, f.raw.B().Set().Key(pageKey(id)).Value(page).ExSeconds(60).Build()).Error()
		}},
		{"go-redis", func(ctx context.Context, f *field, id int64) error {
			return f.goRedis.Set(ctx, pageKey(id), page, time.Minute).Err()
		}},
		{"keywright, guarded",
			func(ctx context.Context, f *field, id int64) error { return f.guarded.Page(id).Set(page).Do(ctx) }},
	}},
	{"HGetAll", []contestant{
		{"keywright",
			func(ctx context.Context, f *field, id int64) error {
				_, err := f.keys.Person(id).Get().Do(ctx)
				return err
			}},
		{"rueidis", func(ctx context.Context, f *field, id int64) error {
			m, err := f.raw.Do(ctx, f.raw.B().Hgetall().Key(personKey(id)).Build()).AsStrMap()
			if err != nil {
				return err
			}
			return second(personOf(m))
		}},
		{"go-redis", func(ctx context.Context, f *field, id int64) error {
			m, err := f.goRedis.HGetAll(ctx, personKey(id)).Result()
			if err != nil {
				return err
			}
			return second(personOf(m))
		}},
		{"keywright, guarded", func(ctx context.Context, f *field, id int64) error {
			_, err := f.guarded.Person(id).Get().Do(ctx)
			return err
		}},
	}},
}

func second[T any](_ T, err error) error { return err }

// callers lists the numbers of goroutines.
var callers = []int{1, 16, 128}

// race lets the contestants run in turns, at each number of goroutines.
func (f *field) race(ctx context.Context, o op, settings options) (report.Table, []report.Goal, error) {
	all := make([]turns.Contestant, len(o.contestant))
	for i, who := range o.contestant {
		all[i] = turns.Contestant{Name: who.name, Do: func(ctx context.Context, goroutine, n int) error {
			return who.do(ctx, f, int64(goroutine*7919+n)%population+1)
		}}
	}
	r, err := turns.Race(ctx, all, callers, settings.rounds, settings.slice)
	if err != nil {
		return report.Table{}, nil, err
	}
	return r.Table(o.name+", operations/s", 1), goals(o.name, r), nil
}

// goals compares keywright (0) with rueidis (1) and go-redis (2), and the
// guarded client (3) with the plain one.
func goals(name string, r *turns.Result) []report.Goal {
	var out []report.Goal
	for _, n := range callers {
		out = append(out, report.Goal{What: fmt.Sprintf("%s @%d, keywright ÷ rueidis", name, n), Value: r.Ratio(0, 1, n),
			Bound: 0.95, AtLeast: true})
	}
	out = append(out,
		report.Goal{What: name + " @128, keywright ÷ go-redis", Value: r.Ratio(0, 2, 128), Bound: 1.5, AtLeast: true})
	for _, n := range callers {
		out = append(out,
			report.Goal{What: fmt.Sprintf("%s @%d, guarded ÷ not", name, n), Value: r.Ratio(3, 0, n), Bound: 0.7, AtLeast: true})
	}
	return out
}
