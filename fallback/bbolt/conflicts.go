package bbolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/keywright/keywright/fallback"
)

// Reject implements fallback.Store: one transaction.
func (s *Store) Reject(_ context.Context, id string, found fallback.Record) (out []fallback.Conflict, err error) {
	err = s.update(func(x *tx) error {
		for _, seq := range x.of(id) {
			e, _, err := x.take(seq)
			if err != nil {
				return err
			}
			out = append(out, e.Against(found))
			if err := x.keep(out[len(out)-1]); err != nil {
				return err
			}
		}
		found.Pending = 0
		return errors.Join(x.set(id, found), x.forget())
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// of returns the numbers of the entries of an item.
func (x *tx) of(id string) (out [][]byte) {
	prefix := itemKey(id)
	c := x.items.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		out = append(out, bytes.Clone(k[len(prefix):]))
	}
	return out
}

func (x *tx) keep(c fallback.Conflict) error {
	data, err := c.MarshalBinary()
	if err != nil {
		return err
	}
	x.totals.conflicts++
	return x.conflicts.Put(sequenceKey(c.Seq), data)
}

// forget lets the oldest conflicts go that are too many.
func (x *tx) forget() error {
	for x.totals.conflicts > int64(x.s.limits.Conflicts) {
		k, _ := x.conflicts.Cursor().First()
		if err := x.conflicts.Delete(k); err != nil {
			return err
		}
		x.totals.conflicts--
	}
	return nil
}

// Conflicts implements fallback.Store.
func (s *Store) Conflicts(context.Context) (out []fallback.Conflict, err error) {
	err = s.view(func(x *tx) error {
		return x.conflicts.ForEach(func(_, data []byte) error {
			var c fallback.Conflict
			out = append(out, c)
			return out[len(out)-1].UnmarshalBinary(data)
		})
	})
	return out, err
}

// Settled implements fallback.Store: one transaction.
func (s *Store) Settled(_ context.Context, seq uint64) error {
	return s.update(func(x *tx) error {
		for k, _ := x.conflicts.Cursor().First(); k != nil &&
			binary.BigEndian.Uint64(k) <= seq; k, _ = x.conflicts.Cursor().First() {
			if err := x.conflicts.Delete(k); err != nil {
				return err
			}
			x.totals.conflicts--
		}
		return nil
	})
}

// Stats implements fallback.Store.
func (s *Store) Stats(context.Context) (out fallback.Stats, err error) {
	err = s.view(func(x *tx) error {
		out = fallback.Stats{Copies: int(x.totals.copies), CopyBytes: x.copyBytes, Pending: int(x.pending),
			PendingBytes: x.pendingBytes,
			Conflicts:    int(x.totals.conflicts), Evicted: s.evicted.Load()}
		_, first := x.log.Cursor().First()
		if first == nil {
			return nil
		}
		var e fallback.Entry
		err := e.UnmarshalBinary(first)
		out.Oldest = e.At
		return err
	})
	return out, err
}
