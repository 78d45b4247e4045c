package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Change describes what a record is to be. Records is one, or the elements of a list in their
// order; none: the record is taken away.
type Change struct {
	ID      record.ID
	Records []*record.Record

	update func(old []*record.Record) ([]*record.Record, error) // instead of Records
}

// Update makes of a record what do makes of it, as one step: no other write comes in
// between. do may be called more than once; with none the record is taken away. An error of
// it is returned, and nothing is written.
func (m *Migration) Update(ctx context.Context, id record.ID, do func(old []*record.Record) ([]*record.Record,
	error)) error {
	return m.Write(ctx, Change{ID: id, update: do})
}

// Write makes records of one part what is given, on the sides that the phase says. It is
// acknowledged when the side that decides has them; if the other side cannot be written
// now, marks on the disk say so until a replay has made them equal.
//
// Records that are one thing in a document, as those of two moves from one path, are
// written in one call: in one step in Redis, at most 100, and in one step in each file. An
// error of class Partial says that the records of some files were written.
func (m *Migration) Write(ctx context.Context, changes ...Change) error {
	part := ""
	for i, c := range changes {
		of, _, err := m.part(c.ID)
		if err != nil {
			return err
		}
		if i > 0 && of != part {
			return m.wrong("write", part, fmt.Errorf("records of the parts %s and %s in one write: %w", part, of, errUnknown))
		}
		part = of
	}
	if len(changes) == 0 {
		return nil
	}
	for i, c := range changes {
		if slices.ContainsFunc(changes[:i], func(other Change) bool { return other.ID == c.ID }) {
			return m.wrong("write", part, errTwice)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.config.Wait, errWaited)
	defer cancel()
	for {
		is, err := m.settled(ctx, part)
		if err != nil {
			return m.wrong("write", part, err)
		}
		err = m.writeOnce(ctx, part, is, changes)
		switch {
		case errors.Is(err, store.ErrAgain):
			if err := m.renew(ctx); err != nil {
				return m.wrong("write", part, err)
			}
		case errors.Is(err, phase.ErrChanging), errors.Is(err, phase.ErrEpoch), errors.Is(err, store.ErrChanged):
			if ended := disk.Pause(ctx, time.Millisecond); ended != nil {
				return m.wrong("write", part, err)
			}
		default:
			return m.wrong("write", part, err)
		}
	}
}

// Delete takes a record away.
func (m *Migration) Delete(ctx context.Context, id record.ID) error {
	return m.Write(ctx, Change{ID: id})
}

// errTwice reports a write that says twice what a record is to be.
var errTwice = errors.New("a record is in the write twice")

// large reports whether a record has more values than one step of the server takes.
func (m *Migration) large(id record.ID, records []*record.Record) bool {
	return store.Item{Move: m.moves[id.Move], Records: records}.Size() > store.MaxValues
}

var errWaited = errors.New("it has taken too long")

func (m *Migration) writeOnce(ctx context.Context, part string, is PartState, changes []Change) error {
	defer m.flight.begin(part, is.Epoch)()
	if err := errors.Join(m.takesPart("write", part), m.disk.At("begin")); err != nil {
		return err
	}
	rule := phase.Of(is.Phase)
	ids := make([]record.ID, len(changes))
	for i, c := range changes {
		ids[i] = c.ID
	}
	if rule.Authority != phase.Files || rule.Both() {
		values := 0
		for _, c := range changes {
			values += store.Item{Move: m.moves[c.ID.Move], Records: c.Records}.Size()
		}
		if values > store.MaxValues {
			return ErrTooLarge
		}
	}
	if !rule.Both() {
		return m.writeAuthority(ctx, part, is, changes, nil)
	}
	seqs, marked, err := m.marks.Add(part, ids, time.Now())
	if err != nil {
		return err
	}
	err = m.writeAuthority(ctx, part, is, changes, marked)
	if err != nil {
		m.settleFailed(seqs, err)
		return err
	}
	if rule.Lags {
		m.marks.End(seqs, false)
		return nil
	}
	err = m.sync(ctx, part, is.State, is.Epoch, ids, false)
	if err != nil {
		m.stats.deferred.Add(1)
	}
	m.marks.End(seqs, err == nil)
	return nil
}

// settleFailed ends the marks of a write that has failed and changed nothing. Those of one
// that may have, or may yet, change something wait for a replay.
func (m *Migration) settleFailed(seqs []uint64, err error) {
	var doubt *sources.InDoubt
	switch {
	case !errors.As(err, &doubt):
		m.marks.End(seqs, true)
	case doubt.Done == nil:
		m.marks.End(seqs, false)
	default:
		go func() { // it ends with the write
			<-doubt.Done
			m.marks.End(seqs, false)
		}()
	}
}

// writeAuthority writes the side that decides. An error that is not in doubt has changed
// nothing.
func (m *Migration) writeAuthority(ctx context.Context, part string, is PartState, changes []Change,
	marked *marks.Flush) error {
	if phase.Of(is.Phase).Authority == phase.Files {
		return m.writeFiles(ctx, part, is, changes, marked)
	}
	if marked != nil {
		if err := marked.Wait(); err != nil {
			return err
		}
	}
	if m.doubt.Load() {
		return store.ErrAgain
	}
	if err := m.disk.At("script"); err != nil {
		return err
	}
	p := store.Put{Part: part, Epoch: is.Epoch, Process: m.id, Name: m.writingName(), Seen: m.server.Seen.Of(part), Now: time.Now()}
	for _, c := range changes {
		x := store.Item{Move: m.moves[c.ID.Move], ID: c.ID, Records: c.Records, Expects: c.update != nil}
		if c.update != nil {
			var err error
			if x.Records, x.Was, err = m.readRaw(ctx, part, x.Move, is.Epoch, c.ID); err == nil {
				x.Records, err = c.update(x.Records)
			}
			if err != nil {
				return err
			}
		}
		if phase.Of(is.Phase).Both() { // the files could not follow
			if bad := m.unfitOf(x.Records); bad != nil {
				return bad
			}
		}
		p.Items = append(p.Items, x)
	}
	_, err := m.server.Write(ctx, p)
	if class, known := keywright.ClassOf(err); known && class == keywright.UnknownOutcome {
		m.doubt.Store(true)
		return &sources.InDoubt{Err: err}
	}
	if err != nil {
		return err
	}
	m.config.wrote(phase.Redis, part, is.Epoch, false)
	if err := m.disk.At("answered"); err != nil {
		return &sources.InDoubt{Err: err}
	}
	return nil
}

// writeFiles writes records to their files, each file in one step.
func (m *Migration) writeFiles(ctx context.Context, part string, is PartState, changes []Change,
	marked *marks.Flush) error {
	of := map[string][]Change{}
	for _, c := range changes {
		file, err := m.docs.File(ctx, c.ID)
		if err != nil {
			return &keywright.Error{Class: keywright.Invalid, Op: "write", Entry: c.ID.Move, Err: err}
		}
		of[file] = append(of[file], c)
	}
	done := 0
	for _, file := range slices.Sorted(maps.Keys(of)) {
		all := of[file]
		err := m.files.Commit(ctx, file, &sources.Change{Part: part, Epoch: is.Epoch, Marked: marked,
			Alone: slices.ContainsFunc(all, func(c Change) bool { return c.update != nil }),
			Edits: func(context.Context) ([]record.Edit, error) {
				return m.editsOfChanges(file, all, phase.Of(is.Phase).Both())
			}})
		switch {
		case err == nil:
			done++
		case done > 0 && !sources.IsDoubt(err):
			return &sources.InDoubt{Err: &keywright.Error{Class: keywright.Partial, Op: "write", Entry: m.config.Name + "." + part,
				Err: err, Hint: "write all of them again"}}
		default:
			return err
		}
	}
	return nil
}

// editsOfChanges returns the edits of changes, under the lock of their file.
func (m *Migration) editsOfChanges(file string, changes []Change, both bool) (out []record.Edit, err error) {
	for _, c := range changes {
		records := c.Records
		if c.update != nil {
			found, err := m.files.Find(file, map[record.ID]bool{c.ID: true})
			if err != nil {
				return nil, err
			}
			old, err := found.Of(c.ID)
			if err != nil {
				return nil, err
			}
			if records, err = c.update(old); err != nil {
				return nil, err
			}
			if both && m.large(c.ID, records) {
				return nil, ErrTooLarge
			}
		}
		out = append(out, sources.EditsOf(m.moves[c.ID.Move], c.ID, records)...)
	}
	return out, nil
}

// Read gives a record as the phase of its part says; none where it is not there. Where
// Redis does not answer, in the phase live, the files do, for a record without a mark.
func (m *Migration) Read(ctx context.Context, id record.ID) ([]*record.Record, error) {
	part, mv, err := m.part(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.config.Wait, errWaited)
	defer cancel()
	for {
		is, err := m.settled(ctx, part)
		if err != nil {
			return nil, m.wrong("read", part, err)
		}
		out, err := m.readOnce(ctx, part, mv, is, id)
		if errors.Is(err, phase.ErrEpoch) && disk.Pause(ctx, time.Millisecond) == nil {
			continue
		}
		if err == nil && phase.Of(is.Phase).Compares != phase.None {
			m.shadow.Compare(id)
		}
		return out, m.wrong("read", part, err)
	}
}

func (m *Migration) readOnce(ctx context.Context, part string, mv MoveOf, is PartState,
	id record.ID) ([]*record.Record, error) {
	defer m.flight.begin(part, is.Epoch)()
	rule := phase.Of(is.Phase)
	if rule.Reads == phase.Files {
		return m.readFiles(ctx, id)
	}
	out, err := m.readRedis(ctx, part, mv, is.Epoch, id)
	class, _ := keywright.ClassOf(err)
	if err != nil && class == keywright.Retryable && rule.Fallback == phase.Files && ctx.Err() == nil {
		return m.fallback(ctx, part, id, err)
	}
	return out, err
}

func (m *Migration) readFiles(ctx context.Context, id record.ID) ([]*record.Record, error) {
	file, err := m.docs.File(ctx, id)
	if err != nil {
		return nil, &keywright.Error{Class: keywright.Invalid, Op: "read", Entry: id.Move, Err: err}
	}
	found, err := m.files.Find(file, map[record.ID]bool{id: true})
	if err != nil {
		return nil, err
	}
	return found.Of(id)
}

func (m *Migration) readRedis(ctx context.Context, part string, mv MoveOf, epoch uint64,
	id record.ID) ([]*record.Record, error) {
	records, _, err := m.readRaw(ctx, part, mv, epoch, id)
	return records, err
}

// readRaw gives a record, and its values as Redis has them.
func (m *Migration) readRaw(ctx context.Context, part string, mv MoveOf, epoch uint64,
	id record.ID) (records []*record.Record, values []string, err error) {
	a, err := m.server.Take(part, mv.Kind, id, m.server.Seen.Of(part)).Do(ctx)
	if err != nil {
		return nil, nil, err
	}
	if records, err = m.takenAt(mv, id, a, epoch); err == nil && len(a.More) > 2 {
		values = a.More[2:]
	}
	return records, values, err
}

// takenAt returns the records of an answer, if its epoch is the one given.
func (m *Migration) takenAt(mv MoveOf, id record.ID, a store.Answer, epoch uint64) ([]*record.Record, error) {
	if err := a.Of(epoch); err != nil {
		return nil, err
	}
	return m.server.Opened(mv, id, a)
}

// fallback reads the files where Redis does not answer. A record with a mark may be older
// there, so that the error stays.
func (m *Migration) fallback(ctx context.Context, part string, id record.ID, cause error) ([]*record.Record, error) {
	open, err := m.openMarks(part)
	if err != nil || open.Has(id) {
		return nil, cause
	}
	out, err := m.readFiles(ctx, id)
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	m.stats.fallbacks.Add(1)
	return out, nil
}
