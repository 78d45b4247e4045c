package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/entity"
)

// population says how many items there are to read.
const population = 10_000

// fill makes items, with as many in each context as asked for.
func (f *field) fill(ctx context.Context, each int) error {
	if err := f.renew(ctx); err != nil {
		return err
	}
	return many(population, func(i int) error {
		t := itemOf(0, i, 0)
		t.Context = "ctx" + strconv.Itoa(i%(population/each))
		return errors.Join(f.bare.create(ctx, &t, ttl), turns.Err(f.ours.Create(ctx, t.ID, t)))
	})
}

func id(g, n int) string { return itemOf(0, (g*7919+n)%population, 0).ID }

// reads races reads of one item, from the server and from the process, and lists
// of 10 and of 100.
func (f *field) reads(ctx context.Context, out *report.Report) error {
	get := f.racing("Get", 1, 0.95, contestant{Name: "keywright", Do: f.get},
		contestant{Name: "HGETALL, rueidis",
			Do: func(ctx context.Context, g, n int) error { return turns.Err(f.bare.get(ctx, id(g, n))) }})
	cached := f.racing("Cached get", 1, 0.9, contestant{Name: "keywright", Do: f.cached},
		contestant{Name: "DoCache of HGETALL, rueidis",
			Do: func(ctx context.Context, g, n int) error { return turns.Err(f.bare.cached(ctx, id(g, n))) }})
	get.each, cached.each, cached.warm = 10, 10, true
	return f.show(ctx, out, get, cached, f.listing(10), f.listing(100))
}

func (f *field) get(ctx context.Context, g, n int) error { return turns.Err(f.ours.Get(ctx, id(g, n))) }

func (f *field) cached(ctx context.Context, g, n int) error {
	return turns.Err(f.ours.Cached(ctx, id(g, n), time.Hour))
}

// listing returns lists of so many items by their context.
func (f *field) listing(each int) race {
	r := f.racing(fmt.Sprintf("List of %d", each), 1, 0.85, contestant{Name: "keywright", Do: f.list(each)},
		contestant{Name: "SMEMBERS + HGETALL, rueidis", Do: func(ctx context.Context, g, n int) error {
			items, err := f.bare.list(ctx, f.bare.context(contextOf(g, n, each)))
			return listed(len(items), each, err)
		}})
	r.each, r.warm = each, true
	return r
}

func (f *field) list(each int) operation {
	return func(ctx context.Context, g, n int) error {
		page, err := f.ours.List(ctx, entity.Query[item]{Of: f.ours.By("context", contextOf(g, n, each))})
		return listed(len(page.Items), each, err)
	}
}

func contextOf(g, n, each int) string { return "ctx" + strconv.Itoa((g*31+n)%(population/each)) }

func listed(got, each int, err error) error {
	if err == nil && got != each {
		err = fmt.Errorf("a list of %d items", got)
	}
	return err
}
