package kernel

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/keywright/keywright/kernel/health"
	"github.com/keywright/keywright/kernel/memory"
)

type (
	// Health describes how the servers of a client are doing.
	Health = health.Health
	// ServerHealth represents one server.
	ServerHealth = health.Server
	// ReplicaHealth represents a replica as its primary sees it.
	ReplicaHealth = health.Replica
	// ServerMemory describes how full one server is.
	ServerMemory = memory.Server
)

// Check asks every server that commands go to how it is, in a cluster the
// primaries, under sentinels the primary: two round trips each, at the same time.
// The error joins those of all servers; what the others said is in the Health
// nevertheless. It needs +ping and +info.
func (c *Client) Check(ctx context.Context) (Health, error) {
	nodes := c.raw.Nodes()
	h := Health{Servers: askAll(slices.Sorted(maps.Keys(nodes)), func(address string) ServerHealth {
		s := health.Check(ctx, AskNode(nodes[address]))
		s.Address, s.Err = address, askError("check", address, s.Err)
		return s
	})}
	var errs []error
	for _, s := range h.Servers {
		errs = append(errs, s.Err)
	}
	if len(nodes) == 0 {
		errs = append(errs, &Error{Class: Retryable, Op: "check", Server: c.server, Err: errors.New("no server is known")})
	}
	return h, errors.Join(errs...)
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
			m := memory.Read(ctx, AskNode(node))
			m.Address, m.Err = address, askError("memory", address, m.Err)
			return m
		}
		return ServerMemory{Address: address,
			Err: &Error{Class: Retryable, Op: "memory", Server: address,
				Err: errors.New("the server is no longer one that commands go to")}}
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

// askError returns the error of a question to one server; nil stays nil.
func askError(op, address string, err error) error {
	if err == nil {
		return nil
	}
	class, _, hint := judge(err, false)
	return &Error{Class: class, Op: op, Server: address, Attempts: 1, Err: err, Hint: hint}
}
