package entity

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/slot"
)

// An entity whose keys are not always in one slot of a cluster cannot be written
// in one step. An item is then changed under an intent, which the ledger keeps:
//
//  1. ledger: the intent is opened. It names every index key that the id may be put
//     into or taken out of under it: where the item is by the ledger, and where it
//     will be. The zset of expiry times says when it is due.
//  2. item: the hash is written, with its TTL and its events, if its condition holds.
//  3. indexes: into each key that the intent names the id is put, if the item says
//     so, else it is taken out of it. What an intent does not name is not touched,
//     and the ledger is not told that the item is there.
//  4. ledger: the intent is closed, if no other of this id was closed since its owner
//     has read the ledger (the stamp). Else it takes on where the ledger says that the
//     item is now, and its owner reads the item and begins with 3.
//
// Steps 2 and 3 refuse an owner whose intent is older than windows.act by the
// server's clock; a sweeper takes over an intent that is older than windows.due by
// the ledger's, and does 3 and 4 under it. As long as two clocks of a cluster differ
// by less than due - act, no process acts under an intent that another has closed. An
// owner that does not know whether one of its commands was executed may not close its
// intent, as the command may still be on its way: it leaves it to the sweeper.
//
// Why nothing is left over when all intents are closed. Take the last change of
// whether an item is in an index, and the last command that has put the id there or
// taken it out. If that acted on the item as it was before the change, its owner has
// read the stamp, then the item, then acted, then closed, and the change came after its
// reading. The change was made under an intent, too, closed later than the change. If
// that was before the owner closed, the stamp was another one, and the owner has read
// and acted again: it was not its last command. If it was after, then the one that made
// the change found another stamp, took on the index key that the owner had recorded, and
// acted on it after the owner. Expiry is a change that no process makes: the ledger
// knows when it is, at the earliest, and the sweeper looks.
//
// So the stamp does what reading the item a second time would do, and an entity
// needs no version for it.

// windows bound how long an intent is good for.
type windows struct {
	act time.Duration // its owner may act
	due time.Duration // another may take it over
}

// usual windows: the clocks of two servers of a cluster differ by less than 5 s.
var usual = windows{act: 5 * time.Second, due: 10 * time.Second}

// fixed returns the slot of all keys with these ends, if they share one.
func fixed(prefix, suffix string) (uint16, bool) {
	if _, ok := slot.Tag([]byte(prefix)); ok {
		return slot.Of([]byte(prefix)), true
	}
	if _, ok := slot.Tag([]byte(suffix)); ok && !strings.Contains(prefix, "{") {
		return slot.Of([]byte(suffix)), true
	}
	return 0, false
}

// place finds out whether the entity is in several slots, and refuses what
// cannot be done then.
func (s *core) place() {
	s.windows = usual
	if !s.client.Clustered() {
		return
	}
	home := slot.Of([]byte(s.spec.Ledger))
	items, together := fixed(s.spec.Prefix, s.spec.Suffix)
	s.apart = !together || items != home
	for i := range s.spec.Indexes {
		ix := &s.spec.Indexes[i]
		at, one := fixed(ix.Prefix, ix.Suffix)
		if ix.Field == "" {
			at, one = slot.Of([]byte(ix.Prefix)), true
		}
		s.apart = s.apart || !one || at != home
	}
	err := s.books(home)
	if err == nil && s.apart && s.spec.Expires+s.spec.Pending == "" {
		err = errors.New("there is no key for open intents")
	}
	if err == nil {
		err = errors.Join(s.reachable(s.spec.OnExpire, home, true), s.reachable(s.spec.OnCreate, items, together),
			s.reachable(s.spec.OnUpdate, items, together), s.reachable(s.spec.OnDelete, items, together))
	}
	if err != nil && s.err == nil {
		s.err = &keywright.Error{Class: keywright.Invalid, Entry: s.entry.Name, Err: err,
			Hint: "give the keys one hash tag, {#…}, and the channels too"}
	}
}

// books: what is written with the ledger is in its slot.
func (s *core) books(home uint16) error {
	for _, key := range []string{s.spec.Expires, s.spec.Pending, s.spec.Lease} {
		if key != "" && slot.Of([]byte(key)) != home {
			return fmt.Errorf("%s and %s are in different cluster slots", key, s.spec.Ledger)
		}
	}
	return nil
}

// reachable: PUBLISH goes to all servers of a cluster; a stream and a sharded
// channel have a slot, and must be where the event happens.
func (s *core) reachable(events []Event, at uint16, one bool) error {
	for i := range events {
		e := &events[i]
		if e.Mode != Publish && (!one || !s.sameSlot(e, at)) {
			return fmt.Errorf(
				"the channel %s is durable or sharded and is in another cluster slot than what it tells of: an event cannot go "+
					"there in the same step", e.Channel)
		}
	}
	return nil
}

// sameSlot reports whether a channel is always in a slot. One whose name depends on the item
// has a tag before that, or the one that all keys of the store have.
func (s *core) sameSlot(e *Event, at uint16) bool {
	if len(e.Name) == 0 {
		return slot.Of([]byte(e.Channel)) == at
	}
	lead := ""
	for _, p := range e.Name {
		if !p.Literal {
			break
		}
		lead += p.Name
	}
	if _, tagged := slot.Tag([]byte(lead)); tagged {
		return slot.Of([]byte(lead)) == at && !s.apart
	}
	return !s.apart && strings.Contains(lead, "{") && strings.HasPrefix(s.spec.Prefix, lead)
}

// step returns where tests look in, and where they let a process die.
func (s *core) step(name, id string) error {
	if s.hook == nil {
		return nil
	}
	return s.hook(name, id)
}
