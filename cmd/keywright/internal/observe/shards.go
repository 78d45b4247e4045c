package observe

import (
	"context"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/connect/topology"
)

// shardCost is what one primary is asked: whether it is one, and how it is.
const shardCost = 2

// readShards asks every primary how it is.
func readShards(ctx context.Context, t *Target, r *answer.Reader) ([]Shard, error) {
	nodes, err := r.Client.Primaries(ctx)
	if err != nil {
		return nil, err
	}
	st, out := t.State(), []Shard{}
	for address, node := range nodes {
		if err := r.Pace(ctx, shardCost); err != nil {
			return nil, err
		}
		text, err := node.Do(ctx, node.B().Info().Build()).ToString()
		if err != nil {
			return nil, err
		}
		out = append(out, shardOf(address, text).after(st.Shards.Value))
	}
	slices.SortFunc(out, func(a, b Shard) int { return strings.Compare(a.Address, b.Address) })
	return out, nil
}

// after returns a shard that knows how many replicas it had before.
func (s Shard) after(before *[]Shard) Shard {
	if before != nil {
		for _, was := range *before {
			if was.Address == s.Address {
				s.Expected = max(s.Expected, was.Expected)
			}
		}
	}
	return s
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
		Clients: figure("connected_clients"), Commands: figure("instantaneous_ops_per_sec"),
		Replicas: len(info.InStep()), Expected: len(info.Followers())}
}
