package apply

import (
	"context"
	"errors"
	"strconv"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/kernel"
)

// mergedElements is how many elements of a queue's key one step looks at. They are fewer where
// more than a thousand stay at the front of a list: each that is moved is looked for after those.
const (
	mergedElements = 100
	mergedPassed   = 100_000
)

// mergedIn returns how many elements one step looks at, if so many stay.
func mergedIn(stay int) int { return max(1, min(mergedElements, mergedPassed/(stay+1))) }

// errFewTexts reports an answer that the script does not give.
var errFewTexts = errors.New("the server answered a script with too few texts: it does not speak the protocol of Redis")

// merge moves the elements of queues' keys to the keys with the new names, each together with
// its job: the new queue may be in use already, and programs may put jobs into the old one.
func (r *changes) merge(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	for i, s := range steps {
		if err := r.mergeOne(ctx, c, s); err != nil {
			r.unknown(steps[i:])
			return err
		}
	}
	return nil
}

// mergeOne moves the elements of one key, until there are none but those whose job cannot be moved.
// The jobs that were moved are counted whatever ends it.
func (r *changes) mergeOne(ctx context.Context, c kernel.Raw, s *keyChange) error {
	m, stay, moved, jobs := s.Do.(plan.Merge), 0, int64(0), int64(0)
	defer func() {
		for range jobs {
			r.Add(r.name(s.entry), journal.KeyCounts{Keys: 1, Changed: 1})
		}
	}()
	keys := append([]string{string(s.key), s.To, m.Runs[0], m.Runs[1]}, s.Busy...)
	for {
		if r.StillHeld != nil {
			if err := r.StillHeld(); err != nil {
				return err
			}
		}
		args := []string{m.Old[0], m.Old[1], m.New[0], m.New[1], strconv.Itoa(stay), strconv.Itoa(mergedIn(stay))}
		reply, err := c.Do(ctx, eval(c.B(), "merge", keys, args...)).ToArray()
		if err != nil {
			return err
		}
		if len(reply) != 4 {
			return errFewTexts
		}
		said, _ := reply[0].ToString()
		if said != "done" {
			r.merged(s, said, moved)
			return nil
		}
		var n [3]int64
		for i := range n {
			if n[i], err = reply[i+1].AsInt64(); err != nil {
				return err
			}
		}
		moved, jobs, stay = moved+n[0], jobs+n[1], stay+int(n[2])
		if n[0]+n[2] == 0 { // all that is left stays
			r.merged(s, "taken", moved)
			return nil
		}
	}
}

// merged counts a key. One of which some elements stay is left, and an undo looks for the others.
func (r *changes) merged(s *keyChange, said string, moved int64) {
	why := map[string]plan.Code{"works": plan.QueueWorks, "type": plan.OtherType, "taken": plan.Taken}[said]
	if said == "gone" && moved > 0 {
		r.count(s, journal.KeyCounts{Changed: 1})
		return
	}
	if said == "gone" {
		r.count(s, journal.KeyCounts{Gone: 1})
		return
	}
	r.leave(s.entry, why, s.key, s.db)
	s.done = moved > 0
}
