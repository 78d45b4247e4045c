package kernel

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/kernel/health"
	"github.com/keywright/keywright/kernel/memory"
	"github.com/redis/rueidis"
)

// AskNode asks one server, for package topology. An error is as rueidis has it.
func AskNode(node rueidis.Client) topology.Ask {
	return func(ctx context.Context, words ...string) (any, error) {
		return node.Do(ctx, node.B().Arbitrary(words...).ReadOnly()).ToAny()
	}
}

// Clustered reports whether keys are spread over the slots of a cluster.
func (c *Client) Clustered() bool { return c.slots }

// CrossSlot reports whether keys are in different slots of a cluster, so that no step can
// have all of them.
func (c *Client) CrossSlot(keys ...string) bool {
	if !c.slots || len(keys) < 2 {
		return false
	}
	first := slot.Of([]byte(keys[0]))
	for _, k := range keys[1:] {
		if slot.Of([]byte(k)) != first {
			return true
		}
	}
	return false
}

// Primaries returns the servers that take writes, by address: those of which every key is
// scanned once. A server whose role the login may not read (+role) counts as one. It is an
// error if one of them does not answer, or there is none, as where the URL is a replica's. The error joins
// those of all servers; the others are there nevertheless. One round trip each, at the same time.
func (c *Client) Primaries(ctx context.Context) (map[string]rueidis.Client, error) {
	nodes := c.raw.Nodes()
	addresses := slices.Sorted(maps.Keys(nodes))
	type answer struct {
		role topology.Role
		err  error
	}
	answers := askAll(addresses, func(address string) answer {
		role, err := topology.ReadRole(ctx, AskNode(nodes[address]))
		return answer{role, err}
	})
	var errs []error
	for i, address := range addresses {
		switch a := answers[i]; {
		case a.err == nil && !a.role.Primary():
			delete(nodes, address)
		case a.err != nil && refusal(a.err) != "NOPERM":
			delete(nodes, address)
			errs = append(errs, askError("find primaries", address, a.err))
		}
	}
	if errs != nil {
		return nodes, errors.Join(errs...)
	}
	if len(nodes) == 0 {
		return nil, &Error{Class: Refused, Op: "find primaries", Server: c.server,
			Err: errors.New("no server that takes writes is known"), Hint: "is the URL a replica's?"}
	}
	return nodes, nil
}

// OpenNode connects to one server of a topology, as a replica of which only a primary knows the address. The login and
// TLS are those of the configuration. The client retries nothing and caches nothing.
func OpenNode(c connect.Config, address string) (Raw, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, Username: c.User,
		Password: c.Password.Reveal(), TLSConfig: c.TLS,
		ForceSingleClient: true, DisableCache: true, DisableRetry: true, ConnWriteTimeout: c.Timeout,
		Dialer: net.Dialer{Timeout: c.Timeout}, DialCtxFn: dialGuarded})
}

// dialGuarded connects to a server whose replies are not believed.
func dialGuarded(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (conn net.Conn, err error) {
	if t != nil {
		conn, err = (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = d.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	return wire.Guard(conn), nil
}

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
