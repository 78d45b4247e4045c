package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/members"
	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
)

// RepairOptions say what to go on with after Redis has lost data, or the files are older
// than Redis.
type RepairOptions struct {
	// From is the side whose records are right. Files: the part goes back to dual-write, and is
	// imported and verified again. Redis: the phase stays, and what Redis has is taken as it is.
	From phase.Side
	// Accept that records with a mark, of which Redis may have had a later one, are those of the
	// files. Without it a part with marks is not repaired from the files while Redis decides.
	// A damaged file of marks, of what processes have seen, of the phases or of comparisons is set aside, too.
	Accept bool
	// Look changes nothing: it says what would be done, or why it is refused.
	Look bool
	By   string // the person or program that repairs, for the history
}

// Repaired describes what Repair did.
type Repaired struct {
	Part  string
	Was   phase.Phase
	Phase phase.Phase
	Epoch uint64
	Marks int64 // records of which Redis may have had a later one
}

// ErrMarked reports a repair from the files while records may have been later in Redis.
var ErrMarked = errors.New("records have a mark: Redis may have had later ones than the files")

// Repair gives Redis the phase and the epoch of a part again, by name: after a flush, an
// older backup, a failover that lost writes. No process writes until it is done.
func (m *Migration) Repair(ctx context.Context, part string, o RepairOptions) (*Repaired, error) {
	if err := m.takesPart("repair", part); err != nil && !o.Look {
		return nil, err
	}
	r, err := m.repair(ctx, part, o)
	return r, m.wrong("repair", part, err)
}

func (m *Migration) repair(ctx context.Context, part string, o RepairOptions) (*Repaired, error) {
	if !m.known(part) || o.From == phase.None {
		return nil, errUnknown
	}
	if _, err := m.link.Get(); err != nil {
		return nil, err
	}
	if !o.Look {
		lock, err := m.disk.Lock(ctx, m.disk.ChangeLock(), false)
		if err != nil {
			return nil, err
		}
		defer lock.Free()
	}
	p, open, err := m.readOwn(part)
	if (errors.Is(err, disk.ErrDamaged) || errors.Is(err, ErrUnseen)) && o.Accept {
		if o.Look { // they would be set aside
			err = nil
		} else if err = m.setAside(); err == nil {
			p, open, err = m.readOwn(part)
		}
	}
	if err != nil {
		return nil, err
	}
	is := p.Of(part)
	out := &Repaired{Part: part, Was: is.Phase, Phase: is.Phase, Marks: open.Count}
	has, err := m.inRedis(ctx, part)
	had, ahead := has.phase, has.ahead
	switch {
	case err != nil:
		return nil, err
	case !ahead:
		had = is.Phase
	case o.From == phase.Redis:
		out.Phase = had // the files that say the phase were lost
	}
	if o.From == phase.Files {
		redisDecides := phase.Of(had).Authority == phase.Redis
		switch {
		case had == phase.Complete:
			return nil, errors.New("the files have not been written since the phase complete: restore a backup of Redis")
		case redisDecides && ahead && !o.Accept: // the marks were lost with the phase
			return nil, fmt.Errorf("%w: the files that say the phase and have the marks are gone", ErrMarked)
		case redisDecides && open.Count > 0 && !o.Accept:
			return nil, fmt.Errorf("%w: %d of them", ErrMarked, open.Count)
		}
		out.Phase = min(had, phase.DualWrite)
	}
	if out.Epoch = is.Epoch; o.Look {
		return out, nil
	}
	next, err := m.closeFor(ctx, p, part, is)
	if err != nil {
		return nil, err
	}
	if out.Epoch, err = m.raiseAnyway(ctx, part, next, out.Phase); err != nil {
		return nil, err
	}
	now := time.Now()
	done := p.With(part, PartState{State: phase.State{Phase: out.Phase, Epoch: out.Epoch}, Since: now})
	if err := m.disk.WriteJSON(m.disk.PhasePath(), done); err != nil {
		return nil, err
	}
	return out, m.history(Changed{Part: part, From: is.Phase, To: out.Phase, Epoch: out.Epoch, At: now, By: o.By,
		Forced: []string{"repair from " + o.From.String()}})
}

// readOwn reads the files of the engine without which it is not known what a repair of a part loses.
func (m *Migration) readOwn(part string) (disk.Phases, members.Marked, error) {
	p, unphased := m.disk.Phases()
	open, unmarked := m.openMarks(part)
	_, unseen := m.members.Highest()
	_, uncompared := shadow.Found(m.disk, part)
	return p, open, errors.Join(unphased, unmarked, unseen, uncompared)
}

// setAside renames the damaged files of dead processes, and of what all have seen, found and changed. Only a process
// that has the lock of changes calls it.
func (m *Migration) setAside() error {
	ids, err := m.members.Others()
	for _, id := range ids {
		if m.members.HoldsLock(id) {
			continue
		}
		path, beat := m.members.Path(id, "marks"), m.members.Path(id, "beat")
		if _, damaged := marks.Read(path); errors.Is(damaged, marks.ErrDamaged) {
			err = errors.Join(err, os.Rename(path, m.members.Path(id, "damaged")))
		}
		if _, damaged := disk.ReadJSON(beat, &members.Report{}); damaged != nil {
			err = errors.Join(err, os.Rename(beat, m.members.Path(id, "damaged-beat")))
		}
	}
	if _, damaged := disk.ReadJSON(m.disk.SeenPath(), &map[string]uint64{}); damaged != nil {
		err = errors.Join(err, os.Rename(m.disk.SeenPath(), m.disk.SeenPath()+".damaged"))
	}
	for path, value := range map[string]any{m.disk.ShadowPath(): &map[string]*shadow.Part{},
		m.disk.PhasePath(): &disk.Phases{}} {
		if _, damaged := disk.ReadJSON(path, value); errors.Is(damaged, disk.ErrDamaged) {
			err = errors.Join(err, os.Rename(path, path+".damaged"))
		}
	}
	return err
}

// closeFor lets no process write, as a change of phase does.
func (m *Migration) closeFor(ctx context.Context, p disk.Phases, part string, is PartState) (phase.State, error) {
	next := is.State
	if next.Intent == nil {
		next.Intent = &phase.Intent{To: is.Phase, Epoch: is.Epoch + 1}
	}
	if err := m.disk.WriteJSON(m.disk.PhasePath(), p.With(part, PartState{State: next, Since: is.Since})); err != nil {
		return next, err
	}
	return next, m.quiet(ctx, part)
}

// raiseAnyway gives Redis an epoch that is later than what it has and than the files'.
func (m *Migration) raiseAnyway(ctx context.Context, part string, is phase.State, to phase.Phase) (uint64, error) {
	epoch := is.Intent.Epoch + 3 // later than an undo of what was under way
	last, err := m.members.Highest()
	if err != nil {
		return 0, err
	}
	for {
		a, err := m.server.RaiseEpoch(part, is, epoch, to, max(m.server.Seen.Of(part), last[part]), true).Do(ctx)
		if err != nil {
			return 0, err
		}
		if a.Word != "ahead" {
			return epoch, a.Failed()
		}
		epoch = store.Number(a.More[0]) + 1
	}
}
