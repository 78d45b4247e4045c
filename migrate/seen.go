package migrate

import (
	"maps"
	"path/filepath"
	"sync"
)

// tickets are the last ticket of each part that was seen. A server that has an earlier one
// has lost data.
type tickets struct {
	mu   sync.RWMutex
	last map[string]uint64
}

func (t *tickets) of(part string) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.last[part]
}

func (t *tickets) saw(part string, ticket uint64) {
	t.mu.RLock()
	known := t.last[part] >= ticket
	t.mu.RUnlock()
	if !known {
		t.sawAll(map[string]uint64{part: ticket})
	}
}

func (t *tickets) sawAll(of map[string]uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[string]uint64{}
	}
	for part, ticket := range of {
		t.last[part] = max(t.last[part], ticket)
	}
}

func (t *tickets) all() map[string]uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.last)
}

func (d *disk) seenPath() string { return filepath.Join(d.own, "seen.json") }

// keepSeen writes what a process has seen where it outlives all processes.
func (m *Migration) keepSeen(of map[string]uint64) error {
	if len(of) == 0 {
		return nil
	}
	lock, err := m.locked("seen")
	if err != nil {
		return err
	}
	defer lock.free()
	all := map[string]uint64{}
	if _, err := readJSON(m.disk.seenPath(), &all); err != nil {
		return err
	}
	before := maps.Clone(all)
	for part, ticket := range of {
		all[part] = max(all[part], ticket)
	}
	if maps.Equal(before, all) {
		return nil
	}
	return m.disk.writeJSON(m.disk.seenPath(), all)
}

// highest is the last ticket of each part that any process has seen.
func (m *Migration) highest() map[string]uint64 {
	out := map[string]uint64{}
	_, _ = readJSON(m.disk.seenPath(), &out)
	ids, _ := m.processes()
	for _, id := range ids {
		var b beatFile
		if _, err := readJSON(m.processPath(id, "beat"), &b); err == nil {
			for part, ticket := range b.Seen {
				out[part] = max(out[part], ticket)
			}
		}
	}
	return out
}
