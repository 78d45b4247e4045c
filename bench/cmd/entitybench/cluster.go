package main

import (
	"context"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/entity"
)

// clusterCallers says how many goroutines write at once.
const clusterCallers = 256

// clusterSlice is the shortest turn: 256 writers need a while until all of them are at it.
const clusterSlice = 500 * time.Millisecond

// cluster races creations in a cluster whose slots the entity is spread over: of items
// that never expire against those with a TTL. The first have a zset of open intents of
// their own, which must not cost more than the zset of expiry times does.
func (f *field) cluster(ctx context.Context, out *report.Report) error {
	nodes, err := live.StartCluster(ctx, f.Server, 3)
	if err != nil {
		return err
	}
	for _, s := range nodes {
		f.Cleanup(s.Stop)
	}
	c, err := keywright.Open(ctx, "redis+cluster://"+nodes[0].Addr, keywright.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	round := 0
	ready := func(context.Context, int) (func(), error) {
		round++
		return func() {}, nil
	}
	dying := entity.New(binding(c, keys{"mortal:"}, mortal), spread("mortal", false))
	forever := entity.New(binding(c, keys{"forever:"}, keywright.TTL{Policy: keywright.Forever, Text: "none"}),
		spread("forever", true))
	creating := func(s *entity.Store[string, item]) operation {
		return func(ctx context.Context, g, n int) error {
			t := itemOf(g+clusterCallers*round, n, 0) // items are made once
			return turns.Err(s.Create(ctx, t.ID, t))
		}
	}
	race := turns.Race{Title: "Create in a cluster of three, over its slots, per second by goroutines",
		Callers: []int{clusterCallers}, By: 1, All: []contestant{
			{Name: "items that never expire", Do: creating(forever), Ready: ready},
			{Name: "items with a TTL", Do: creating(dying), Ready: ready}},
		Goals: []turns.Goal{{What: "Create in a cluster @%d, never expire ÷ with a TTL", By: 1, Bound: 0.7}}}
	return race.Show(ctx, out, f.Rounds, max(f.Slice, clusterSlice))
}

// spread returns the entity with its books in one slot and all else in others.
func spread(name string, forever bool) *entity.Spec[string, item] {
	s := spec(keys{name + ":"})
	s.Expires, s.Records, s.Lease = "{"+name+"}:expiry", "{"+name+"}:ledger", "{"+name+"}:sweep"
	if forever {
		s.Expires, s.Lease, s.IndexTTL = "", "", 0
		s.Pending = "{" + name + "}:pending"
	}
	return s
}
