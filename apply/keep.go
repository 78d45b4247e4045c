package apply

import (
	"context"

	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/redis/rueidis"
)

// Keeper holds what is deleted, so that a restore brings it back.
type Keeper interface {
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
	if steps, err = r.unused(ctx, c.Raw(), steps); err != nil { // reading a key may end its idle time
		return nil, err
	}
	var names []string
	entries := map[string]int{}
	for _, s := range steps {
		for _, n := range append([]string{string(s.key)}, s.With...) {
			if _, twice := entries[n]; !twice {
				names, entries[n] = append(names, n), s.entry
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	seen, err := r.look(ctx, steps[0].db, names, func(k *source.Content) error {
		rec := archive.Of(k, entries[string(k.Name)])
		return r.Keep.Keep(&rec)
	})
	if err == nil {
		err = r.Keep.Sync()
	}
	if err != nil {
		r.unknown(steps)
		return nil, err
	}
	for _, s := range steps {
		torn := false
		for _, n := range s.With {
			torn = torn || seen[n] != nil && seen[n].Torn
		}
		switch now := seen[string(s.key)]; {
		case now == nil:
			r.count(s, KeyCounts{Gone: 1})
		case now.Torn || torn:
			r.leave(s.entry, plan.NotKept, s.key, s.db)
		default:
			s.Idle, s.was = 0, now
			out = append(out, s)
		}
	}
	return out, nil
}

// kepts deletes large values that are still as they were kept.
func (r *changes) kepts(ctx context.Context, c rueidis.Client, steps []*keyChange) error {
	for i, s := range steps {
		said, doubt, err := r.remove(ctx, c, s, string(s.key), s.was, true)
		switch {
		case err != nil:
			r.unknown(steps[i:])
			return err
		case said == "done", said == "gone" && doubt:
			r.count(s, KeyCounts{Changed: 1})
		default:
			_ = r.stays(s, said)
		}
	}
	return nil
}
