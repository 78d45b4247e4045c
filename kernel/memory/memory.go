// Package memory reads how full a server is, in the numbers that the server itself compares.
//
// It is for package kernel: Client.Memory asks the servers of a client.
//
// API: no promise, at no version.
package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright/connect/topology"
)

// Server describes how full one server is. Sizes are bytes.
type Server struct {
	Address string
	// Used is what the server itself compares with maxmemory: used_memory without
	// the buffers for replicas and the AOF.
	Used   int64
	Max    int64  // maxmemory, 0: unbounded
	Policy string // maxmemory-policy
	Err    error  // this server could not be asked
}

// Read asks one server: one round trip. It needs +info.
func Read(ctx context.Context, ask topology.Ask) (s Server) {
	info, err := topology.ReadInfo(ctx, ask, "memory")
	if err == nil {
		err = s.parse(info)
	}
	s.Err = err
	return s
}

// parse reads the exact numbers; the ones for people (used_memory_human) change
// their unit.
func (m *Server) parse(info topology.Info) error {
	var lacks []error
	number := func(name string) int64 {
		n, told := info.Number(name)
		if !told {
			lacks = append(lacks, fmt.Errorf("INFO memory has no number %s", name))
		}
		return n
	}
	used := number("used_memory")
	m.Used, m.Max, m.Policy = max(used-info.Int("mem_not_counted_for_evict"), 0), number("maxmemory"),
		info["maxmemory_policy"]
	return errors.Join(lacks...)
}
