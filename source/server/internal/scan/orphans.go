package scan

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/source/server/internal/fleet"
)

// Bounds of what is kept about orphans: names that are known, so that none counts twice, and names that
// the note has.
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

// Orphan reports whether a key of a shard is in a slot that the shard does not own, and counts it.
func (r *Run) Orphan(sh *fleet.Shard, db int, name []byte) bool {
	if sh.Owned == nil || sh.Owned[slot.Of(name)] {
		return false
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	o := &r.orphans
	id := fmt.Sprint(sh.Address, " ", db, " ", string(name))
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
		o.named = append(o.named, fmt.Sprintf("%.100q (slot %d, at %s)", name, slot.Of(name), sh.Address))
	}
	return true
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
