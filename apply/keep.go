package apply

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb/dump"
)

// Backup holds what is deleted, so that a restore brings it back.
type Backup interface {
	Keep(*archive.Record) error
	Sync() error // what was kept is on the disk
}

// keeping reads the keys of a batch, and those that go with them, and keeps them before they
// are deleted. What was read in one step is deleted only if it is still as it was kept.
func (r *changes) keeping(ctx context.Context, steps []*keyChange) (out []*keyChange, err error) {
	if r.Keep == nil {
		return steps, nil
	}
	c, err := r.clients(steps[0].db)
	if err != nil {
		return nil, err
	}
	if steps = r.untried(steps); len(steps) == 0 {
		return nil, nil
	}
	if steps, err = r.unused(ctx, c.Raw(), steps); err != nil { // reading a key may end its idle time
		return nil, err
	}
	var names []string
	entries, items := map[string]int{}, map[string]*keyChange{}
	for _, s := range steps {
		if _, is := s.Do.(plan.Item); is {
			items[string(s.key)] = s
		}
		for _, n := range append([]string{string(s.key)}, s.with()...) {
			if _, twice := entries[n]; !twice {
				names, entries[n] = append(names, n), s.entry
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	defer wait.Ask(ctx)()
	seen, err := r.look(ctx, steps[0].db, names, func(k *source.Content) error {
		if err := items[string(k.Name)].read(k); err != nil {
			return err
		}
		rec := archive.Of(k, entries[string(k.Name)])
		return r.Keep.Keep(&rec)
	})
	if err == nil {
		err = r.Keep.Sync()
	}
	if err != nil {
		return nil, err // nothing of it was sent, nor counted
	}
	var left []*keyChange
	for _, s := range steps {
		torn := false
		for _, n := range s.with() {
			torn = torn || seen[n] != nil && seen[n].Torn
		}
		switch now := seen[string(s.key)]; {
		case now == nil:
			r.count(s, journal.KeyCounts{Gone: 1})
			left = append(left, s)
		case now.Torn || torn || items[string(s.key)] != nil && (s.sums == nil || s.texts > maxTexts):
			r.leave(s.entry, plan.NotKept, s.key, s.db)
			left = append(left, s)
		default:
			s.Idle, s.was = 0, now
			out = append(out, s)
		}
	}
	return out, r.try(left)
}

// kepts deletes values that are still as they were kept, as it is seen by reading them, after the loads that are under
// way, so that these store nothing.
func (r *changes) kepts(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	for i, s := range steps {
		var err error
		for _, n := range s.with() {
			err = errors.Join(err, c.Do(ctx, c.B().Unlink().Key(n).Build()).Error())
		}
		if err != nil {
			r.unknown(steps[i:])
			return err
		}
		said, doubt, err := r.remove(ctx, c, s, string(s.key), s.was, true)
		switch {
		case err != nil:
			r.unknown(steps[i:])
			return err
		case said == "done", said == "gone" && doubt:
			r.count(s, journal.KeyCounts{Changed: 1})
		default:
			_ = r.stays(s, said)
		}
	}
	return nil
}

// Bounds of an item that is kept: a script compares its texts.
const (
	maxTexts  = 512 << 10
	maxFields = 1000
)

// read notes the texts of an item. nil: it is none.
func (s *keyChange) read(k *source.Content) error {
	if s == nil || k.Kind != source.Hash {
		return nil
	}
	if k.Part == 0 {
		s.sums, s.texts = map[string]string{}, 0
	}
	note := func(elements [][]byte, _ bool) error {
		for ; len(elements) > 1; elements = elements[2:] {
			if s.texts += len(elements[0]) + len(elements[1]); s.texts > maxTexts || len(s.sums) == maxFields {
				s.texts = maxTexts + 1
				return nil
			}
			sum := sha1.Sum(elements[1])
			s.sums[string(elements[0])] = hex.EncodeToString(sum[:])
		}
		return nil
	}
	if k.Payload == nil {
		return note(k.Elements, k.More)
	}
	return dump.Elements(k.Payload, k.RDB, 0, note)
}

// maxTried bounds how many keys are remembered that were kept and not deleted.
const maxTried = 100_000

var errTried = errors.New("too many keys are written to while they are deleted: run it again when fewer are, with a " +
	"new file for what it deletes")

// try notes the keys of a batch that were kept and not deleted: SCAN may yield a key twice, and
// a restore takes the first of two values.
func (r *changes) try(steps []*keyChange) error {
	if r.Keep == nil {
		return nil
	}
	for _, s := range steps {
		if !s.done {
			if r.tried == nil {
				r.tried = map[string]bool{}
			}
			r.tried[strconv.Itoa(s.db)+" "+string(s.key)] = true
		}
	}
	if len(r.tried) > maxTried {
		return errTried
	}
	return nil
}

// untried leaves alone the keys that were kept before.
func (r *changes) untried(steps []*keyChange) []*keyChange {
	out := steps[:0:0]
	for _, s := range steps {
		if r.tried[strconv.Itoa(s.db)+" "+string(s.key)] {
			r.leave(s.entry, plan.Changed, s.key, s.db)
			continue
		}
		out = append(out, s)
	}
	return out
}
