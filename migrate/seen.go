package migrate

import (
	"maps"

	"github.com/keywright/keywright/migrate/internal/disk"
)

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
	last, err := m.members.highest()
	m.server.Seen.SawAll(last)
	if err == nil {
		m.unseen.Store(false)
	}
	return err
}
