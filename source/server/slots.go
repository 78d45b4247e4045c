package server

import (
	"context"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/slot"
	"github.com/keywright/keywright/topology"
)

// owning returns slots as a table.
func owning(ranges []topology.Range) *[topology.Slots]bool {
	var owned [topology.Slots]bool
	for _, r := range ranges {
		for n := r.First; n <= r.Last; n++ {
			owned[n] = true
		}
	}
	return &owned
}

// takes notes which slots a primary owns. While slots move to it or from it, keys that it does not own may be on their
// way: then none is left out, and the whole run is of two states.
func (t *fleet) takes(ctx context.Context, sh *shard, primary *link) {
	nodes, err := primary.nodes(ctx)
	own, ok := nodes.Myself()
	switch {
	case err != nil || !ok: // what cannot be asked is told at the end
	case own.Moving:
		t.moving = true
	default:
		sh.owned = owning(sh.slots)
	}
}

// holder returns the shard that has the slot of key.
func (t *fleet) holder(ctx context.Context, key []byte) (*shard, error) {
	nodes, err := t.shards[0].conn.nodes(ctx)
	if err != nil {
		return nil, err
	}
	n, _ := nodes.Holder(int(slot.Of(key)))
	for _, sh := range t.shards {
		if sh.address == n.Address {
			return sh, nil
		}
	}
	return nil, connect.Explain(t.shards[0].address,
		&wire.ServerError{Code: "CLUSTERDOWN", Message: "no node holds the slot of the key"})
}

// only leaves one database in what is read and expected, if one is named; one that a server
// lacks is refused before anything is read.
func (t *fleet) only(ctx context.Context, db int) error {
	if db < 0 {
		return nil
	}
	for _, sh := range t.shards {
		sh.dbs = map[int]int64{db: sh.dbs[db]}
	}
	return t.mustHave(ctx, db)
}

// mustHave refuses a database that one of the servers lacks, before anything is read.
func (t *fleet) mustHave(ctx context.Context, db int) error {
	for _, sh := range t.shards {
		what, err := sh.conn.lacks(ctx, db)
		if err != nil {
			return err
		}
		if what != "" {
			return &connect.ConfigError{What: what, Hint: "name another one: --db, or the number at the end of the URL"}
		}
	}
	return nil
}
