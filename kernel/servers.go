package kernel

import (
	"context"
	"errors"

	"github.com/keywright/keywright/slot"
	"github.com/keywright/keywright/topology"
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

// Apart reports whether keys are in different slots of a cluster, so that no step can
// have all of them.
func (c *Client) Apart(keys ...string) bool {
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
// error if one of them does not answer, or there is none, as where the URL is a replica's.
func (c *Client) Primaries(ctx context.Context) (map[string]rueidis.Client, error) {
	nodes := c.raw.Nodes()
	for address, node := range nodes {
		role, err := topology.ReadRole(ctx, AskNode(node))
		switch {
		case err == nil && !role.Primary():
			delete(nodes, address)
		case err != nil && refusal(err) != "NOPERM":
			class, _, hint := judge(err, false)
			return nil, &Error{Class: class, Op: "find primaries", Server: address, Attempts: 1, Err: err, Hint: hint}
		}
	}
	if len(nodes) == 0 {
		return nil, &Error{Class: Refused, Op: "find primaries", Server: c.server,
			Err: errors.New("no server that takes writes is known"), Hint: "is the URL a replica's?"}
	}
	return nodes, nil
}
