package entity

import (
	"sync"
	"time"
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
