package observe

import (
	"context"
	"slices"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/topology"
)

// glanceShards asks every primary how it is, with one command each.
func (t *Target) glanceShards(ctx context.Context, failed error, c *keywright.Client, p *pace) {
	shards := []Shard{}
	if failed == nil {
		shards, failed = readShards(ctx, c, p)
	}
	settle(ctx, t, func(s *State) *Reading[[]Shard] { return &s.Shards }, shards, failed)
}

func readShards(ctx context.Context, c *keywright.Client, p *pace) ([]Shard, error) {
	nodes, err := c.Primaries(ctx)
	if err != nil {
		return nil, err
	}
	out := []Shard{}
	for address, node := range nodes {
		if err := p.wait(ctx, 1); err != nil {
			return nil, err
		}
		text, err := node.Do(ctx, node.B().Info().Build()).ToString()
		if err != nil {
			return nil, err
		}
		out = append(out, shardOf(address, text))
	}
	slices.SortFunc(out, func(a, b Shard) int { return strings.Compare(a.Address, b.Address) })
	return out, nil
}

// shardOf reads what INFO says.
func shardOf(address, text string) Shard {
	info := topology.ParseInfo(text)
	_, version := info.Brand()
	figure := func(name string) *int64 {
		if n, told := info.Number(name); told {
			return &n
		}
		return nil
	}
	return Shard{Address: address, Role: info["role"], Version: version, Keys: info.Keys(),
		Memory: figure("used_memory"), MaxMemory: figure("maxmemory"),
		Clients: figure("connected_clients"), Commands: figure("instantaneous_ops_per_sec")}
}
