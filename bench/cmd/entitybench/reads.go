package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright/bench/report"
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
		return errors.Join(f.bare.create(ctx, &t, ttl), second(f.ours.Create(ctx, t.ID, t)))
	})
}

func id(g, n int) string { return itemOf(0, (g*7919+n)%population, 0).ID }

// reads races reads of one item, from the server and from the process, and lists
// of 10 and of 100.
func (f *field) reads(ctx context.Context) (tables []report.Table, goals []report.Goal, err error) {
	races := []race{
		{name: "Get", each: 10, by: 1, measured: []int{0}, bound: 0.95, all: []contestant{
			{"keywright", func(ctx context.Context, g, n int) error { return second(f.ours.Get(ctx, id(g, n))) }},
			{"HGETALL, rueidis", func(ctx context.Context, g, n int) error { return second(f.bare.get(ctx, id(g, n))) }},
		}},
		{name: "Cached get", each: 10, warm: true, by: 1, measured: []int{0}, bound: 0.9, all: []contestant{
			{"keywright", func(ctx context.Context, g, n int) error { return second(f.ours.Cached(ctx, id(g, n), time.Hour)) }},
			{"DoCache of HGETALL, rueidis",
				func(ctx context.Context, g, n int) error { return second(f.bare.cached(ctx, id(g, n))) }},
		}},
		f.listing(10), f.listing(100),
	}
	for _, r := range races {
		if f.o.race != "" && f.o.race != r.name {
			continue
		}
		if err := f.prepare(ctx, r); err != nil {
			return tables, goals, err
		}
		some, more, err := f.run(ctx, r)
		if err != nil {
			return tables, goals, err
		}
		tables, goals = append(tables, some...), append(goals, more...)
	}
	return tables, goals, nil
}

// prepare makes the items of a race.
func (f *field) prepare(ctx context.Context, r race) error {
	err := f.fill(ctx, r.each)
	for _, who := range r.all {
		if r.warm && err == nil {
			err = many(population, func(i int) error { return who.do(ctx, 0, i) })
		}
	}
	return err
}

// listing returns lists of so many items by their context.
func (f *field) listing(each int) race {
	index := func(g, n int) string { return "ctx" + strconv.Itoa((g*31+n)%(population/each)) }
	check := func(got int, err error) error {
		if err == nil && got != each {
			err = fmt.Errorf("a list of %d items", got)
		}
		return err
	}
	return race{name: fmt.Sprintf("List of %d", each), each: each, warm: true, by: 1, measured: []int{0}, bound: 0.85,
		all: []contestant{
			{"keywright", func(ctx context.Context, g, n int) error {
				page, err := f.ours.List(ctx, entity.Query[item]{Of: f.ours.By("context", index(g, n))})
				return check(len(page.Items), err)
			}},
			{"SMEMBERS + HGETALL, rueidis", func(ctx context.Context, g, n int) error {
				items, _, err := f.bare.list(ctx, f.bare.context(index(g, n)))
				return check(len(items), err)
			}},
		}}
}
