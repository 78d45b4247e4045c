package keywright

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/topology"
	"github.com/redis/rueidis"
)

// Health is how the servers of a client are doing.
type Health struct {
	Servers []ServerHealth
}

// ServerHealth is one server. Sizes are bytes.
type ServerHealth struct {
	Address   string
	Role      string // "master" or "slave"
	Version   string
	Latency   time.Duration // of one PING
	Memory    int64         // used_memory
	MaxMemory int64         // 0: unbounded
	Clients   int
	Uptime    time.Duration
	Keys      int64 // over all databases; expired ones that were not touched count

	Peak          int64   // the most memory there has been
	Fragmentation float64 // what the system gives the process ÷ what that uses
	Policy        string  // maxmemory-policy: "noeviction", "volatile-ttl" …
	Blocked       int     // clients that wait for something
	Commands      int64   // since it began, as all that follow
	Hits, Misses  int64   // reads of keys that were there, and that were not
	Expired       int64
	Evicted       int64 // thrown away at maxmemory
	Refused       int64 // connections beyond maxclients
	Input, Output int64 // bytes

	Replicas []ReplicaHealth // as this server sees them

	Err error // this server could not be asked
}

// ReplicaHealth is a replica as its primary sees it.
type ReplicaHealth = topology.Follower

// HitRate is the part of the reads that found their key, 0 before the first one.
func (s ServerHealth) HitRate() float64 {
	if s.Hits+s.Misses == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}

// OK reports whether every server answered.
func (h Health) OK() bool {
	return len(h.Servers) > 0 && !slices.ContainsFunc(h.Servers, func(s ServerHealth) bool { return s.Err != nil })
}

// Check asks every server that commands go to how it is, in a cluster the
// primaries, under sentinels the primary: two round trips each, at the same time.
// The error joins those of all servers; what the others said is in the Health
// nevertheless. It needs +ping and +info.
func (c *Client) Check(ctx context.Context) (Health, error) {
	nodes := c.raw.Nodes()
	h := Health{Servers: askAll(slices.Sorted(maps.Keys(nodes)), func(address string) ServerHealth {
		s := checkServer(ctx, nodes[address])
		s.Address = address
		if s.Err != nil {
			class, _, hint := judge(s.Err, false)
			s.Err = &Error{Class: class, Op: "check", Server: address, Attempts: 1, Err: s.Err, Hint: hint}
		}
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

func checkServer(ctx context.Context, c rueidis.Client) (s ServerHealth) {
	began := time.Now()
	if s.Err = c.Do(ctx, c.B().Ping().Build()).Error(); s.Err != nil {
		return s
	}
	s.Latency = time.Since(began)
	info, err := topology.ReadInfo(ctx, AskNode(c))
	if reply, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(reply.Error(), "NOPERM") {
		return s // it answers; what INFO says is not for this user
	}
	if err != nil {
		s.Err = err
		return s
	}
	s.Role = info["role"]
	_, s.Version = info.Brand()
	s.Memory, s.MaxMemory, s.Peak = info.Int("used_memory"), info.Int("maxmemory"), info.Int("used_memory_peak")
	s.Fragmentation, _ = strconv.ParseFloat(info["mem_fragmentation_ratio"], 64)
	s.Policy = info["maxmemory_policy"]
	s.Clients, s.Blocked = int(info.Int("connected_clients")), int(info.Int("blocked_clients"))
	s.Uptime = time.Duration(info.Int("uptime_in_seconds")) * time.Second
	s.Commands, s.Refused = info.Int("total_commands_processed"), info.Int("rejected_connections")
	s.Hits, s.Misses = info.Int("keyspace_hits"), info.Int("keyspace_misses")
	s.Expired, s.Evicted = info.Int("expired_keys"), info.Int("evicted_keys")
	s.Input, s.Output = info.Int("total_net_input_bytes"), info.Int("total_net_output_bytes")
	s.Keys, s.Replicas = info.Keys(), info.Followers()
	return s
}
