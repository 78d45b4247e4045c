package migrate

import (
	"context"
	"errors"
	"sync"

	"github.com/keywright/keywright/migrate/phase"
)

// ahead are the parts of which Redis has had a later epoch than the files when this process
// began: the files that say the phase are gone, or older ones.
type ahead struct {
	mu    sync.Mutex
	parts map[string]bool
}

// lookAhead asks Redis, if it answers.
func (m *Migration) lookAhead(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.config.Wait)
	defer cancel()
	for _, p := range m.parts {
		if _, _, is, _ := m.inRedis(ctx, p.Name); is { // without an answer: see Advance
			m.ahead.mu.Lock()
			if m.ahead.parts == nil {
				m.ahead.parts = map[string]bool{}
			}
			m.ahead.parts[p.Name] = true
			m.ahead.mu.Unlock()
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

// notAhead is nil if the files know the epoch of a part. Where that was not so when this process
// began, it is asked again, and without an answer nothing is read or written.
func (m *Migration) notAhead(ctx context.Context, part string) error {
	m.ahead.mu.Lock()
	flagged := m.ahead.parts[part]
	m.ahead.mu.Unlock()
	if !flagged {
		return nil
	}
	if _, _, is, err := m.inRedis(ctx, part); err != nil || is {
		return errors.Join(phase.ErrAhead, err)
	}
	m.ahead.mu.Lock()
	delete(m.ahead.parts, part)
	m.ahead.mu.Unlock()
	return nil
}
