package observe

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
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
	facts := map[string]string{}
	s := Shard{Address: address}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		facts[name] = value
		if rest, ok := strings.CutPrefix(value, "keys="); ok && strings.HasPrefix(name, "db") {
			n, _, _ := strings.Cut(rest, ",")
			s.Keys += count(n)
		}
	}
	s.Role, s.Version = facts["role"], facts["redis_version"]
	if v := facts["valkey_version"]; v != "" {
		s.Version = v
	}
	s.Memory, s.MaxMemory = count(facts["used_memory"]), count(facts["maxmemory"])
	s.Clients, s.Commands = count(facts["connected_clients"]), count(facts["instantaneous_ops_per_sec"])
	return s
}

func count(text string) int64 { n, _ := strconv.ParseInt(text, 10, 64); return n }
