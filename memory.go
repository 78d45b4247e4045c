package keywright

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/keywright/keywright/topology"
	"github.com/redis/rueidis"
)

// ServerMemory is how full one server is. Sizes are bytes.
type ServerMemory struct {
	Address string
	// Used is what the server itself compares with maxmemory: used_memory without
	// the buffers for replicas and the AOF.
	Used   int64
	Max    int64  // maxmemory, 0: unbounded
	Policy string // maxmemory-policy
	Err    error  // this server could not be asked
}

// Memory asks servers how full they are: those at the addresses, or without any
// every server that commands go to, in a cluster the primaries. One round trip
// each, at the same time. The error joins those of all; what the others said is
// there nevertheless. It needs +info.
func (c *Client) Memory(ctx context.Context, addresses ...string) ([]ServerMemory, error) {
	if c.life.Err() != nil {
		return nil, &Error{Class: NotApplied, Op: "memory", Server: c.server, Err: ErrClosed}
	}
	nodes := c.raw.Nodes()
	if len(addresses) == 0 {
		addresses = slices.Sorted(maps.Keys(nodes))
	}
	out := askAll(addresses, func(address string) ServerMemory {
		if node, ok := nodes[address]; ok {
			return readMemory(ctx, address, node)
		}
		return ServerMemory{Address: address, Err: &Error{Class: Retryable, Op: "memory", Server: address, Err: errors.New("the server is no longer one that commands go to")}}
	})
	var errs []error
	for _, m := range out {
		errs = append(errs, m.Err)
	}
	if len(addresses) == 0 {
		errs = append(errs, &Error{Class: Retryable, Op: "memory", Server: c.server, Err: errors.New("no server is known")})
	}
	return out, errors.Join(errs...)
}

// askAll asks servers at the same time: one that does not answer hides no other.
func askAll[T any](addresses []string, ask func(address string) T) []T {
	out := make([]T, len(addresses))
	var asked sync.WaitGroup
	for i, address := range addresses {
		asked.Go(func() { out[i] = ask(address) })
	}
	asked.Wait()
	return out
}

func readMemory(ctx context.Context, address string, node rueidis.Client) ServerMemory {
	m := ServerMemory{Address: address}
	info, err := topology.ReadInfo(ctx, AskNode(node), "memory")
	if err == nil {
		err = m.parse(info)
	}
	if err != nil {
		class, _, hint := judge(err, false)
		m.Err = &Error{Class: class, Op: "memory", Server: address, Attempts: 1, Err: err, Hint: hint}
	}
	return m
}

// parse reads the exact numbers; the ones for people (used_memory_human) change
// their unit.
func (m *ServerMemory) parse(info topology.Info) error {
	var lacks []error
	number := func(name string) int64 {
		n, told := info.Number(name)
		if !told {
			lacks = append(lacks, fmt.Errorf("INFO memory has no number %s", name))
		}
		return n
	}
	used := number("used_memory")
	m.Used, m.Max, m.Policy = max(used-info.Int("mem_not_counted_for_evict"), 0), number("maxmemory"), info["maxmemory_policy"]
	return errors.Join(lacks...)
}
