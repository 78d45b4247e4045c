package migrate

import (
	"errors"
	"fmt"
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

// highest returns the last ticket of each part that any process has seen. Where that cannot be read it
// is not known whether the server has lost data.
func (m *Migration) highest() (map[string]uint64, error) {
	out := map[string]uint64{}
	_, err := disk.ReadJSON(m.disk.SeenPath(), &out)
	ids, failed := m.processes()
	errs := []error{err, failed}
	for _, id := range ids {
		var b beatFile
		_, err := disk.ReadJSON(m.processPath(id, "beat"), &b)
		errs = append(errs, err)
		for part, ticket := range b.Seen {
			out[part] = max(out[part], ticket)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return out, fmt.Errorf("%w: %w", ErrUnseen, err)
	}
	return out, nil
}

// ErrUnseen reports a file of the engine that cannot be read, and without which it is not known whether
// Redis has lost data.
var ErrUnseen = errors.New("the last tickets that processes have seen cannot be read")

// lookSeen takes over what other processes have seen, if that was not possible before. Until it is
// nothing is read or written: a server that has lost data would be taken for a whole one.
func (m *Migration) lookSeen() error {
	if !m.unseen.Load() {
		return nil
	}
	last, err := m.highest()
	m.server.Seen.SawAll(last)
	if err == nil {
		m.unseen.Store(false)
	}
	return err
}
