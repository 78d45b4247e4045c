package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/lock"
)

var callers = []int{1, 16, 128}

// free takes part where no caller waits: the waits are never used.
func free() []contestant {
	return []contestant{ours("keywright, fair", lock.Fair), ours("keywright, fast", lock.Fast), bareRueidis(),
		withRedsync("redsync", 128, 0), withRedislock("redislock", 128, 5), withRueidislock()}
}

// uncontended returns lock and unlock of a lock that each goroutine has for itself.
func uncontended(ctx context.Context, server *live.Server, o options) ([]report.Table, []report.Goal, error) {
	var all []turns.Contestant
	var bills []*account
	for _, who := range free() {
		c, err := who.open(ctx, server.Addr, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", who.name, err)
		}
		defer c.close()
		mutexes := make([]mutex, slices.Max(callers))
		for g := range mutexes {
			mutexes[g] = c.mutex(fmt.Sprintf("lock:%d", g))
		}
		b := &account{server: server}
		bills = append(bills, b)
		all = append(all,
			turns.Contestant{Name: who.name, Ready: b.open, Do: func(ctx context.Context, goroutine, _ int) error {
				return once(ctx, mutexes[goroutine])
			}})
	}
	r, err := turns.Race(ctx, all, callers, o.rounds, o.slice)
	if err != nil {
		return nil, nil, err
	}
	bill := report.Table{Title: "Uncontended, what one lock and unlock costs with 128 goroutines",
		Columns: append([]string{"contestant"}, costs.Columns...)}
	for i, b := range bills {
		if b.err != nil {
			return nil, nil, b.err
		}
		bill.Add(append([]any{all[i].Name}, b.Cells(r.Done(i, billed))...)...)
	}
	const ours, bare, redsync = 0, 2, 3
	return []report.Table{r.Table("Uncontended, lock and unlock per second, a lock for each goroutine", bare), bill},
		[]report.Goal{
			{What: "uncontended @128, keywright ÷ bare rueidis", Value: r.Ratio(ours, bare, 128), Bound: 0.75, AtLeast: true},
			{What: "uncontended @128, keywright ÷ redsync", Value: r.Ratio(ours, redsync, 128), Bound: 3, AtLeast: true},
		}, nil
}

func once(ctx context.Context, m mutex) error {
	if err := m.lock(ctx); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return m.unlock(ctx)
}

// billed is the number of goroutines at which costs are counted.
const billed = 128

// account describes what a contestant has used up.
type account struct {
	costs.Costs
	server *live.Server
	err    error
}

// open counts from now on until the function that it returns is called.
func (a *account) open(_ context.Context, goroutines int) (func(), error) {
	if goroutines != billed {
		return func() {}, nil
	}
	before, err := costs.Read(a.server)
	return func() {
		after, err := costs.Read(a.server)
		a.Add(before, after)
		a.err = errors.Join(a.err, err)
	}, err
}
