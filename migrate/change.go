package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
)

// ChangeOptions describes how a phase is changed.
type ChangeOptions struct {
	Limits *phase.Limits // nil: as declared
	Force  bool          // also where a gate is closed
	Only   []phase.Gate  // that Force goes on without; nil: all of them, and the order of the parts
	By     string        // the person or program that changes it, for the history
}

// Changed represents a change of phase that was done.
type Changed struct {
	Part    string        `json:"part"`
	From    phase.Phase   `json:"from"`
	To      phase.Phase   `json:"to"`
	Epoch   uint64        `json:"epoch"`
	At      time.Time     `json:"at"`
	By      string        `json:"by,omitempty"`
	Forced  []string      `json:"forced,omitempty"` // gates that were closed
	Drained int           `json:"drained"`          // marks that were replayed while no process wrote
	Paused  time.Duration `json:"paused_ns"`        // how long no process could write
	Facts   phase.Facts   `json:"facts"`
	Late    []string      `json:"late,omitempty"` // processes that had not confirmed the epoch in time
}

// GateError represents a change that gates do not let through.
type GateError struct {
	Part   string
	From   phase.Phase
	To     phase.Phase
	Closed []phase.Closed
}

func (e *GateError) Error() string {
	var lines []string
	for _, c := range e.Closed {
		lines = append(lines, c.String())
	}
	return fmt.Sprintf("part %s does not go from %s to %s: %s", e.Part, e.From, e.To, strings.Join(lines, "; "))
}

// Advance brings a part to its next phase, Rollback to the one before.
func (m *Migration) Advance(ctx context.Context, part string, o ChangeOptions) (*Changed, error) {
	return m.step(ctx, part, o, phase.Phase.Next)
}

// Rollback brings a part to the phase before. The side that decides then has all that was
// acknowledged: every mark is replayed while no process can write.
func (m *Migration) Rollback(ctx context.Context, part string, o ChangeOptions) (*Changed, error) {
	return m.step(ctx, part, o, phase.Phase.Previous)
}

// Change brings a part to a phase that is the next one, or the one before; from any other
// it is ErrStep. Use it in place of Advance or Rollback where you have looked at the phase
// first: another process may have changed it since.
func (m *Migration) Change(ctx context.Context, part string, to phase.Phase, o ChangeOptions) (*Changed, error) {
	return m.step(ctx, part, o, func(phase.Phase) (phase.Phase, bool) { return to, true })
}

func (m *Migration) step(ctx context.Context, part string, o ChangeOptions,
	choose func(phase.Phase) (phase.Phase, bool)) (*Changed, error) {
	if !m.known(part) {
		return nil, m.wrong("change the phase", part, errUnknown)
	}
	if err := m.takesPart("change the phase", part); err != nil {
		return nil, err
	}
	lock, err := m.disk.Lock(ctx, m.disk.ChangeLock(), false)
	if err != nil {
		return nil, m.wrong("change the phase", part, err)
	}
	defer lock.Free()
	if err := m.lookSeen(); err != nil {
		return nil, m.wrong("change the phase", part, err)
	}
	if err := errors.Join(m.undo(ctx), m.heal(ctx)); err != nil {
		return nil, m.wrong("change the phase", part, err)
	}
	p, err := m.disk.Phases()
	if err != nil {
		return nil, err
	}
	is := p.Of(part)
	to, ok := choose(is.Phase)
	if _, err := is.Begin(to); err != nil || !ok {
		return nil, m.wrong("change the phase", part, errors.Join(err, fmt.Errorf("%w: it is in phase %s",
			phase.ErrStep, is.Phase)))
	}
	if faults := m.unsupported(part); len(faults) > 0 && to > is.Phase {
		return nil, errors.Join(faults...)
	}
	if err := m.alike(part); err != nil && to > is.Phase {
		return nil, m.wrong("change the phase", part, err)
	}
	if err := m.asDeclared(part); err != nil && is.Phase == phase.Complete {
		return nil, m.wrong("change the phase", part, err)
	}
	done := &Changed{Part: part, From: is.Phase, To: to, By: o.By}
	if err := m.gates(ctx, p, done, o); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, 2*m.config.Lease)
	err = m.confirm(waiting, part, is.Epoch)
	cancel()
	if err != nil {
		return nil, m.wrong("change the phase", part, err)
	}
	if err := m.probe(ctx, part, is.State); err != nil { // before anything is closed
		return nil, m.wrong("change the phase", part, err)
	}
	if err := m.changePhase(ctx, p, done); err != nil {
		// What can be undone now need not wait for the next command.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.config.Wait)
		defer cancel()
		return nil, m.wrong("change the phase", part, errors.Join(err, m.undo(undo)))
	}
	waiting, cancel = context.WithTimeout(ctx, 2*m.config.Lease)
	defer cancel()
	var late *Unconfirmed
	if err := m.confirm(waiting, part, done.Epoch); errors.As(err, &late) {
		done.Late = late.Processes
	}
	return done, m.history(*done)
}

// gates are asked before anything is closed.
func (m *Migration) gates(ctx context.Context, p disk.Phases, done *Changed, o ChangeOptions) error {
	if err := m.inOrder(p, done); err != nil && (!o.Force || o.Only != nil) {
		return err
	}
	facts, err := m.Facts(ctx, done.Part)
	if err != nil {
		return err
	}
	done.Facts = facts
	limits := m.partNamed(done.Part).Gates
	if o.Limits != nil {
		limits = *o.Limits
	}
	closed := closedGates(done.From, done.To, limits, facts)
	if len(closed) > 0 && !o.lets(closed) {
		return &GateError{done.Part, done.From, done.To, closed}
	}
	for _, c := range closed {
		done.Forced = append(done.Forced, c.Gate.String())
	}
	return nil
}

// lets reports whether a change goes on although gates are closed.
func (o *ChangeOptions) lets(closed []phase.Closed) bool {
	for _, c := range closed {
		if o.Only != nil && !slices.Contains(o.Only, c.Gate) {
			return false
		}
	}
	return o.Force
}

// drainable says how many marks a change replays itself, while no process can write.
const drainable = 1000

// closedGates returns the gates of a change that do not open. That of marks is open up to what
// the change replays itself: it does not come to its end with one.
func closedGates(from, to phase.Phase, limits phase.Limits, facts phase.Facts) []phase.Closed {
	if phase.Of(from).Both() {
		limits.Marks = max(limits.Marks, drainable)
	}
	return phase.Check(from, to, limits, facts)
}

// drains reports whether a change makes both sides equal before it opens the part again.
func drains(done *Changed) bool { return phase.Of(done.From).Both() }

// inOrder is nil if a step does not bring a part ahead of one before it. A part that is ahead already, as one that
// comes after a part that was repaired from its files, holds up no step of the other.
func (m *Migration) inOrder(p disk.Phases, done *Changed) error {
	before, forward := true, done.To > done.From
	for _, other := range m.parts {
		is := p.Of(other.Name).Phase
		switch {
		case other.Name == done.Part:
			before = false
		case forward && before && done.To > is:
			return m.wrong("change the phase", done.Part, fmt.Errorf("the part %s comes first, and is in phase %s",
				other.Name, is))
		case !forward && !before && done.To < is:
			return m.wrong("change the phase", done.Part, fmt.Errorf("the part %s comes after it, and is in phase %s",
				other.Name, is))
		}
	}
	return nil
}

// changePhase closes the part, makes the sides equal, and opens it: see package phase. An
// error at any point leaves it closed, until it is undone.
func (m *Migration) changePhase(ctx context.Context, p disk.Phases, done *Changed) error {
	began := time.Now()
	is := p.Of(done.Part)
	next, err := is.Begin(done.To)
	if err != nil {
		return err
	}
	closed := p.With(done.Part, PartState{State: next, Since: is.Since})
	if err := m.disk.WriteJSON(m.disk.PhasePath(), closed); err != nil {
		return err
	}
	if err := m.disk.At("closed"); err != nil {
		return err
	}
	if err := m.quiet(ctx, done.Part); err != nil {
		return err
	}
	if err := m.giveEpoch(ctx, done.Part, next, next.Intent.Epoch, done.To); err != nil {
		return err
	}
	if done.From == phase.Complete { // the files have not been written since
		if done.Drained, err = m.bring(ctx, done.Part, next, next.Intent.Epoch); err != nil {
			return err
		}
	}
	if drains(done) {
		if done.Drained, err = m.drain(ctx, done.Part, next); err != nil {
			return err
		}
	}
	if err := m.disk.At("drained"); err != nil {
		return err
	}
	if err := m.giveEpoch(ctx, done.Part, next, next.Intent.Epoch+1, done.To); err != nil {
		return err
	}
	last := next.Finish()
	done.Epoch, done.At = last.Epoch, time.Now()
	opened := closed.With(done.Part, PartState{State: last, Since: done.At})
	if err := m.disk.WriteJSON(m.disk.PhasePath(), opened); err != nil {
		return err
	}
	done.Paused = time.Since(began)
	return m.disk.At("opened")
}

// drain replays the marks of all processes. No process writes meanwhile, so none is added.
func (m *Migration) drain(ctx context.Context, part string, is phase.State) (int, error) {
	open, err := m.openMarks(part)
	if err != nil {
		return 0, err
	}
	all := make([]marks.Mark, 0, len(open.IDs))
	for id := range open.IDs {
		all = append(all, marks.Mark{ID: id})
	}
	drained := 0
	for some := range slices.Chunk(all, replayBatch) {
		err := m.sync(ctx, part, is, is.Intent.Epoch, idsOf(some), true)
		if err != nil && store.OfRecord(err) && phase.Of(is.Phase).Authority == phase.Files && is.Intent.To < is.Phase {
			continue // the files are right as they are, and the marks stay
		}
		if err != nil {
			return drained, err
		}
		drained += len(some)
	}
	return drained, nil
}

// history adds a line to the record of all changes.
func (m *Migration) history(c Changed) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(m.disk.Own, "history.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}
