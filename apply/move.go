package apply

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/keywright/keywright/apply/content"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
)

// movedKeys says how many keys are moved at a time: their values are in memory.
const movedKeys = 64

// moves says how often a key that is written to meanwhile is copied again.
const moves = 3

// read describes what is known of a key's value.
type read struct {
	compare.Fact
	sum  string    // SHA-1 of a value that was read in one step, and is written as it is
	left plan.Code // why it cannot be written under its new name; "": it can
}

func (a *read) same(b *read) bool { return a.SameValue(&b.Fact) && a.Expires == b.Expires }

// look reads keys. each is called with each content, unless it is nil.
func (r *changes) look(ctx context.Context, db int, names []string, each func(*source.Content) error) (map[string]*read,
	error) {
	if r.Live == nil {
		return nil, errNoReader
	}
	list, out := make([][]byte, len(names)), map[string]*read{}
	for i, n := range names {
		list[i] = []byte(n)
	}
	var facts compare.Facts
	err := r.Live.Ask(ctx, db, list, func(batch []source.Content) error {
		wait.Answered(ctx)
		for i := range batch {
			c := &batch[i]
			if each != nil && c.Lost == "" {
				if err := each(c); err != nil {
					return err
				}
			}
			r.take(&facts, c, out)
		}
		return nil
	})
	return out, err
}

// take notes a content, as it is under the new name of its key.
func (r *changes) take(facts *compare.Facts, c *source.Content, out map[string]*read) {
	name := string(c.Name)
	how := r.content[name]
	err := content.Rename(c, how, func(part *source.Content) error {
		f, done, err := facts.Take(part, name)
		if !done {
			return nil
		}
		seen := &read{Fact: f}
		if seen.There = true; err != nil {
			seen.Torn = true
		}
		if c.Payload != nil && how == nil {
			sum := sha1.Sum(c.Payload)
			seen.sum = hex.EncodeToString(sum[:])
		}
		out[name] = seen
		return nil
	})
	if err != nil {
		out[name] = &read{Fact: compare.Fact{There: true, Torn: true}, left: plan.OtherType}
		if errors.Is(err, indexrecord.ErrForm) {
			out[name].left = plan.NewerForm
		}
	}
}

// newContent returns how values are written under the new names of keys.
func newContent(steps []*keyChange) map[string]*plan.Content {
	out := map[string]*plan.Content{}
	for _, s := range steps {
		if s.Content != nil {
			out[string(s.key)] = s.Content
		}
	}
	return out
}

// move copies keys to their new names in other slots, compares both, and removes each old
// one that is still as it was copied.
func (r *changes) move(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	db := steps[0].db
	r.content = newContent(steps)
	steps, err := r.mark(ctx, c, steps)
	if err != nil {
		return err
	}
	marked := steps
	defer func() { r.unmark(ctx, c, marked) }()
	there, err := r.look(ctx, db, newNames(steps), nil)
	if err != nil {
		r.unknown(steps)
		return err
	}
	for attempt := 0; len(steps) > 0; attempt++ {
		olds, err := r.duplicate(ctx, db, steps, there)
		if err != nil {
			r.unknown(steps)
			return err
		}
		news, err := r.look(ctx, db, newNames(steps), nil)
		if err != nil {
			r.unknown(steps)
			return err
		}
		if r.copied != nil {
			r.copied()
		}
		var again []*keyChange
		for i, s := range steps {
			changed, err := r.moved(ctx, c, s, olds[string(s.key)], news[s.To], there[s.To] != nil, attempt+1 < moves)
			if err != nil {
				r.unknown(append(again, steps[i+1:]...))
				return err
			}
			if changed {
				again = append(again, s)
			}
		}
		steps = again
	}
	return nil
}

// RenamingPrefix begins the names of keys that say which copies a run is making, so that
// the next one knows those of a run that was killed. Such a key has a TTL of a day.
const RenamingPrefix = selection.RenamingPrefix

const marksFor = 24 * time.Hour

// markOf returns the name of such a key.
func markOf(key []byte, to string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", len(key), key, to))
	return RenamingPrefix + hex.EncodeToString(sum[:16])
}

// mark notes the copies that are made, and leaves the keys alone whose new name is there
// without such a note: equal values are not one key.
func (r *changes) mark(ctx context.Context, c kernel.Raw, steps []*keyChange) (out []*keyChange, err error) {
	var list kernel.Commands
	for _, s := range steps {
		for _, name := range []string{string(s.key), s.To, markOf(s.key, s.To)} {
			list = append(list, c.B().Exists().Key(name).Build())
		}
	}
	var notes kernel.Commands
	seen := map[string]bool{}
	replies := c.DoMulti(ctx, list...)
	for i, s := range steps {
		old, err0 := replies[3*i].AsInt64()
		there, err1 := replies[3*i+1].AsInt64()
		noted, err2 := replies[3*i+2].AsInt64()
		if err := errors.Join(err0, err1, err2); err != nil {
			r.unknown(append(out, steps[i:]...))
			return nil, err
		}
		switch {
		case old == 0, seen[string(s.key)]: // SCAN may yield a key twice
			r.count(s, journal.KeyCounts{Gone: 1})
			continue
		case there > 0 && noted == 0:
			r.leave(s.entry, plan.Taken, s.key, s.db)
			continue
		}
		seen[string(s.key)] = true
		out = append(out, s)
		notes = append(notes, c.B().Set().Key(markOf(s.key, s.To)).Value(r.id).Px(marksFor).Build())
	}
	for _, reply := range c.DoMulti(ctx, notes...) {
		if err := reply.Error(); err != nil {
			r.unknown(out)
			return nil, err
		}
	}
	return out, nil
}

// unmark removes the notes of keys of which it is known what became.
func (r *changes) unmark(ctx context.Context, c kernel.Raw, steps []*keyChange) {
	var list kernel.Commands
	for _, s := range steps {
		if !s.lost {
			list = append(list, c.B().Unlink().Key(markOf(s.key, s.To)).Build())
		}
	}
	for _, reply := range c.DoMulti(ctx, list...) {
		_ = reply.Error() // it ends by itself
	}
}

// newNames returns the new names of keys.
func newNames(steps []*keyChange) []string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = s.To
	}
	return out
}

// duplicate reads keys and writes those under their new names that are not there. What is
// there is left. It returns what was read.
func (r *changes) duplicate(ctx context.Context, db int, steps []*keyChange, there map[string]*read) (map[string]*read,
	error) {
	names, to := make([]string, len(steps)), map[string]string{}
	for i, s := range steps {
		names[i], to[string(s.key)] = string(s.key), s.To
	}
	var olds map[string]*read
	var failed error
	records := iter.Seq2[*archive.Record, error](func(yield func(*archive.Record, error) bool) {
		olds, failed = r.look(ctx, db, names, func(c *source.Content) error {
			if there[to[string(c.Name)]] != nil {
				return nil
			}
			rec := archive.Of(c, archive.Undeclared)
			if !yield(&rec, nil) {
				return errStopped
			}
			return nil
		})
		if failed != nil && !errors.Is(failed, errStopped) {
			yield(nil, failed)
		}
	})
	_, err := restore.Restore(ctx, r.clients, records,
		restore.Options{Existing: restore.Fail, Writers: 1, Place: func(rec *archive.Record) (restore.Place, error) {
			return restore.Place{Key: []byte(to[string(rec.Key)]), DB: db, Expires: rec.Expires,
				Content: r.content[string(rec.Key)]}, nil
		}})
	return olds, err
}

// moved removes a key that was copied, and counts it. It is true if the key is to be copied
// again, since it was written to meanwhile.
func (r *changes) moved(ctx context.Context, c kernel.Raw, s *keyChange, old, now *read,
	before, more bool) (again bool, err error) {
	switch {
	case old == nil: // it is gone; a copy of an earlier, killed run may be there
		r.count(s, journal.KeyCounts{Gone: 1})
		return false, nil
	case old.left != "" && now == nil:
		r.leave(s.entry, old.left, s.key, s.db)
		return false, nil
	case now == nil && old.Expires > 0 && old.Expires <= time.Now().UnixMilli():
		r.count(s, journal.KeyCounts{Gone: 1})
		return false, nil
	case now == nil:
		r.refuse(s, plan.Refused)
		return false, nil
	case !old.same(now):
		if before {
			r.leave(s.entry, plan.Taken, s.key, s.db)
			return false, nil
		}
		if old.Torn && !now.Torn { // written to while it was read in parts: there is no whole copy
			return r.takeBack(ctx, c, s, now, more)
		}
		r.leave(s.entry, plan.Taken, s.key, s.db)
		return false, nil
	}
	said, doubt, err := r.remove(ctx, c, s, string(s.key), old, true)
	switch {
	case err != nil:
		r.count(s, journal.KeyCounts{Unknown: 1})
		return false, err
	case said == "done", said == "gone" && doubt:
		r.count(s, journal.KeyCounts{Changed: 1})
		return false, nil
	case before: // not our copy
		return false, r.stays(s, said)
	case said == "changed":
		return r.takeBack(ctx, c, s, now, more)
	}
	if err := r.unmake(ctx, c, s, now); err != nil {
		r.count(s, journal.KeyCounts{Unknown: 1})
		return false, err
	}
	return false, r.stays(s, said)
}

// stays counts a key that keeps its name for what the script says.
func (r *changes) stays(s *keyChange, said string) error {
	if said == "gone" {
		r.count(s, journal.KeyCounts{Gone: 1})
		return nil
	}
	r.leave(s.entry, refusals[said], s.key, s.db)
	return nil
}

// takeBack removes a copy that is not of the last value any more.
func (r *changes) takeBack(ctx context.Context, c kernel.Raw, s *keyChange, now *read, more bool) (again bool,
	err error) {
	if err = r.unmake(ctx, c, s, now); err != nil {
		r.count(s, journal.KeyCounts{Unknown: 1})
		return false, err
	}
	if !more {
		r.leave(s.entry, plan.Changed, s.key, s.db)
	}
	return more, nil
}

// unmake removes a copy, unless another run has taken it over since: that one may have
// removed the old key.
func (r *changes) unmake(ctx context.Context, c kernel.Raw, s *keyChange, now *read) error {
	whose, err := c.Do(ctx, c.B().Get().Key(markOf(s.key, s.To)).Build()).ToString()
	if err != nil && !kernel.IsNil(err) {
		return err
	}
	if whose != r.id {
		return nil
	}
	_, _, err = r.remove(ctx, c, s, s.To, now, false)
	return err
}

// remove removes a key if it is still as it was read, and, where that is asked for, the
// conditions of the change hold. doubt says that a reply was lost before.
func (r *changes) remove(ctx context.Context, c kernel.Raw, s *keyChange, key string, was *read,
	conditions bool) (said string, doubt bool, err error) {
	keys, sets := []string{key}, 0
	if conditions {
		keys, sets = s.conditions(key), len(s.Busy)
	}
	script := func(sum string) kernel.Command {
		return eval(c.B(), "rename", keys, "drop", strconv.Itoa(sets), sum,
			strconv.FormatInt(was.Expires, 10), "")
	}
	for attempt := range restore.Attempts {
		if attempt > 0 && !restore.Pause(ctx, attempt, err) {
			break
		}
		if was.sum != "" {
			said, err = c.Do(ctx, script(was.sum)).ToString()
		}
		// The bytes of an equal value may differ, as while a table grows.
		if was.sum == "" || err == nil && said == "changed" {
			said, err = r.removeLarge(ctx, c, s.db, key, was, script(""))
		}
		if what, _ := restore.Judge(err); err == nil || what != restore.Unknown {
			wait.Answered(ctx)
			break
		}
		doubt = true
	}
	return said, doubt, err
}

// removeLarge compares a key with what it was, and removes it unless it is written to
// meanwhile.
func (r *changes) removeLarge(ctx context.Context, c kernel.Raw, db int, key string, was *read,
	script kernel.Command) (said string, err error) {
	err = c.Dedicated(func(d kernel.Dedicated) error {
		if err := d.Do(ctx, d.B().Watch().Key(key).Build()).Error(); err != nil {
			return err
		}
		now, err := r.look(ctx, db, []string{key}, nil)
		if err == nil && (now[key] == nil || !now[key].same(was)) {
			said = map[bool]string{true: "gone", false: "changed"}[now[key] == nil]
			return d.Do(ctx, d.B().Unwatch().Build()).Error()
		}
		if err != nil {
			return err
		}
		replies := d.DoMulti(ctx, d.B().Multi().Build().SetSlot(key), script, d.B().Exec().Build().SetSlot(key))
		list, err := replies[2].ToArray()
		switch {
		case kernel.IsNil(err):
			said = "changed"
			return nil
		case err != nil:
			return errors.Join(replies[1].Error(), err)
		}
		said, err = list[0].ToString()
		return err
	})
	return said, err
}

// drop removes keys that are the same under their new names.
func (r *changes) drop(ctx context.Context, c kernel.Raw, steps []*keyChange) error {
	names := newNames(steps)
	r.content = newContent(steps)
	for _, s := range steps {
		names = append(names, string(s.key))
	}
	seen, err := r.look(ctx, steps[0].db, names, nil)
	if err != nil {
		r.unknown(steps)
		return err
	}
	for i, s := range steps {
		old, now := seen[string(s.key)], seen[s.To]
		switch {
		case old == nil:
			r.count(s, journal.KeyCounts{Gone: 1})
			continue
		case now == nil:
			r.leave(s.entry, plan.NotCopied, s.key, s.db)
			continue
		case !s.Do.(plan.Drop).Superseded && !old.same(now):
			r.leave(s.entry, plan.Differs, s.key, s.db)
			continue
		}
		said, doubt, err := r.remove(ctx, c, s, string(s.key), old, true)
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

// errStopped ends a reading whose consumer wants no more.
var errStopped = errors.New("no more is wanted")
