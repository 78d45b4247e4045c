package entity

import (
	"context"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// memo remembers which indexes this process has renewed lately. It forgets all
// when it has grown large: renewing too often does no harm.
type memo struct {
	every time.Duration
	mu    sync.Mutex
	at    map[string]time.Time
}

const largestMemo = 10_000

func newMemo(every time.Duration) *memo { return &memo{every: every, at: map[string]time.Time{}} }

func (m *memo) due(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, known := m.at[key]
	return m.every > 0 && (!known || time.Since(at) > m.every)
}

// anyDue reports whether one of some keys is to be renewed.
func (m *memo) anyDue(lists ...[]string) bool {
	if m.every <= 0 {
		return false
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, keys := range lists {
		for _, key := range keys {
			if at, known := m.at[key]; !known || now.Sub(at) > m.every {
				return true
			}
		}
	}
	return false
}

// done notes that keys were renewed, not before a moment: that of the asking, as
// a reply may be late. What was renewed by a write need not be noted.
func (m *memo) done(keys []string, from time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.at) > largestMemo {
		clear(m.at)
	}
	for _, key := range keys {
		m.at[key] = from
	}
}

// outlive renews the TTL of the indexes of an item that was prolonged, of each at
// most every quarter of it: a write has renewed it by all of it, so it outlives
// whatever is prolonged until then.
func (s *core) outlive(ctx context.Context, record string, others ...string) error {
	for _, e := range s.all(record) {
		others = append(others, e.key)
	}
	var keys []string
	for _, key := range others {
		if s.renewed.due(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var b keywright.Batch
	for _, key := range keys {
		keywright.Queue(&b, kernel.NewOp(kernel.Spec[int64]{
			Action: s.action("renew index", keywright.Idempotent, key, nil),
			Build: func(b kernel.Builder) kernel.Command {
				return b.Pexpire().Key(key).Milliseconds(s.spec.IndexTTL.Milliseconds()).Build()
			},
			Decode: func(r kernel.Reply) (int64, error) { return r.AsInt64() },
		}))
	}
	began := time.Now()
	err := b.Run(ctx)
	if err == nil {
		s.renewed.done(keys, began)
	}
	return err
}
