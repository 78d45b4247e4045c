package migrate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// settled waits until no change of phase is under way, and undoes one whose process is
// dead.
func (m *Migration) settled(ctx context.Context, part string) (PartState, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.config.Wait, phase.ErrChanging)
	defer cancel()
	for n := 0; ; n++ {
		p, err := m.disk.Phases()
		if err != nil {
			return PartState{}, err
		}
		if is := p.Of(part); is.Intent == nil {
			return is, errors.Join(m.lookSeen(), m.notAhead(ctx, part, p))
		}
		if n%8 == 7 {
			if err := m.undoDead(ctx); err != nil && !errors.Is(err, phase.ErrChanging) {
				return PartState{}, err
			}
		}
		if err := disk.Pause(ctx, 3*time.Millisecond); err != nil {
			return PartState{}, err
		}
	}
}

// undoDead undoes the change of a process that has died in it, if there is one.
func (m *Migration) undoDead(ctx context.Context) error {
	lock, err := m.disk.TryLock(m.disk.ChangeLock(), false)
	if err != nil {
		return err
	}
	if lock == nil {
		return phase.ErrChanging
	}
	defer lock.Free()
	return m.undo(ctx)
}

// undoIfDead returns undoDead where a change is under way.
func (m *Migration) undoIfDead(ctx context.Context, p disk.Phases) error {
	for _, is := range p.Parts {
		if is.Intent != nil {
			return m.undoDead(ctx)
		}
	}
	return nil
}

// undo opens every part whose change has not come to its end. It needs the lock of
// changes.
func (m *Migration) undo(ctx context.Context) error {
	p, err := m.disk.Phases()
	if err != nil {
		return err
	}
	for part, is := range p.Parts {
		if is.Intent == nil {
			continue
		}
		if err := m.quiet(ctx, part); err != nil {
			return err
		}
		failed := m.raise(ctx, part, is.State, is.Intent.Epoch+2, is.Phase)
		next, err := is.Undo(failed == nil)
		if err != nil {
			return fmt.Errorf("the change of part %s cannot be undone without Redis: %w", part, failed)
		}
		p = p.With(part, PartState{State: next, Since: is.Since})
		if err := errors.Join(m.disk.At("undo"), m.disk.WriteJSON(m.disk.PhasePath(), p)); err != nil {
			return err
		}
	}
	return nil
}

// heal gives Redis the epoch that it has missed. It needs the lock of changes.
func (m *Migration) heal(ctx context.Context) error {
	p, err := m.disk.Phases()
	if err != nil {
		return err
	}
	for part, is := range p.Parts {
		if is.Intent != nil || is.Lag == 0 {
			continue
		}
		if err := m.raise(ctx, part, is.State, is.Epoch, is.Phase); err != nil {
			return err
		}
		is.Lag = 0
		p = p.With(part, is)
		if err := m.disk.WriteJSON(m.disk.PhasePath(), p); err != nil {
			return err
		}
	}
	return nil
}

// quiet waits until no process writes a file of a part. None begins to: the phases on the
// disk say that they are being changed.
func (m *Migration) quiet(ctx context.Context, part string) error {
	lock, err := m.disk.Lock(ctx, m.disk.PartLock(part), false)
	if err == nil {
		lock.Free()
	}
	return err
}

// raise gives Redis a later epoch.
func (m *Migration) raise(ctx context.Context, part string, from phase.State, to uint64, phased phase.Phase) error {
	if err := m.disk.At("raise"); err != nil {
		return err
	}
	a, err := m.server.RaiseEpoch(part, from, to, phased, m.server.Seen.Of(part), false).Do(ctx)
	if err == nil {
		err = a.Failed()
	}
	if err != nil {
		return m.wrong("raise the epoch", part, err)
	}
	return m.disk.At("raised")
}

// probe is nil if Redis is there and has lost nothing.
func (m *Migration) probe(ctx context.Context, part string, is phase.State) error {
	a, err := m.server.RaiseEpoch(part, is, is.Epoch, is.Phase, m.server.Seen.Of(part), false).Do(ctx)
	if err == nil {
		err = a.Failed()
	}
	return err
}

// wrong returns err as callers see it.
func (m *Migration) wrong(op, part string, err error) error {
	if err == nil {
		return nil
	}
	if _, known := keywright.ClassOf(err); known {
		return err
	}
	e := &keywright.Error{Class: keywright.NotApplied, Op: op, Entry: m.config.Name + "." + part, Err: err}
	switch {
	case sources.IsDoubt(err):
		e.Class, e.Hint = keywright.UnknownOutcome, "it may have been written: read before you write again"
	case errors.Is(err, phase.ErrLost), errors.Is(err, phase.ErrAhead), errors.Is(err, ErrUnseen):
		e.Class, e.Hint = keywright.Refused, "`keywright migrate repair` says what to do"
	case errors.Is(err, ErrTooLarge), errors.Is(err, errUnknown), errors.Is(err, errTwice),
		errors.As(err, new(*record.Reject)):
		e.Class = keywright.Invalid
	case errors.Is(err, ErrOtherwise):
		e.Class, e.Hint = keywright.Refused, "restart it with the same declaration"
	case errors.Is(err, errNoPhases):
		e.Hint = "it goes on when Redis answers"
	case errors.Is(err, phase.ErrChanging):
		e.Hint = "try again; the change is undone by the next command if its process has died"
	}
	return e
}

// locked takes a lock of the engine's own files, which is held for a moment only.
func (m *Migration) locked(name string) (*disk.Lock, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.life), disk.LockWait)
	defer cancel()
	return m.disk.Lock(ctx, filepath.Join(m.disk.Own, disk.LockFolder, name), false)
}

// inPhase returns the state of a part whose phase is one of those given.
func (m *Migration) inPhase(ctx context.Context, op, part string, phases ...phase.Phase) (PartState, error) {
	if !m.known(part) {
		return PartState{}, m.wrong(op, part, errUnknown)
	}
	if _, err := m.link.Get(); err != nil {
		return PartState{}, m.wrong(op, part, err)
	}
	is, err := m.settled(ctx, part)
	if err == nil && !slices.Contains(phases, is.Phase) {
		err = fmt.Errorf("the part is in phase %s", is.Phase)
	}
	return is, m.wrong(op, part, err)
}
