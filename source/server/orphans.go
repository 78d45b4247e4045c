package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/slot"
	"github.com/keywright/keywright/topology"
)

// Bounds of what is kept about orphans: names that are told apart, so that none counts twice, and names that are told.
const (
	maxOrphans   = 10_000
	namedOrphans = 5
)

// orphans counts keys in slots that their node does not own, as an interrupted migration leaves them: another node has
// the slot, so that no client reads them. They are no part of the keyspace.
type orphans struct {
	count int64 // above maxOrphans a key that SCAN returns twice counts twice
	known map[string]bool
	named []string
}

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

// orphan reports whether a key of a shard lies in a slot that the shard does not own, and counts it.
func (r *run) orphan(sh *shard, db int, name []byte) bool {
	if sh.owned == nil || sh.owned[slot.Of(name)] {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o := &r.orphans
	id := fmt.Sprint(sh.address, " ", db, " ", string(name))
	if o.known[id] {
		return true
	}
	if o.known == nil {
		o.known = map[string]bool{}
	}
	if len(o.known) < maxOrphans {
		o.known[id] = true
	}
	if o.count++; len(o.named) < namedOrphans {
		o.named = append(o.named, fmt.Sprintf("%.100q (slot %d, at %s)", name, slot.Of(name), sh.address))
	}
	return true
}

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
func (x *Examination) orphans(ctx context.Context, p *Patient, l *link) {
	own, ok := x.own(ctx, l)
	if !ok || !own.Primary() || own.Moving || p.Info.Keys() == 0 {
		return
	}
	owned, strange := owning(own.Slots), []int{}
	for n, is := range owned {
		if !is {
			strange = append(strange, n)
		}
	}
	for chunk := range slices.Chunk(strange, slotsAsked) {
		counts, err := l.countKeys(ctx, chunk)
		if err != nil {
			x.dark("keys in slots of other nodes", p.Address+": "+reason(err))
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
func (x *Examination) own(ctx context.Context, l *link) (topology.Node, bool) {
	nodes, err := l.nodes(ctx)
	if err != nil {
		return topology.Node{}, false
	}
	return nodes.Myself()
}

// countKeys asks how many keys slots have, in one round trip.
func (l *link) countKeys(ctx context.Context, slots []int) (counts []int64, err error) {
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
func (x *Examination) orphansOf(ctx context.Context, l *link, n int, keys int64) OrphanSlot {
	o := OrphanSlot{Slot: n, Keys: keys, Owner: "no node"}
	if owner, ok := x.Nodes.Holder(n); ok {
		o.Owner = owner.Address
	}
	reply, _ := l.ask(ctx, "CLUSTER", "GETKEYSINSLOT", strconv.Itoa(n), strconv.Itoa(orphanNames))
	names, _ := reply.([]any)
	for _, name := range names {
		o.Names = append(o.Names, fmt.Sprintf("%.100q", fmt.Sprint(name)))
	}
	return o
}

// note returns what to tell of orphans, nothing if there are none.
func (o *orphans) note() []string {
	if o.count == 0 {
		return nil
	}
	more := ""
	if n := o.count - int64(len(o.named)); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return []string{fmt.Sprintf("keys in slots that their node does not own, which no client can read: %d; they are "+
		"left out: %s%s; `keywright doctor` says how they go away", o.count, strings.Join(o.named, ", "), more)}
}
