package examine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/link"
)

// OrphanSlot represents keys of a node in a slot of another one.
type OrphanSlot struct {
	Slot  int
	Keys  int64
	Owner string   // the node that owns the slot; "no node"
	Names []string // of some of the keys, quoted
}

// Bounds of what one node is asked about its slots.
const (
	slotsAsked  = 500 // in one round trip: each is a look into a table
	orphanSlots = 100 // slots with orphans that are looked at
	orphanNames = 3   // of each slot
)

// orphans asks a primary how many keys it has in slots that it does not own. It takes some 30 round trips; while slots
// move, nothing is asked.
func (x *Examination) orphans(ctx context.Context, p *Patient, l *link.Link) {
	own, ok := x.own(ctx, l)
	if !ok || !own.Primary() || own.Moving || p.Info.Keys() == 0 {
		return
	}
	owned, strange := fleet.Owning(own.Slots), []int{}
	for n, is := range owned {
		if !is {
			strange = append(strange, n)
		}
	}
	for chunk := range slices.Chunk(strange, slotsAsked) {
		counts, err := countKeys(ctx, l, chunk)
		if err != nil {
			x.dark("keys in slots of other nodes", p.Address+": "+link.Reason(err))
			return
		}
		for i, keys := range counts {
			if keys > 0 && len(p.Orphans) < orphanSlots {
				p.Orphans = append(p.Orphans, x.orphansOf(ctx, l, chunk[i], keys))
			}
		}
	}
}

// own returns the node that is asked, as it sees itself: it alone tells of its slots that move.
func (x *Examination) own(ctx context.Context, l *link.Link) (topology.Node, bool) {
	nodes, err := l.Nodes(ctx)
	if err != nil {
		return topology.Node{}, false
	}
	return nodes.Myself()
}

// countKeys asks how many keys slots have, in one round trip.
func countKeys(ctx context.Context, l *link.Link, slots []int) (counts []int64, err error) {
	stop := context.AfterFunc(ctx, l.Interrupt)
	defer stop()
	for _, n := range slots {
		l.Command("CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(n))
	}
	if err := l.Flush(); err != nil {
		return nil, err
	}
	for range slots {
		n, _, failed := l.Int()
		counts, err = append(counts, n), cmp.Or(err, failed)
		if failed != nil && !errors.As(failed, new(*wire.ServerError)) {
			break // the connection is of no use
		}
	}
	return counts, err
}

// orphansOf names some of the keys of a slot, and the node that owns it.
func (x *Examination) orphansOf(ctx context.Context, l *link.Link, n int, keys int64) OrphanSlot {
	o := OrphanSlot{Slot: n, Keys: keys, Owner: "no node"}
	if owner, ok := x.Nodes.Holder(n); ok {
		o.Owner = owner.Address
	}
	reply, _ := l.Ask(ctx, "CLUSTER", "GETKEYSINSLOT", strconv.Itoa(n), strconv.Itoa(orphanNames))
	names, _ := reply.([]any)
	for _, name := range names {
		o.Names = append(o.Names, fmt.Sprintf("%.100q", fmt.Sprint(name)))
	}
	return o
}
