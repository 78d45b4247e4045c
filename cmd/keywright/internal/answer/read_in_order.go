package answer

import (
	"context"
	"slices"
	"sync"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/keyspace"
)

// atOnce says how many constructs are asked for at once: their commands share round trips.
const atOnce = 32

// instance represents a construct of an entry that there is.
type instance struct {
	entry  *keyspace.Entry
	values bind.Values
	at     int // in the list of all
}

// found gives what there is of entries. Entries that cannot be looked for are gaps.
func (r *Reader) found(ctx context.Context, entries []*keyspace.Entry, g *Gaps) (out []instance, err error) {
	for _, e := range entries {
		all, err := r.instances(ctx, e, g)
		if err := g.Pass(ctx, e.Name, "", err); err != nil {
			return out, err
		}
		for _, values := range all {
			out = append(out, instance{e, values, len(out)})
		}
	}
	return out, nil
}

// readInOrder reads things, so many at once, each of which costs the server so many commands, and hands
// on what each of them gave, in their order.
func readInOrder[I, R any](ctx context.Context, r *Reader, all []I, cost func(I) int, read func(I) (R, error),
	each func(I, R, error) error) error {
	for some := range slices.Chunk(all, atOnce) {
		commands := 0
		for _, one := range some {
			commands += cost(one)
		}
		if err := r.pace(ctx, commands); err != nil {
			return err
		}
		values, errs := make([]R, len(some)), make([]error, len(some))
		var reading sync.WaitGroup
		for i, one := range some {
			reading.Go(func() { values[i], errs[i] = read(one) })
		}
		reading.Wait()
		for i, one := range some {
			if err := each(one, values[i], errs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// costs says that each of some things costs the same.
func costs[I any](commands int) func(I) int { return func(I) int { return commands } }
