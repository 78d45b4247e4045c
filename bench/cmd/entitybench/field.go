package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/entity"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// callers lists the numbers of goroutines.
var callers = []int{1, 16, 128}

// field represents a server and its clients.
type field struct {
	o         options
	server    *live.Server
	bare      bare
	piped     piped
	client    *keywright.Client
	ours      *entity.Store[string, item]
	announced *entity.Store[string, item] // with an event of every creation
	own       keys
}

func enter(ctx context.Context, o options) (*field, error) {
	f := &field{o: o, own: keys{"mem:"}}
	return f, f.open(ctx)
}

func (f *field) open(ctx context.Context) error {
	server, err := live.Start(ctx, f.o.server)
	if err != nil {
		return err
	}
	f.server = server
	if f.bare.Client, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{f.server.Addr},
		DisableRetry: true}); err != nil {
		return err
	}
	if f.client, err = keywright.Open(ctx, "redis://"+f.server.Addr, keywright.Options{}); err != nil {
		return err
	}
	f.bare.keys = keys{"naive:"}
	f.piped = piped{redis.NewClient(&redis.Options{Addr: f.server.Addr, PoolSize: 128, MaxRetries: -1}), f.bare.keys}
	f.ours, f.announced = entity.New(binding(f.client, f.own, mortal), spec(f.own)),
		entity.New(binding(f.client, f.own, mortal), announcing(f.own))
	return nil
}

func (f *field) close() {
	f.bare.Close()
	f.piped.Close()
	f.client.Close()
	f.server.Stop()
}

// renew goes on with a new server. Connections are made before it returns.
func (f *field) renew(ctx context.Context) error {
	f.close()
	if err := f.open(ctx); err != nil {
		return err
	}
	return many(256, func(int) error { return f.piped.Ping(ctx).Err() })
}

// contestant represents one way to do an operation.
type contestant struct {
	name string
	do   func(ctx context.Context, goroutine, n int) error
}

// race represents one operation, done in several ways. The first is ours, others of our own
// may follow; by is what they are measured by.
type race struct {
	name     string
	all      []contestant
	measured []int // those of all that are to reach the bound
	by       int
	bound    float64
	empty    bool // every turn begins with an empty server
	each     int  // else: how many items a context has
	warm     bool // everybody has read every item before
}

// run lets the contestants run in turns, and says what one operation costs.
func (f *field) run(ctx context.Context, r race) ([]report.Table, []report.Goal, error) {
	racing, used := make([]turns.Contestant, len(r.all)), make([]map[int]*costs.Costs, len(r.all))
	for i, who := range r.all {
		used[i] = map[int]*costs.Costs{}
		racing[i] = turns.Contestant{Name: who.name, Do: who.do,
			Ready: func(ctx context.Context, goroutines int) (func(), error) {
				return f.ready(ctx, r.empty, goroutines, used[i])
			}}
	}
	rates, err := turns.Race(ctx, racing, callers, f.o.rounds, f.o.slice)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.name, err)
	}
	bill := report.Table{Title: "What one costs", Columns: append([]string{"contestant", "goroutines"}, costs.Columns...)}
	for i, who := range r.all {
		for _, n := range callers {
			bill.Add(append([]any{who.name, n}, used[i][n].Cells(rates.Done(i, n))...)...)
		}
	}
	var goals []report.Goal
	for _, i := range r.measured {
		for _, n := range callers {
			goals = append(goals, report.Goal{What: fmt.Sprintf("%s @%d, %s ÷ %s", r.name, n, r.all[i].name, r.all[r.by].name),
				Value: rates.Ratio(i, r.by, n), Bound: r.bound, AtLeast: true})
		}
	}
	return []report.Table{rates.Table(r.name+", per second by goroutines", r.by), bill}, goals, nil
}

func (f *field) ready(ctx context.Context, empty bool, goroutines int, used map[int]*costs.Costs) (func(), error) {
	if empty {
		if err := f.renew(ctx); err != nil {
			return nil, err
		}
	}
	before, err := costs.Read(f.server)
	if used[goroutines] == nil {
		used[goroutines] = &costs.Costs{}
	}
	return func() {
		if after, err := costs.Read(f.server); err == nil {
			used[goroutines].Add(before, after)
		}
	}, err
}

// many runs do for 0…n-1 on some goroutines.
func many(n int, do func(i int) error) error {
	const goroutines = 64
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < n && errs[g] == nil; i += goroutines {
				errs[g] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func second[T any](_ T, err error) error { return err }
