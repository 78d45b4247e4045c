package main

import (
	"context"
	"time"

	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/entity"
)

// field represents a server with its clients, and what is asked for.
type field struct {
	*harness.Program
	harness.Clients
	items, expiries, callers int
	limit                    time.Duration
	race, what               string

	server    *live.Server
	bare      bare
	piped     piped
	ours      *entity.Store[string, item]
	announced *entity.Store[string, item] // with an event of every creation
	own       keys
}

type contestant = turns.Contestant

// operation is one thing that a goroutine does for the nth time.
type operation = func(ctx context.Context, goroutine, n int) error

func (f *field) open(ctx context.Context, server string) (err error) {
	if f.server, f.Clients, err = f.Connect(ctx, server, 0); err != nil {
		return err
	}
	f.bare = bare{f.Raw, keys{"naive:"}}
	f.piped = piped{f.GoRedis, f.bare.keys}
	f.ours = entity.New(binding(f.Client, f.own, mortal), spec(f.own))
	f.announced = entity.New(binding(f.Client, f.own, mortal), announcing(f.own))
	return nil
}

// renew goes on with a new server. Connections are made before it returns.
func (f *field) renew(ctx context.Context) error {
	f.CleanUp()
	if err := f.open(ctx, f.Server); err != nil {
		return err
	}
	return many(256, func(int) error { return f.piped.Ping(ctx).Err() })
}

// race represents one operation, done in several ways.
type race struct {
	name string
	turns.Race
	each int  // how many items a context has that are there before; 0: every turn begins with an empty server
	warm bool // everybody has read every item before
}

// racing compares contestants, the first of which is ours, with one of them; bound 0 is no goal.
func (f *field) racing(name string, by int, bound float64, all ...contestant) race {
	r := race{name: name, Race: turns.Race{Title: name + ", per second by goroutines", All: all, Callers: turns.Callers,
		By: by, Bill: "What one costs", Billed: turns.Callers, Server: func() *live.Server { return f.server }}}
	if bound > 0 {
		r.Goals = []turns.Goal{{What: name + " @%d, " + all[0].Name + " ÷ " + all[by].Name, By: by, Bound: bound}}
	}
	return r
}

// show lets the contestants of some races run in turns.
func (f *field) show(ctx context.Context, out *report.Report, races ...race) error {
	for _, r := range races {
		if f.race != "" && f.race != r.name {
			continue
		}
		if err := f.prepare(ctx, r); err != nil {
			return err
		}
		if err := r.Show(ctx, out, f.Rounds, f.Slice); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the items of a race, or has it begin each turn with none.
func (f *field) prepare(ctx context.Context, r race) error {
	if r.each == 0 {
		for i := range r.All {
			r.All[i].Ready = func(ctx context.Context, _ int) (func(), error) { return func() {}, f.renew(ctx) }
		}
		return nil
	}
	err := f.fill(ctx, r.each)
	for _, who := range r.All {
		if r.warm && err == nil {
			err = many(population, func(i int) error { return who.Do(ctx, 0, i) })
		}
	}
	return err
}

// many runs do for 0…n-1 on some goroutines.
func many(n int, do func(i int) error) error {
	return turns.Each(64, n, func(_, i int) error { return do(i) })
}
