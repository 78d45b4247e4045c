package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
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
		failed := m.giveEpoch(ctx, part, is.State, is.Intent.Epoch+2, is.Phase)
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
		if err := m.giveEpoch(ctx, part, is.State, is.Epoch, is.Phase); err != nil {
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

// giveEpoch gives Redis a later epoch.
func (m *Migration) giveEpoch(ctx context.Context, part string, from phase.State, to uint64, phased phase.Phase) error {
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
	case errors.Is(err, phase.ErrLost), errors.Is(err, phase.ErrAhead), errors.Is(err, ErrUnseen),
		errors.Is(err, ErrDamaged):
		e.Class, e.Hint = keywright.Refused, "`keywright migrate repair` says what to do"
	case errors.Is(err, ErrTooLarge), errors.Is(err, errUnknown), errors.Is(err, errTwice),
		errors.As(err, new(*record.Reject)):
		e.Class = keywright.Invalid
	case errors.Is(err, ErrOtherwise):
		e.Class, e.Hint = keywright.Refused, "restart it with the same declaration"
	case errors.Is(err, errRedeclared):
		e.Class, e.Hint = keywright.Refused, "take the former declaration; or roll the part back to shadow, where the "+
			"files decide, and import and verify it"
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
	if err == nil {
		err = m.lost(ctx, part, is)
	}
	if err == nil && !slices.Contains(phases, is.Phase) {
		err = fmt.Errorf("the part is in phase %s", is.Phase)
	}
	return is, m.wrong(op, part, err)
}

// keepSeen writes what a process has seen where it outlives all processes.
func (m *Migration) keepSeen(of map[string]uint64) error {
	if len(of) == 0 {
		return nil
	}
	lock, err := m.locked("seen")
	if err != nil {
		return err
	}
	defer lock.Free()
	all := map[string]uint64{}
	if _, err := disk.ReadJSON(m.disk.SeenPath(), &all); err != nil {
		return err
	}
	before := maps.Clone(all)
	for part, ticket := range of {
		all[part] = max(all[part], ticket)
	}
	if maps.Equal(before, all) {
		return nil
	}
	return m.disk.WriteJSON(m.disk.SeenPath(), all)
}

// lookSeen takes over what other processes have seen, if that was not possible before. Until it is
// nothing is read or written: a server that has lost data would be taken for a whole one.
func (m *Migration) lookSeen() error {
	if !m.unseen.Load() {
		return nil
	}
	last, err := m.members.Highest()
	m.server.Seen.SawAll(last)
	if err == nil {
		m.unseen.Store(false)
	}
	return err
}

// laterEpochs says of which parts Redis has had a later epoch than the files when it was asked: the
// files that say the phase are gone, or older ones.
type laterEpochs struct {
	mu     sync.Mutex
	parts  map[string]epochState
	epochs map[string]uint64 // the latest one that this process has read from the files
}

// epochState describes how the epoch of a part in Redis compares with that of the files.
type epochState int

const (
	known   epochState = iota // to the files
	unasked                   // Redis has not answered yet: files that are there are believed until it does
	isLater                   // than that of the files: nothing is read or written
)

// errNoPhases reports a part whose phase is known neither from the files nor from Redis.
var errNoPhases = errors.New("no file says the phase, and Redis, which may have a later one than off, does not answer")

func (a *laterEpochs) of(part string) epochState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.parts[part]
}

func (a *laterEpochs) set(part string, is epochState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.parts == nil {
		a.parts = map[string]epochState{}
	}
	a.parts[part] = is
}

// saw notes an epoch that the files have, and is false if they have had a later one.
func (a *laterEpochs) saw(part string, epoch uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.epochs == nil {
		a.epochs = map[string]uint64{}
	}
	if epoch < a.epochs[part] {
		return false
	}
	a.epochs[part] = epoch
	return true
}

// sawAll notes the epochs of all parts.
func (a *laterEpochs) sawAll(p disk.Phases) {
	for part, is := range p.Parts {
		a.saw(part, is.Epoch)
	}
}

// lookAhead asks Redis for the parts of which it has not answered yet. When all are known a file says
// so: the next process need not ask before it begins.
func (m *Migration) lookAhead(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.config.Wait)
	defer cancel()
	all := true
	for _, p := range m.parts {
		if m.ahead.of(p.Name) == unasked {
			_ = m.ask(ctx, p.Name) // it is asked again
		}
		all = all && m.ahead.of(p.Name) == known
	}
	if all {
		_ = m.keepPhases() // without the file Redis is asked again
	}
}

// ask asks Redis whether it has a later epoch of a part than the files.
func (m *Migration) ask(ctx context.Context, part string) error {
	switch is, err := m.inRedis(ctx, part); {
	case err != nil:
		return err
	case is.ahead:
		m.ahead.set(part, isLater)
	default:
		m.ahead.set(part, known)
	}
	return nil
}

// keepPhases writes the file of the phases if there is none: all parts are off.
func (m *Migration) keepPhases() error {
	p, err := m.disk.Phases()
	if err != nil || p.Form != 0 {
		return err
	}
	lock, err := m.disk.TryLock(m.disk.ChangeLock(), false)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Free()
	if p, err = m.disk.Phases(); err != nil || p.Form != 0 {
		return err
	}
	return m.disk.WriteJSON(m.disk.PhasePath(), disk.Phases{Form: disk.PhasesForm, Parts: map[string]PartState{}})
}

// kept describes what Redis has of a part.
type kept struct {
	phase         phase.Phase
	epoch, ticket uint64
	ahead         bool // the epoch is later than any that the files may know
}

// inRedis returns what Redis has of a part. Without an answer that is not known.
func (m *Migration) inRedis(ctx context.Context, part string) (out kept, err error) {
	raw, err := m.link.Raw()
	if err != nil {
		return out, err
	}
	has, err := raw.Do(ctx, raw.B().Hmget().Key(m.server.Key).Field("epoch:"+part, "phase:"+part,
		"ticket:"+part).Build()).AsStrSlice()
	if err != nil {
		return out, err
	}
	p, err := m.disk.Phases()                      // after Redis was asked: epochs only grow
	if err != nil && !errors.Is(err, ErrDamaged) { // a damaged one knows no epoch
		return out, err
	}
	is := p.Of(part)
	most := is.Epoch
	if is.Intent != nil {
		most = is.Intent.Epoch + 2
	}
	at, unknown := phase.Parse(has[1])
	out = kept{phase: at, epoch: store.Number(has[0]), ticket: store.Number(has[2])}
	out.ahead = unknown == nil && out.epoch > most
	return out, nil
}

// notAhead is nil if the files know the epoch of a part. Where that was not so when it was asked, or no
// file says the phase, Redis is asked again, and without an answer nothing is read or written.
func (m *Migration) notAhead(ctx context.Context, part string, p disk.Phases) error {
	if !m.ahead.saw(part, p.Of(part).Epoch) { // another goroutine may have read later
		var err error
		if p, err = m.disk.Phases(); err != nil {
			return err
		}
		if !m.ahead.saw(part, p.Of(part).Epoch) {
			return fmt.Errorf("%w: this process has read a later one from them before", phase.ErrAhead)
		}
	}
	is := m.ahead.of(part)
	switch {
	case is == known, is == unasked && p.Form != 0:
		return nil
	case is == unasked:
		if err := m.ask(ctx, part); err != nil {
			return errors.Join(errNoPhases, err)
		}
		return m.notAhead(ctx, part, p)
	}
	if is, err := m.inRedis(ctx, part); err != nil || is.ahead {
		return errors.Join(phase.ErrAhead, err)
	}
	m.ahead.set(part, known)
	return nil
}
