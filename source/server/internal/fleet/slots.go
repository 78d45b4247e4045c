package fleet

import (
	"context"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source/server/internal/link"
)

// Owning returns slots as a table.
func Owning(ranges []topology.Range) *[topology.Slots]bool {
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
func (t *Fleet) takes(ctx context.Context, sh *Shard, primary *link.Link) {
	nodes, err := primary.Nodes(ctx)
	own, ok := nodes.Myself()
	switch {
	case err != nil || !ok: // what cannot be asked is reported at the end
	case own.Moving:
		t.moving = true
	default:
		sh.Owned = Owning(sh.Slots)
	}
}

// Holder returns the shard that has the slot of key.
func (t *Fleet) Holder(ctx context.Context, key []byte) (*Shard, error) {
	nodes, err := t.Shards[0].Conn.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	n, _ := nodes.Holder(int(slot.Of(key)))
	for _, sh := range t.Shards {
		if sh.Address == n.Address {
			return sh, nil
		}
	}
	return nil, connect.Explain(t.Shards[0].Address,
		&wire.ServerError{Code: "CLUSTERDOWN", Message: "no node holds the slot of the key"})
}

// Only leaves one database in what is read and expected, if one is named; one that a server
// lacks is refused before anything is read.
func (t *Fleet) Only(ctx context.Context, db int) error {
	if db < 0 {
		return nil
	}
	for _, sh := range t.Shards {
		sh.Databases = map[int]int64{db: sh.Databases[db]}
	}
	return t.MustHave(ctx, db)
}

// MustHave refuses a database that one of the servers lacks, before anything is read.
func (t *Fleet) MustHave(ctx context.Context, db int) error {
	for _, sh := range t.Shards {
		what, err := sh.Conn.LacksDatabase(ctx, db)
		if err != nil {
			return err
		}
		if what != "" {
			return &connect.ConfigError{What: what, Hint: "name another one: --db, or the number at the end of the URL"}
		}
	}
	return nil
}
