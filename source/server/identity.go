package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/link"
)

// Identity describes what a plan must find again: the primaries, and what tells that they are
// the same with the same data.
type Identity struct {
	Cluster bool
	Time    time.Time // by the clock of the first shard
	Shards  []ShardIdentity
}

// ShardIdentity represents one primary.
type ShardIdentity struct {
	Address, Brand, Version, RunID, ReplID string

	Flushes int64    // calls of FLUSHALL, FLUSHDB and SWAPDB so far; -1: not known
	Slots   []string // in a cluster
}

// agreement says how long the servers are given to agree on their primaries after a failover.
const agreement = 10 * time.Second

// askAgain is the pause between two questions of whether they agree.
const askAgain = 100 * time.Millisecond

// Identify asks a server, or each primary of a cluster, which one it is. Each must say that
// it is a primary, and all nodes, or all sentinels, must name the same ones: after a failover
// it waits for that some seconds. An error of the kind Unsettled says that they do not.
//
// With another role than Primary, for a server that is only read, a replica that is named by
// its address is good, too.
func Identify(ctx context.Context, config connect.Config, role Role) (Identity, error) {
	return identifyWithin(ctx, config, role, agreement)
}

// identifyWithin is Identify that gives the servers so long to agree.
func identifyWithin(ctx context.Context, config connect.Config, role Role, longest time.Duration) (Identity, error) {
	last := time.Now().Add(longest)
	for {
		id, found, err := identify(ctx, config, role)
		if !connect.IsKind(err, connect.Unsettled) || !found || !time.Now().Before(last) {
			return id, err
		}
		if ended := link.Sleep(ctx, askAgain); ended != nil {
			return id, ended
		}
	}
}

// identify asks once; found says that the primaries are found by asking, so that asking again
// may find others.
func identify(ctx context.Context, config connect.Config, role Role) (id Identity, found bool, err error) {
	t, err := fleet.Discover(ctx, config, Primary)
	if err != nil {
		return id, false, err
	}
	defer t.Close()
	found = t.Cluster || t.Through.Mode == connect.Sentinel
	if err := settled(ctx, t, role, found); err != nil {
		return id, found, err
	}
	id.Cluster = t.Cluster
	if id.Time, err = t.Shards[0].Conn.Clock(ctx); err != nil {
		return id, found, err
	}
	for _, s := range t.Shards {
		b := &s.Before
		of := ShardIdentity{Address: s.Address, Brand: b.Brand, Version: b.Version, RunID: b.RunID, ReplID: b.ReplID,
			Flushes: b.Flushes}
		for _, r := range s.Slots {
			of.Slots = append(of.Slots, r.String())
		}
		id.Shards = append(id.Shards, of)
	}
	return id, found, nil
}

// settled returns an error unless the servers agree that these are the primaries.
func settled(ctx context.Context, t *fleet.Fleet, role Role, found bool) error {
	others := map[string]bool{}
	for _, s := range t.Shards {
		if (role == Primary || found) && s.Before.Role == "slave" {
			return unsettled(s.Address, "it is a replica, and a plan is for primaries",
				"name its primary; after a failover, try again when the servers agree")
		}
		if t.Cluster {
			if err := sees(ctx, t, s.Conn, others); err != nil {
				return err
			}
		}
	}
	for _, s := range t.Shards {
		delete(others, s.Address)
	}
	return errors.Join(replicas(ctx, t, others), sentinels(ctx, t))
}

// sees returns an error if a node has others than these for the holders of the slots. The
// nodes that it knows are added to others.
func sees(ctx context.Context, t *fleet.Fleet, l *link.Link, others map[string]bool) error {
	nodes, err := l.Nodes(ctx)
	if err != nil {
		return err
	}
	if nodes.Holdings() != t.Slots {
		return unsettled(l.Address, "the nodes of the cluster do not agree on which of them have which slots",
			"try again when the failover is over; `redis-cli --cluster check` shows what each of them says")
	}
	for _, n := range nodes {
		if !n.Down {
			others[n.Address] = true
		}
	}
	return nil
}

// replicas asks the other nodes of a cluster, too: one may be a primary that the others have
// no news of yet. A node that cannot be asked does not count.
func replicas(ctx context.Context, t *fleet.Fleet, others map[string]bool) error {
	for address := range others {
		conn, err := link.Dial(ctx, t.Config.At(address))
		if err != nil {
			continue
		}
		err = sees(ctx, t, conn, map[string]bool{})
		conn.Close()
		if connect.IsKind(err, connect.Unsettled) {
			return err
		}
	}
	return ctx.Err()
}

func unsettled(address, what, hint string) error {
	return &connect.Error{Kind: connect.Unsettled, Server: address, Err: errors.New(what), Hint: hint}
}

// sentinels returns an error if one of them names another primary. One that cannot be asked
// does not count.
func sentinels(ctx context.Context, t *fleet.Fleet) error {
	if t.Through.Mode != connect.Sentinel {
		return nil
	}
	for _, address := range t.Through.Addresses {
		one := t.Through
		one.Addresses = []string{address}
		if primary, err := one.Primary(ctx); err == nil && primary != t.Shards[0].Address {
			return unsettled(address, fmt.Sprintf("the sentinels do not agree: this one names the primary %s, another one %s",
				primary, t.Shards[0].Address), "try again when the failover is over")
		}
	}
	return ctx.Err()
}
