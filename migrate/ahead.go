package migrate

import (
	"context"
	"errors"
	"sync"

	"github.com/keywright/keywright/migrate/phase"
)

// ahead says of which parts Redis has had a later epoch than the files when it was asked: the
// files that say the phase are gone, or older ones.
type ahead struct {
	mu    sync.Mutex
	parts map[string]standing
}

// standing is how the epoch of a part in Redis compares with that of the files.
type standing int

const (
	known   standing = iota // to the files
	unasked                 // Redis has not answered yet: the files are believed until it does
	isLater                 // than that of the files: nothing is read or written
)

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

// lookAhead asks Redis for the parts of which it has not answered yet.
func (m *Migration) lookAhead(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.config.Wait)
	defer cancel()
	for _, p := range m.parts {
		if m.ahead.of(p.Name) != unasked {
			continue
		}
		switch _, _, later, err := m.inRedis(ctx, p.Name); {
		case later:
			m.ahead.set(p.Name, isLater)
		case err == nil:
			m.ahead.set(p.Name, known)
		}
	}
}

// inRedis is the phase and the epoch that Redis has of a part, and whether that is later
// than any that the files may know. Without an answer that is not known.
func (m *Migration) inRedis(ctx context.Context, part string) (at phase.Phase, epoch uint64, ahead bool, err error) {
	raw := m.config.Client.Raw()
	has, err := raw.Do(ctx, raw.B().Hmget().Key(m.server.key).Field("epoch:"+part, "phase:"+part).Build()).AsStrSlice()
	if err != nil {
		return 0, 0, false, err
	}
	p, err := m.disk.phases() // after Redis was asked: epochs only grow
	if err != nil {
		return 0, 0, false, err
	}
	is, epoch := p.of(part), number(has[0])
	most := is.Epoch
	if is.Intent != nil {
		most = is.Intent.Epoch + 2
	}
	at, unknown := phase.Parse(has[1])
	return at, epoch, unknown == nil && epoch > most, nil
}

// notAhead is nil if the files know the epoch of a part. Where that was not so when it was asked, it
// is asked again, and without an answer nothing is read or written.
func (m *Migration) notAhead(ctx context.Context, part string) error {
	if m.ahead.of(part) != isLater {
		return nil
	}
	if _, _, is, err := m.inRedis(ctx, part); err != nil || is {
		return errors.Join(phase.ErrAhead, err)
	}
	m.ahead.set(part, known)
	return nil
}
