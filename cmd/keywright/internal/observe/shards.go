package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/connect/topology"
)

// shardCost is what one primary is asked: whether it is one, and how it is.
const shardCost = 2

// readShards asks every primary how it is. One that does not answer hides no other.
func readShards(ctx context.Context, t *Target, r *answer.Reader) ([]Shard, error) {
	nodes, err := r.Client.Primaries(ctx)
	if len(nodes) == 0 {
		return nil, err
	}
	st, out := t.State(), []Shard{}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			failed, ok := errors.AsType[*keywright.Error](err)
			if !ok {
				return nil, err
			}
			away := Shard{Address: failed.Server, Away: failed.Err.Error(), Since: t.Now()}
			out = append(out, away.after(st.Shards.Value))
		}
	} else if err != nil {
		return nil, err
	}
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

// after returns a shard that knows how many replicas it had before, and since when it is away.
func (s Shard) after(before *[]Shard) Shard {
	if before == nil {
		s.Since = time.Time{}
		return s
	}
	for _, was := range *before {
		if was.Address != s.Address {
			continue
		}
		s.Expected = max(s.Expected, was.Expected)
		if s.Away != "" && was.Away != "" {
			s.Since = was.Since
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
	keys := info.Keys()
	return Shard{Address: address, Role: info["role"], Version: version, Keys: &keys,
		Memory: figure("used_memory"), MaxMemory: figure("maxmemory"),
		Clients: figure("connected_clients"), Commands: figure("instantaneous_ops_per_sec"),
		Replicas: len(info.InStep()), Expected: len(info.Followers())}
}
