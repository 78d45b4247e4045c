package itemkeys

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/entity/message"
)

// Windows bound how long an intent is good for.
type Windows struct {
	Act time.Duration // its owner may act
	Due time.Duration // another may take it over
}

// UsualWindows windows: the clocks of two servers of a cluster differ by less than 5 s.
var UsualWindows = Windows{Act: 5 * time.Second, Due: 10 * time.Second}

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
func (s *Keys) place() {
	s.Windows = UsualWindows
	if !s.Client.Clustered() {
		return
	}
	home := slot.Of([]byte(s.Spec.Records))
	items, together := fixed(s.Spec.Prefix, s.Spec.Suffix)
	s.CrossSlot = !together || items != home
	for i := range s.Spec.Indexes {
		ix := &s.Spec.Indexes[i]
		at, one := fixed(ix.Prefix, ix.Suffix)
		if ix.Field == "" {
			at, one = slot.Of([]byte(ix.Prefix)), true
		}
		s.CrossSlot = s.CrossSlot || !one || at != home
	}
	err := s.checkRecordSlot(home)
	if err == nil && s.CrossSlot && s.Spec.Expires+s.Spec.Pending == "" {
		err = errors.New("there is no key for open intents")
	}
	if err == nil {
		err = errors.Join(s.reachable(s.Spec.OnExpire, home, true), s.reachable(s.Spec.OnCreate, items, together),
			s.reachable(s.Spec.OnUpdate, items, together), s.reachable(s.Spec.OnDelete, items, together))
	}
	if err != nil && s.Err == nil {
		s.Err = &keywright.Error{Class: keywright.Invalid, Entry: s.Entry.Name, Err: err,
			Hint: "give the keys one hash tag, {#…}, and the channels too"}
	}
}

// checkRecordSlot returns an error if a key that is written with the index records is in another slot.
func (s *Keys) checkRecordSlot(home uint16) error {
	for _, key := range []string{s.Spec.Expires, s.Spec.Pending, s.Spec.Lease} {
		if key != "" && slot.Of([]byte(key)) != home {
			return fmt.Errorf("%s and %s are in different cluster slots", key, s.Spec.Records)
		}
	}
	return nil
}

// reachable: PUBLISH goes to all servers of a cluster; a stream and a sharded
// channel have a slot, and must be where the event happens.
func (s *Keys) reachable(events []message.Event, at uint16, one bool) error {
	for i := range events {
		e := &events[i]
		if e.Mode != message.Publish && (!one || !s.sameSlot(e, at)) {
			return fmt.Errorf(
				"the channel %s is durable or sharded and is in another cluster slot than what it tells of: an event cannot go "+
					"there in the same step", e.Channel)
		}
	}
	return nil
}

// sameSlot reports whether a channel is always in a slot. One whose name depends on the item
// has a tag before that, or the one that all keys of the store have.
func (s *Keys) sameSlot(e *message.Event, at uint16) bool {
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
		return slot.Of([]byte(lead)) == at && !s.CrossSlot
	}
	return !s.CrossSlot && strings.Contains(lead, "{") && strings.HasPrefix(s.Spec.Prefix, lead)
}

// Step returns where tests look in, and where they let a process die.
func (s *Keys) Step(name, id string) error {
	if s.Hook == nil {
		return nil
	}
	return s.Hook(name, id)
}
