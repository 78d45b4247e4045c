package migrate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
)

// ahead says of which parts Redis has had a later epoch than the files when it was asked: the
// files that say the phase are gone, or older ones.
type ahead struct {
	mu     sync.Mutex
	parts  map[string]standing
	epochs map[string]uint64 // the latest one that this process has read from the files
}

// standing describes how the epoch of a part in Redis compares with that of the files.
type standing int

const (
	known   standing = iota // to the files
	unasked                 // Redis has not answered yet: files that are there are believed until it does
	isLater                 // than that of the files: nothing is read or written
)

// errNoPhases reports a part whose phase is known neither from the files nor from Redis.
var errNoPhases = errors.New("no file says the phase, and Redis, which may have a later one than off, does not answer")

func (a *ahead) of(part string) standing {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.parts[part]
}

func (a *ahead) set(part string, is standing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.parts == nil {
		a.parts = map[string]standing{}
	}
	a.parts[part] = is
}

// saw notes an epoch that the files have, and is false if they have had a later one.
func (a *ahead) saw(part string, epoch uint64) bool {
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
func (a *ahead) sawAll(p disk.Phases) {
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
	switch _, _, later, err := m.inRedis(ctx, part); {
	case err != nil:
		return err
	case later:
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

// inRedis returns the phase and the epoch that Redis has of a part, and whether that is later
// than any that the files may know. Without an answer that is not known.
func (m *Migration) inRedis(ctx context.Context, part string) (at phase.Phase, epoch uint64, ahead bool, err error) {
	raw, err := m.link.Raw()
	if err != nil {
		return 0, 0, false, err
	}
	has, err := raw.Do(ctx, raw.B().Hmget().Key(m.server.Key).Field("epoch:"+part, "phase:"+part).Build()).AsStrSlice()
	if err != nil {
		return 0, 0, false, err
	}
	p, err := m.disk.Phases() // after Redis was asked: epochs only grow
	if err != nil {
		return 0, 0, false, err
	}
	is, epoch := p.Of(part), store.Number(has[0])
	most := is.Epoch
	if is.Intent != nil {
		most = is.Intent.Epoch + 2
	}
	at, unknown := phase.Parse(has[1])
	return at, epoch, unknown == nil && epoch > most, nil
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
	if _, _, later, err := m.inRedis(ctx, part); err != nil || later {
		return errors.Join(phase.ErrAhead, err)
	}
	m.ahead.set(part, known)
	return nil
}
