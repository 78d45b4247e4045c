// Package health reads how a server is from what it says of itself (INFO) and how long a PING takes.
//
// It is for package kernel: Client.Check asks all servers of a client.
//
// API: no promise, at no version.
package health

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect/topology"
)

// Health describes how the servers of a client are doing.
type Health struct {
	Servers []Server
}

// Server represents one server. Sizes are bytes.
type Server struct {
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

	Replicas []Replica // as this server sees them

	Err error // this server could not be asked
}

// Replica represents a replica as its primary sees it.
type Replica = topology.Follower

// HitRate returns the part of the reads that found their key, 0 before the first one.
func (s Server) HitRate() float64 {
	if s.Hits+s.Misses == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}

// OK reports whether every server answered.
func (h Health) OK() bool {
	return len(h.Servers) > 0 && !slices.ContainsFunc(h.Servers, func(s Server) bool { return s.Err != nil })
}

// Check asks one server: two round trips. A login without +info gets what PING says.
func Check(ctx context.Context, ask topology.Ask) (s Server) {
	began := time.Now()
	if _, s.Err = ask(ctx, "PING"); s.Err != nil {
		return s
	}
	s.Latency = time.Since(began)
	info, err := topology.ReadInfo(ctx, ask)
	if err != nil && strings.HasPrefix(err.Error(), "NOPERM") {
		return s // it answers; what INFO says is not for this user
	}
	if err != nil {
		s.Err = err
		return s
	}
	s.read(info)
	return s
}

// read takes over what a server says.
func (s *Server) read(info topology.Info) {
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
}
