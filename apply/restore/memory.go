package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/kernel"
)

// Memory describes how full a server is that is written to. Sizes are bytes.
type Memory struct {
	Server  string `json:"server"`
	Used    int64  `json:"used"`
	Limit   int64  `json:"limit"`             // maxmemory; 0: none
	Policy  string `json:"policy"`            // what it does at the limit
	Evicted int64  `json:"evicted,omitempty"` // keys that it has evicted since the run began
}

// Evicts reports whether the server makes room by deleting keys, of any program, rather than by refusing writes.
func (m *Memory) Evicts() bool { return m.Limit > 0 && m.Policy != "" && m.Policy != "noeviction" }

// EvictionError is returned when a server has evicted keys while records were written to it, and
// Options.MayEvict is not set. Nothing more is written.
type EvictionError struct{ Memory }

// Error implements error.
func (e *EvictionError) Error() string {
	return fmt.Sprintf("%s is full, and has evicted keys since this began: %d (maxmemory-policy %s); they may be of any "+
		"program, or what was just written", e.Server, e.Evicted, e.Policy)
}

// RoomError is returned, before anything is written, when what is to be written does not fit into servers that would
// evict keys for it, and Options.MayEvict is not set.
type RoomError struct {
	Memory
	Needs, Room int64
}

// Error implements error.
func (e *RoomError) Error() string {
	return fmt.Sprintf("what is to be written has %d bytes, and there is room for %d until %s evicts keys, of any "+
		"program (maxmemory-policy %s)", e.Needs, e.Room, e.Server, e.Policy)
}

// memory watches the servers of the targets.
type memory struct {
	asks    map[string]topology.Ask
	servers []*Memory
	before  map[string]int64 // evicted keys since the start of each server, as the run began
}

// watch begins to watch the servers of a database's client that are not watched yet.
func (r *restore) watch(ctx context.Context, t *target) error {
	nodes, err := t.client.Primaries(ctx)
	if err != nil {
		return err
	}
	for address, node := range nodes {
		if _, known := r.memory.asks[address]; known {
			continue
		}
		ask := kernel.AskNode(node)
		info, err := topology.ReadInfo(ctx, ask, "memory", "stats")
		if err != nil {
			return fmt.Errorf("info: %w", err)
		}
		if r.memory.asks == nil {
			r.memory.asks, r.memory.before = map[string]topology.Ask{}, map[string]int64{}
		}
		m := &Memory{Server: address, Used: info.Int("used_memory"), Limit: info.Int("maxmemory"),
			Policy: info["maxmemory_policy"]}
		r.memory.asks[address], r.memory.before[address] = ask, info.Int("evicted_keys")
		r.memory.servers = append(r.memory.servers, m)
	}
	slices.SortFunc(r.memory.servers, func(a, b *Memory) int { return strings.Compare(a.Server, b.Server) })
	return r.fits()
}

// fits refuses what has no room in servers that would evict keys for it.
func (r *restore) fits() error {
	if r.MayEvict || r.Plan || r.Needs <= 0 {
		return nil
	}
	room, evicts := int64(0), (*Memory)(nil)
	for _, m := range r.memory.servers {
		if !m.Evicts() {
			return nil // it refuses what has no room, or has room for all
		}
		room, evicts = room+max(m.Limit-m.Used, 0), m
	}
	if evicts == nil || r.Needs <= room {
		return nil
	}
	return &RoomError{*evicts, r.Needs, room}
}

// evictions looks whether servers have evicted keys. Those that evict none are not asked.
func (r *restore) evictions(ctx context.Context) (err error) {
	r.watching.Lock()
	defer r.watching.Unlock()
	for _, m := range r.memory.servers {
		if !m.Evicts() {
			continue
		}
		info, failed := topology.ReadInfo(ctx, r.memory.asks[m.Server], "stats")
		if failed != nil {
			continue // the next batch asks again, and so does the end
		}
		m.Evicted = max(info.Int("evicted_keys")-r.memory.before[m.Server], m.Evicted)
		if m.Evicted > 0 && !r.MayEvict {
			err = errors.Join(err, &EvictionError{*m})
		}
	}
	return err
}
