package itemkeys

import (
	"context"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// renewedKeys remembers which indexes this process has renewed lately. It forgets all
// when it has grown large: renewing too often does no harm.
type renewedKeys struct {
	Every time.Duration
	mu    sync.Mutex
	at    map[string]time.Time
}

const mostRenewed = 10_000

// NewRenewedKeys returns a memory by which a key is due after a time; 0: never.
func NewRenewedKeys(every time.Duration) *renewedKeys {
	return &renewedKeys{Every: every, at: map[string]time.Time{}}
}

// Due reports whether a key is to be renewed.
func (m *renewedKeys) Due(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, known := m.at[key]
	return m.Every > 0 && (!known || time.Since(at) > m.Every)
}

// AnyDue reports whether one of some keys is to be renewed.
func (m *renewedKeys) AnyDue(lists ...[]string) bool {
	if m.Every <= 0 {
		return false
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, keys := range lists {
		for _, key := range keys {
			if at, known := m.at[key]; !known || now.Sub(at) > m.Every {
				return true
			}
		}
	}
	return false
}

// Done notes that keys were renewed, not before a moment: that of the asking, as
// a reply may be late. What was renewed by a write need not be noted.
func (m *renewedKeys) Done(keys []string, from time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.at) > mostRenewed {
		clear(m.at)
	}
	for _, key := range keys {
		m.at[key] = from
	}
}

// Outlive renews the TTL of the indexes of an item that was prolonged, of each at
// most every quarter of it: a write has renewed it by all of it, so it outlives
// whatever is prolonged until then.
func (s *Keys) Outlive(ctx context.Context, record string, others ...string) error {
	for _, e := range s.AllEntries(record) {
		others = append(others, e.Key)
	}
	var keys []string
	for _, key := range others {
		if s.Renewed.Due(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var b keywright.Batch
	for _, key := range keys {
		keywright.Queue(&b, kernel.NewOp(kernel.Spec[int64]{
			Action: s.Action("renew index", keywright.Idempotent, key, nil),
			Build: func(b kernel.Builder) kernel.Command {
				return b.Pexpire().Key(key).Milliseconds(s.Spec.IndexTTL.Milliseconds()).Build()
			},
			Decode: func(r kernel.Reply) (int64, error) { return r.AsInt64() },
		}))
	}
	began := time.Now()
	err := b.Run(ctx)
	if err == nil {
		s.Renewed.Done(keys, began)
	}
	return err
}
