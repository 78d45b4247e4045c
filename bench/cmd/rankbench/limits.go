package main

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/limit"
)

//go:embed gcra.lua
var bareGCRA string

// limits measures asking, by as many callers as there are goroutines, each key
// in turn, all of it allowed.
func (f *field) limits(ctx context.Context, out *report.Report) error {
	const keys = 1024
	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprint("bench:rate:", i)
	}
	var turn atomic.Int64
	next := func() string { return names[turn.Add(1)%keys] }
	ours := func(name string, r limit.Rule) func(context.Context) error {
		limits := limit.New(keywright.Binding{Client: f.Client, Entry: entry("rate", 2*time.Hour)}, r)
		return func(ctx context.Context) error {
			got, err := limits.Of(next()+name, nil).Allow(ctx)
			if err == nil && !got.Allowed {
				err = fmt.Errorf("refused: %+v", got)
			}
			return err
		}
	}
	sum := sha1.Sum([]byte(bareGCRA))
	sha := hex.EncodeToString(sum[:])
	if err := f.Raw.Do(ctx, f.Raw.B().ScriptLoad().Script(bareGCRA).Build()).Error(); err != nil {
		return err
	}
	bare := func(ctx context.Context) error {
		allowed, err := f.Raw.Do(ctx, f.Raw.B().Evalsha().Sha1(sha).Numkeys(1).Key(next()).Arg("360", "3600000000").Build()).
			AsInt64()
		if err == nil && allowed != 1 {
			err = fmt.Errorf("refused")
		}
		return err
	}
	const many = 10_000_000
	who := []contestant{{"keywright GCRA", ours("gcra", limit.GCRA(many, time.Hour, 0))}, {"rueidis, minimal GCRA", bare},
		{"keywright Fixed", ours("fixed", limit.Fixed(many, time.Hour))},
		{"keywright Sliding", ours("sliding", limit.Sliding(many, time.Hour))}}
	return f.race(ctx, out, "Allow, questions/s", turns.Callers, who, turns.Goal{
		What: "Allow @%d, keywright GCRA ÷ minimal GCRA by EVALSHA", By: 1, Bound: 0.75, Callers: []int{128}})
}

// race lets contestants run in turns, at each number of goroutines. The second
// one is what the others are compared with.
func (f *field) race(ctx context.Context, out *report.Report, title string, callers []int, who []contestant,
	goals ...turns.Goal) error {
	race := turns.Race{Title: title, Callers: callers, By: 1, Goals: goals}
	for _, w := range who {
		race.All = append(race.All,
			turns.Contestant{Name: w.name, Do: func(ctx context.Context, _, _ int) error { return w.do(ctx) }})
	}
	return race.Show(ctx, out, f.Rounds, f.Slice)
}
