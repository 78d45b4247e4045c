package migrate

import (
	"context"
	"errors"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// maxOfKey bounds the records that List gives.
const maxOfKey = 100_000

// maxCompared says how many records of a list are compared with the other side.
const maxCompared = 16

// List gives all records of one key of a move, as the phase of its part says: the fields of a
// hash, the members of a set or sorted set. They have no order. Where Redis does not answer,
// in the phase live, the files do, if no record of the key has a mark.
func (m *Migration) List(ctx context.Context, move, key string) ([]*record.Record, error) {
	part, mv, err := m.part(record.ID{Move: move, Key: key})
	if err != nil {
		return nil, err
	}
	if listedIn[mv.Kind] == 0 {
		return m.Read(ctx, record.ID{Move: move, Key: key})
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.config.Wait, errWaited)
	defer cancel()
	for {
		is, err := m.settled(ctx, part)
		if err != nil {
			return nil, m.wrong("list", part, err)
		}
		out, err := m.listOnce(ctx, part, mv, is, key)
		if errors.Is(err, phase.ErrEpoch) && disk.Pause(ctx, time.Millisecond) == nil {
			continue
		}
		if err == nil && phase.Of(is.Phase).Compares != phase.None {
			for _, r := range out[:min(len(out), maxCompared)] {
				m.shadow.Compare(r.ID())
			}
		}
		return out, m.wrong("list", part, err)
	}
}

func (m *Migration) listOnce(ctx context.Context, part string, mv MoveOf, is PartState,
	key string) ([]*record.Record, error) {
	defer m.flight.begin(part, is.Epoch)()
	rule := phase.Of(is.Phase)
	if rule.Reads == phase.Files {
		return m.listFiles(ctx, mv, key)
	}
	out, err := m.listRedis(ctx, part, mv, is.Epoch, key)
	class, _ := keywright.ClassOf(err)
	if err == nil || class != keywright.Retryable || rule.Fallback != phase.Files || ctx.Err() != nil {
		return out, err
	}
	open, failed := m.openMarks(part)
	if failed != nil || open.HasKey(key) {
		return nil, err
	}
	out, failed = m.listFiles(ctx, mv, key)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	m.stats.fallbacks.Add(1)
	return out, nil
}

// listFiles reads the file that has a key. Of records that are there twice the last counts.
func (m *Migration) listFiles(ctx context.Context, mv MoveOf, key string) (out []*record.Record, err error) {
	file, err := m.docs.File(ctx, record.ID{Move: mv.Name, Key: key})
	if err != nil {
		return nil, &keywright.Error{Class: keywright.Invalid, Op: "list", Entry: mv.Name, Err: err}
	}
	in, err := m.disk.Open(file)
	if err != nil || in == nil {
		return nil, err
	}
	defer in.Close()
	at, now := map[string]int{}, time.Now()
	err = m.docs.Read(in, file, nil, func(r *record.Record) error {
		if id := r.ID(); id.Move != mv.Name || id.Key != key || !r.Ends.IsZero() && !r.Ends.After(now) {
			return nil
		}
		return addByName(&out, at, r)
	}, func(bad *record.Reject) error { // a list without it would not be the whole
		if id, _ := bad.Of(); id.Move == mv.Name && (id.Key == key || id.Key == "") {
			return bad
		}
		return nil
	})
	return out, err
}

// addByName adds a record, in the place of one of the same name.
func addByName(out *[]*record.Record, at map[string]int, r *record.Record) error {
	if i, twice := at[r.Sub]; twice {
		(*out)[i] = r
		return nil
	}
	if len(*out) >= maxOfKey {
		return ErrTooMany
	}
	at[r.Sub], *out = len(*out), append(*out, r)
	return nil
}

// listedIn says how many texts of a page are one record, by its kind; 0: a key is one record.
var listedIn = map[keyspace.RecordKind]int{keyspace.FieldRecord: 2, keyspace.MemberRecord: 1, keyspace.ScoredRecord: 2}

// listRedis reads a key in pages, each with the epoch of its step.
func (m *Migration) listRedis(ctx context.Context, part string, mv MoveOf, epoch uint64,
	key string) (out []*record.Record, err error) {
	at := map[string]int{}
	for cursor := "0"; ; {
		a, err := m.server.List(part, mv.Kind, key, cursor, m.server.Seen.Of(part)).Do(ctx)
		if err == nil {
			err = a.Of(epoch)
		}
		if err != nil {
			return nil, err
		}
		values, step := a.More[3:], listedIn[mv.Kind]
		for ; len(values) >= step; values = values[step:] {
			id := record.ID{Move: mv.Name, Key: key, Sub: values[0]}
			one := append([]string{"", a.More[1]}, values[step-1])
			found, err := m.server.Opened(mv, id, store.Answer{More: one})
			if err != nil {
				return nil, err
			}
			for _, r := range found {
				if err := addByName(&out, at, r); err != nil {
					return nil, err
				}
			}
		}
		if cursor = a.More[2]; cursor == "0" {
			return out, nil
		}
	}
}
