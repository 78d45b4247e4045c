package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// bringBatch says how many records are brought to a file together.
const bringBatch = 2000

// bring makes the side that follows what the side that decides is, for all of a part: for a
// change of phase that begins to write a side which was not written before.
func (m *Migration) bring(ctx context.Context, part string, is phase.State, epoch uint64) (n int, err error) {
	var file string
	var ids []record.ID
	refused := &RefusedError{}
	flush := func() error {
		some, err := m.fitting(ctx, part, epoch, ids, refused)
		if ids = nil; err != nil {
			return err
		}
		for len(some) > 0 {
			k := min(len(some), bringBatch)
			if err := m.pull(ctx, part, epoch, file, some[:k], true); err != nil {
				return err
			}
			some, n = some[k:], n+k
		}
		return nil
	}
	s := &sides.Sweep{Sides: m.sides, Part: part, Epoch: epoch}
	s.Found = func(in string, g sources.Group, _ []*record.Record, _ []record.Difference) error {
		if in != file || len(ids) >= bringBatch {
			if err := flush(); err != nil {
				return err
			}
		}
		file, ids = in, append(ids, g.ID)
		return nil
	}
	if err = s.Run(ctx); err == nil {
		err = flush()
	}
	if err == nil && refused.Count > 0 {
		return n, refused
	}
	return n, err
}

// RefusedError represents records of Redis that no file can have, so that the files cannot decide.
type RefusedError struct {
	Count   int64
	Rejects []*record.Reject // at most 100
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d records of Redis cannot be in a file, such as %v", e.Count, e.Rejects[0])
}

// Unwrap gives the first.
func (e *RefusedError) Unwrap() error { return e.Rejects[0] }

// fitting returns the records that a file can have, and notes the others.
func (m *Migration) fitting(ctx context.Context, part string, epoch uint64, ids []record.ID,
	refused *RefusedError) (out []record.ID, err error) {
	groups := make([]sources.Group, len(ids))
	for i, id := range ids {
		groups[i].ID = id
	}
	for some := range slices.Chunk(groups, store.SweepBatch) {
		stored, err := m.server.TakeAll(ctx, part, epoch, some)
		if err != nil {
			return nil, err
		}
		for i, g := range some {
			if bad := m.unfitOf(stored[i]); bad == nil {
				out = append(out, g.ID)
			} else if refused.Count++; len(refused.Rejects) < sides.MaxListed {
				refused.Rejects = append(refused.Rejects, bad)
			}
		}
	}
	return out, nil
}

// unfitOf returns why no file can have a record, nil if one can.
func (m *Migration) unfitOf(records []*record.Record) *record.Reject {
	for _, r := range records {
		if bad := new(record.Reject); errors.As(m.docs.Fits(r), &bad) {
			return bad
		}
	}
	return nil
}
