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
	race := turns.Race{Title: "Allow, questions/s", Callers: turns.Callers, By: 1, All: []turns.Contestant{
		contestant("keywright GCRA", ours("gcra", limit.GCRA(many, time.Hour, 0))),
		contestant("rueidis, minimal GCRA", bare),
		contestant("keywright Fixed", ours("fixed", limit.Fixed(many, time.Hour))),
		contestant("keywright Sliding", ours("sliding", limit.Sliding(many, time.Hour)))},
		Goals: []turns.Goal{{What: "Allow @%d, keywright GCRA ÷ minimal GCRA by EVALSHA", By: 1, Bound: 0.75,
			Callers: []int{128}}}}
	return race.Show(ctx, out, f.Rounds, f.Slice)
}
