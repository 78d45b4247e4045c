package store

import (
	"maps"
	"sync"
)

// tickets holds the last ticket of each part that was seen. A server that has an earlier one
// has lost data.
type tickets struct {
	mu   sync.RWMutex
	last map[string]uint64
}

// Of returns the last ticket of a part.
func (t *tickets) Of(part string) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.last[part]
}

func (t *tickets) saw(part string, ticket uint64) {
	t.mu.RLock()
	known := t.last[part] >= ticket
	t.mu.RUnlock()
	if !known {
		t.SawAll(map[string]uint64{part: ticket})
	}
}

// SawAll takes over the tickets of parts, but for those that are earlier.
func (t *tickets) SawAll(of map[string]uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[string]uint64{}
	}
	for part, ticket := range of {
		t.last[part] = max(t.last[part], ticket)
	}
}

// All returns the last ticket of each part.
func (t *tickets) All() map[string]uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.last)
}
