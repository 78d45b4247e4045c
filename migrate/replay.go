package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/members"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// replayBatch says how many marks are replayed together.
const replayBatch = 100

// Replay makes records that may differ equal on both sides: those of this process that no
// write is about to end, and those of processes that have died. Of processes that live it
// takes none. left is how many it could not.
func (m *Migration) Replay(ctx context.Context) (replayed, left int64, err error) {
	if err := m.takesPart("replay", ""); err != nil {
		return 0, 0, err
	}
	for _, part := range m.parts {
		n, more, failed := m.replayOwn(ctx, part.Name)
		replayed, left, err = replayed+n, left+more, errors.Join(err, failed)
	}
	n, more, failed := m.replayDead(ctx)
	m.stats.replayed.Add(replayed + n)
	return replayed + n, left + more, errors.Join(err, failed)
}

func (m *Migration) replayOwn(ctx context.Context, part string) (replayed, left int64, err error) {
	for after := uint64(0); ; {
		open := m.marks.Waiting(part, after, replayBatch)
		if len(open) == 0 {
			if err != nil {
				left = int64(len(m.marks.Waiting(part, 0, m.config.Marks)))
			}
			return replayed, left, err
		}
		if m.doubt.Load() { // a write of these may arrive yet
			if err := m.renew(ctx); err != nil && m.needsRedis(part) {
				return replayed, int64(len(open)), err
			}
		}
		after = open[len(open)-1].Seq
		done, failed := m.replayEach(ctx, part, open)
		m.marks.End(done, true)
		replayed, err = replayed+int64(len(done)), errors.Join(err, failed)
		if failed != nil && !store.OfRecord(failed) {
			return replayed, int64(len(m.marks.Waiting(part, 0, m.config.Marks))), err
		}
	}
}

// replayEach replays marks. Where they cannot be replayed together each is by itself, so
// that one record that cannot be written holds up no other.
func (m *Migration) replayEach(ctx context.Context, part string, open []marks.Mark) (done []uint64, err error) {
	if err = m.replay(ctx, part, open); err == nil {
		for _, k := range open {
			done = append(done, k.Seq)
		}
		return done, nil
	}
	if len(open) == 1 || !store.OfRecord(err) {
		return nil, err
	}
	var errs []error
	for i := range open {
		some, err := m.replayEach(ctx, part, open[i:i+1])
		done, errs = append(done, some...), append(errs, err)
	}
	return done, errors.Join(errs...)
}

// needsRedis reports whether a replay of a part asks Redis for anything.
func (m *Migration) needsRedis(part string) bool {
	p, err := m.disk.Phases()
	return err != nil || phase.Of(p.Of(part).Phase).Both()
}

// replay makes the records of marks of one part equal. Where the phase has one side only
// there is nothing to do.
func (m *Migration) replay(ctx context.Context, part string, open []marks.Mark) error {
	p, err := m.disk.Phases()
	if err != nil {
		return err
	}
	is := p.Of(part)
	if is.Intent != nil {
		return phase.ErrChanging
	}
	if !phase.Of(is.Phase).Both() {
		return nil
	}
	defer m.flight.begin(part, is.Epoch)()
	if is.Lag != 0 {
		if err := m.healNow(ctx); err != nil {
			return err
		}
	}
	return m.sync(ctx, part, is.State, is.Epoch, idsOf(open), false)
}

func (m *Migration) healNow(ctx context.Context) error {
	lock, err := m.disk.TryLock(m.disk.ChangeLock(), false)
	if err != nil || lock == nil {
		return errors.Join(err, phase.ErrChanging)
	}
	defer lock.Free()
	return m.heal(ctx)
}

func idsOf(open []marks.Mark) (out []record.ID) {
	seen := map[record.ID]bool{}
	for _, k := range open {
		if !seen[k.ID] {
			seen[k.ID] = true
			out = append(out, k.ID)
		}
	}
	return out
}

// replayDead takes over what dead processes have marked. The lock of a process is free
// when it has died, and the one that takes it is the only one to replay its marks.
func (m *Migration) replayDead(ctx context.Context) (replayed, left int64, err error) {
	ids, err := m.members.Others()
	for _, id := range ids {
		n, more, failed := m.takeOver(ctx, id)
		replayed, left, err = replayed+n, left+more, errors.Join(err, failed)
	}
	return replayed, left, err
}

func (m *Migration) takeOver(ctx context.Context, id string) (replayed, left int64, err error) {
	path := m.members.Path(id, "lock")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil // another has taken it over, and opening the lock would make it again
	}
	lock, err := m.disk.TryLock(path, false)
	if lock == nil || err != nil {
		return 0, 0, err
	}
	defer lock.Free()
	open, err := marks.Read(m.members.Path(id, "marks"))
	if err != nil {
		return 0, 0, err
	}
	if len(open) > 0 {
		if replayed, err = m.replayOf(ctx, id, open); err != nil {
			return replayed, int64(len(open)) - replayed, err
		}
	}
	var b members.Report
	if _, err := disk.ReadJSON(m.members.Path(id, "beat"), &b); err != nil { // what it has seen would be lost
		return replayed, 0, fmt.Errorf("%w: %w", ErrUnseen, err)
	}
	if err := m.keepSeen(b.Seen); err != nil {
		return replayed, 0, err
	}
	m.server.Seen.SawAll(b.Seen)
	for _, kind := range members.FilesOf {
		if err := os.Remove(m.members.Path(id, kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return replayed, 0, err
		}
	}
	return replayed, 0, nil
}

// replayOf replays the marks of a dead process. Redis takes no more scripts of it before
// the first record is compared: one that is still on its way does nothing then.
func (m *Migration) replayOf(ctx context.Context, id string, open []marks.Mark) (replayed int64, err error) {
	byPart := map[string][]marks.Mark{}
	asks := false
	for _, k := range open {
		byPart[k.Part] = append(byPart[k.Part], k)
		asks = asks || m.needsRedis(k.Part)
	}
	if asks {
		if _, err := m.server.Join("", "", id).Do(ctx); err != nil {
			return 0, err
		}
		if err := m.disk.At("taken over"); err != nil {
			return 0, err
		}
	}
	for part, marks := range byPart {
		if !m.known(part) {
			return replayed, m.wrong("replay", part, errUnknown)
		}
		for some := range slices.Chunk(marks, replayBatch) {
			done, failed := m.replayEach(ctx, part, some)
			replayed, err = replayed+int64(len(done)), errors.Join(err, failed)
			if failed != nil && !store.OfRecord(failed) {
				return replayed, err
			}
		}
	}
	return replayed, err
}

// openMarks reads the marks of a part, of all processes.
func (m *Migration) openMarks(part string) (members.Marked, error) {
	return m.members.OpenMarks(part, m.marks.All())
}
