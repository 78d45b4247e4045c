package migrate

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// sync brings the side that follows to what the side that decides has now. It may be done
// at any time, by anyone, in any order, and again. drain: by the process that changes the
// phase, with the epoch of its change.
func (m *Migration) sync(ctx context.Context, part string, is phase.State, epoch uint64, ids []record.ID,
	drain bool) error {
	byFile := map[string][]record.ID{} // "": no file can have them
	for _, id := range ids {
		file, err := m.docs.File(ctx, id)
		if bad := new(record.Reject); errors.As(err, &bad) && bad.NoFile {
			file, err = "", nil
		}
		if err != nil {
			return err
		}
		byFile[file] = append(byFile[file], id)
	}
	if phase.Of(is.Phase).Authority == phase.Files {
		if drain {
			return m.push(ctx, part, epoch, byFile)
		}
		var errs []error
		for file, ids := range byFile {
			errs = append(errs, m.pushes.Push(ctx, sources.PushTo{Part: part, File: file, Epoch: epoch}, ids))
		}
		return errors.Join(errs...)
	}
	var errs []error
	for file, ids := range byFile {
		errs = append(errs, m.pull(ctx, part, epoch, file, ids, drain))
	}
	return errors.Join(errs...)
}

// push brings records of files to Redis: a ticket first, then the file is read, then Redis
// is written where no later ticket was. Whatever was committed before a later ticket is in
// what its holder has read, so the write with the last ticket has all of it.
func (m *Migration) push(ctx context.Context, part string, epoch uint64, byFile map[string][]record.ID) error {
	ticket, err := m.server.NewTicket(ctx, part, epoch)
	if err != nil {
		return err
	}
	if err := m.disk.At("ticket"); err != nil {
		return err
	}
	for file, ids := range byFile {
		wanted := map[record.ID]bool{}
		for _, id := range ids {
			wanted[id] = true
		}
		found, err := &sources.Found{}, error(nil)
		if file != "" {
			found, err = m.files.Find(file, wanted)
		}
		if err != nil {
			return err
		}
		if err := m.disk.At("read"); err != nil {
			return err
		}
		p := m.server.Follow(part, epoch, ticket, true)
		for id := range wanted {
			records, err := found.Of(id)
			if err != nil { // Redis may have the good one
				return err
			}
			p.Items = append(p.Items, store.Item{Move: m.moves[id.Move], ID: id, Records: records})
		}
		for _, step := range p.Parts() {
			if _, err := m.server.Write(ctx, step); err != nil {
				return err
			}
		}
	}
	return m.disk.At("pushed")
}

// pull brings records of Redis to a file. They are read under the lock of the file, so
// that what is written last was read last.
func (m *Migration) pull(ctx context.Context, part string, epoch uint64, file string, ids []record.ID,
	drain bool) error {
	if file == "" {
		return m.noneOf(ctx, part, epoch, ids)
	}
	return m.files.Commit(ctx, file, &sources.Change{Part: part, Epoch: epoch, Drain: drain,
		Edits: func(ctx context.Context) ([]record.Edit, error) {
			return m.editsFromRedis(ctx, part, epoch, ids)
		}})
}

// noneOf is nil if Redis has none of records that no file can have: both sides are equal then.
func (m *Migration) noneOf(ctx context.Context, part string, epoch uint64, ids []record.ID) error {
	edits, err := m.editsFromRedis(ctx, part, epoch, ids)
	for _, e := range edits {
		if err == nil && !e.Delete {
			_, err = m.docs.File(ctx, e.Record.ID())
		}
	}
	return err
}

func (m *Migration) editsFromRedis(ctx context.Context, part string, epoch uint64,
	ids []record.ID) (out []record.Edit, err error) {
	groups := make([]sources.Group, len(ids))
	for i, id := range ids {
		groups[i].ID = id
	}
	for chunk := range slices.Chunk(groups, store.SweepBatch) {
		stored, err := m.server.TakeAll(ctx, part, epoch, chunk)
		if err != nil {
			return nil, err
		}
		for i, g := range chunk {
			out = append(out, sources.EditsOf(m.moves[g.ID.Move], g.ID, stored[i])...)
		}
	}
	return out, m.disk.At("taken")
}

func (m *Migration) writingName() string { return store.Decimal(m.name.Load()) }

// renew gives this process another name in Redis. What it has sent under the old one does
// nothing when it arrives.
func (m *Migration) renew(ctx context.Context) error {
	m.renewal.Lock()
	defer m.renewal.Unlock()
	next := m.name.Load() + 1
	m.doubt.Store(true)
	if _, err := m.server.Join(m.id, store.Decimal(next)).Do(ctx); err != nil {
		return err
	}
	m.doubt.Store(false) // first: the doubt of a write by the new name must stay
	m.name.Store(next)
	return nil
}

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
	s.Found = func(in string, u store.Unequal) error {
		if u.Fault != nil {
			refused.Add(u.Fault)
			return nil
		}
		if in != file || len(ids) >= bringBatch {
			if err := flush(); err != nil {
				return err
			}
		}
		file, ids = in, append(ids, u.ID)
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

// fitting returns the records that a file can have, and notes the others.
func (m *Migration) fitting(ctx context.Context, part string, epoch uint64, ids []record.ID,
	refused *RefusedError) (out []record.ID, err error) {
	groups := make([]sources.Group, len(ids))
	for i, id := range ids {
		groups[i].ID = id
	}
	for some := range slices.Chunk(groups, store.SweepBatch) {
		stored, unread, err := m.server.TakeEach(ctx, part, epoch, some)
		if err != nil {
			return nil, err
		}
		for i, g := range some {
			if bad := cmp.Or(unread[g.ID], m.unfitOf(stored[i])); bad == nil {
				out = append(out, g.ID)
			} else {
				refused.Add(bad)
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
