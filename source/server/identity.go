package server

import (
	"context"
	"time"

	"github.com/keywright/keywright/connect"
)

// Identity is what a plan must find again: the primaries, and what tells that they are
// the same with the same data.
type Identity struct {
	Cluster bool
	Time    time.Time // by the clock of the first shard
	Shards  []ShardIdentity
}

// ShardIdentity is one primary.
type ShardIdentity struct {
	Address, Brand, Version, RunID, ReplID string

	Flushes int64    // calls of FLUSHALL, FLUSHDB and SWAPDB so far; -1: not known
	Slots   []string // in a cluster
}

// Identify asks a server, or each primary of a cluster, which one it is.
func Identify(ctx context.Context, config connect.Config) (Identity, error) {
	t, err := discover(ctx, config, Primary)
	if err != nil {
		return Identity{}, err
	}
	defer t.close()
	id := Identity{Cluster: t.cluster}
	if id.Time, err = t.shards[0].conn.clock(ctx); err != nil {
		return id, err
	}
	for _, s := range t.shards {
		b := &s.before
		of := ShardIdentity{Address: s.address, Brand: b.Brand, Version: b.Version, RunID: b.RunID, ReplID: b.ReplID, Flushes: b.Flushes}
		for _, r := range s.slots {
			of.Slots = append(of.Slots, r.String())
		}
		id.Shards = append(id.Shards, of)
	}
	return id, nil
}
