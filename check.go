package keywright

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

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
type ReplicaHealth struct {
	Address string
	Online  bool          // it gets every write; else it is loading the data set
	Behind  int64         // bytes of the primary's writes that it has not confirmed
	Silent  time.Duration // since it last confirmed, in whole seconds
}

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
	text, err := c.Do(ctx, c.B().Info().Build()).ToString()
	if reply, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(reply.Error(), "NOPERM") {
		return s // it answers; what INFO says is not for this user
	}
	if err != nil {
		s.Err = err
		return s
	}
	info := parseInfo(text)
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(info[name], 10, 64)
		return n
	}
	s.Role, s.Version = info["role"], info["redis_version"]
	if v := info["valkey_version"]; v != "" {
		s.Version = v
	}
	s.Memory, s.MaxMemory, s.Peak = number("used_memory"), number("maxmemory"), number("used_memory_peak")
	s.Fragmentation, _ = strconv.ParseFloat(info["mem_fragmentation_ratio"], 64)
	s.Policy = info["maxmemory_policy"]
	s.Clients, s.Blocked = int(number("connected_clients")), int(number("blocked_clients"))
	s.Uptime = time.Duration(number("uptime_in_seconds")) * time.Second
	s.Commands, s.Refused = number("total_commands_processed"), number("rejected_connections")
	s.Hits, s.Misses = number("keyspace_hits"), number("keyspace_misses")
	s.Expired, s.Evicted = number("expired_keys"), number("evicted_keys")
	s.Input, s.Output = number("total_net_input_bytes"), number("total_net_output_bytes")
	s.Keys, s.Replicas = keys(info), replicasOf(info)
	return s
}

// replicasOf reads slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=0.
func replicasOf(info map[string]string) (out []ReplicaHealth) {
	written, _ := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	for i := 0; ; i++ {
		line, ok := info["slave"+strconv.Itoa(i)]
		if !ok {
			return out
		}
		of := map[string]string{}
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(part, "=")
			of[name] = value
		}
		got, _ := strconv.ParseInt(of["offset"], 10, 64)
		silent, _ := strconv.ParseInt(of["lag"], 10, 64)
		out = append(out, ReplicaHealth{Address: net.JoinHostPort(of["ip"], of["port"]), Online: of["state"] == "online", Behind: max(written-got, 0), Silent: time.Duration(silent) * time.Second})
	}
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\r"), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// keys adds up the databases: db0:keys=12,expires=3,avg_ttl=0.
func keys(info map[string]string) (n int64) {
	for name, value := range info {
		if db, ok := strings.CutPrefix(name, "db"); !ok || strings.Trim(db, "0123456789") != "" || db == "" {
			continue
		}
		count, _, _ := strings.Cut(strings.TrimPrefix(value, "keys="), ",")
		k, _ := strconv.ParseInt(count, 10, 64)
		n += k
	}
	return n
}
