package fallback

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

// Memory represents a Store in the memory of the process: what is in it ends with the
// process. Make one with NewMemory.
type Memory struct {
	limits Limits

	mu        sync.Mutex
	known     map[string]*kept
	order     *list.List // of *kept that may go, those that go first in front
	bytes     int64
	log       []Entry // in order
	logBytes  int64
	last      uint64
	conflicts []Conflict
	evicted   uint64
}

type kept struct {
	id string
	Record
	at *list.Element // in order; nil while writes wait
}

// NewMemory makes an empty store.
func NewMemory(l Limits) *Memory {
	return &Memory{limits: l.WithDefaults(), known: map[string]*kept{}, order: list.New()}
}

// Get implements Store. O(1).
func (m *Memory) Get(_ context.Context, id string) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.get(id)
	return r, known, nil
}

func (m *Memory) get(id string) (Record, bool) {
	k, ok := m.known[id]
	if !ok {
		return Record{}, false
	}
	return k.Record, true
}

// Put implements Store. O(copies).
func (m *Memory) Put(_ context.Context, copies ...Copy) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range copies {
		if old, known := m.get(c.ID); c.Replaces(old, known) {
			m.set(c.ID, c.Record)
		}
	}
	m.shrink()
	return nil
}

func (m *Memory) set(id string, r Record) {
	m.remove(id)
	k := &kept{id: id, Record: r}
	if r.Pending == 0 {
		k.at = m.order.PushBack(k)
	}
	m.known[id] = k
	m.bytes += r.Size(id)
}

func (m *Memory) remove(id string) {
	k, ok := m.known[id]
	if !ok {
		return
	}
	m.bytes -= k.Size(id)
	if k.at != nil {
		m.order.Remove(k.at)
	}
	delete(m.known, id)
}

// shrink lets the oldest copies go until the rest is within the limits.
func (m *Memory) shrink() {
	for m.order.Len() > 0 && (len(m.known) > m.limits.Entries || m.bytes > m.limits.Bytes) {
		m.remove(m.order.Front().Value.(*kept).id)
		m.evicted++
	}
}

// Forget implements Store. O(1).
func (m *Memory) Forget(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, _ := m.get(id); r.Pending == 0 {
		m.remove(id)
	}
	return nil
}

// Append implements Store. O(1).
func (m *Memory) Append(_ context.Context, id string, decide func(Record, bool) (Entry, Record, error)) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, r, err := decide(m.get(id))
	if err != nil {
		return Entry{}, err
	}
	if len(m.log) >= m.limits.LogEntries || m.logBytes+e.Size() > m.limits.LogBytes {
		return Entry{}, ErrFull
	}
	m.last++
	e.Seq = m.last
	m.log = append(m.log, e)
	m.logBytes += e.Size()
	m.set(id, r)
	m.shrink()
	return e, nil
}

// at returns where the entries above a number begin.
func (m *Memory) at(after uint64) int {
	i, _ := slices.BinarySearchFunc(m.log, after+1, func(e Entry, seq uint64) int {
		if e.Seq < seq {
			return -1
		}
		return int(min(e.Seq-seq, 1))
	})
	return i
}

// Next implements Store. O(n + log of the log's length).
func (m *Memory) Next(_ context.Context, after uint64, n int) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rest := m.log[m.at(after):]
	return slices.Clone(rest[:min(n, len(rest))]), nil
}

// Done implements Store. O(length of the log).
func (m *Memory) Done(_ context.Context, e Entry, version int64, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.at(e.Seq - 1)
	if i == len(m.log) || m.log[i].Seq != e.Seq {
		return nil
	}
	m.logBytes -= m.log[i].Size()
	m.log = slices.Delete(m.log, i, i+1)
	r, _ := m.get(e.ID)
	m.set(e.ID, r.Applied(version, at))
	return nil
}

// Reject implements Store. O(length of the log).
func (m *Memory) Reject(_ context.Context, id string, found Record) ([]Conflict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Conflict
	m.log = slices.DeleteFunc(m.log, func(e Entry) bool {
		if e.ID == id {
			out = append(out, e.Against(found))
			m.logBytes -= e.Size()
		}
		return e.ID == id
	})
	found.Pending = 0
	m.set(id, found)
	m.conflicts = append(m.conflicts, out...)
	m.conflicts = slices.Delete(m.conflicts, 0, max(len(m.conflicts)-m.limits.Conflicts, 0))
	return out, nil
}

// Conflicts implements Store. O(their number).
func (m *Memory) Conflicts(context.Context) ([]Conflict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.conflicts), nil
}

// Settled implements Store. O(their number).
func (m *Memory) Settled(_ context.Context, seq uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conflicts = slices.DeleteFunc(m.conflicts, func(c Conflict) bool { return c.Seq <= seq })
	return nil
}

// Stats implements Store. O(1).
func (m *Memory) Stats(context.Context) (Stats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Stats{Copies: len(m.known), CopyBytes: m.bytes, Pending: len(m.log), PendingBytes: m.logBytes,
		Conflicts: len(m.conflicts), Evicted: m.evicted}
	if len(m.log) > 0 {
		s.Oldest = m.log[0].At
	}
	return s, nil
}
