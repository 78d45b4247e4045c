package health_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/keywright/keywright/kernel/health"
)

// info is what a primary says, with a number of its own in each line, so that none is taken for another.
const info = "redis_version:7.0.15\r\nrole:master\r\nused_memory:11\r\nmaxmemory:12\r\nused_memory_peak:13\r\n" +
	"mem_fragmentation_ratio:1.4\r\nmaxmemory_policy:volatile-ttl\r\nconnected_clients:15\r\nblocked_clients:16\r\n" +
	"uptime_in_seconds:17\r\ntotal_commands_processed:18\r\nrejected_connections:19\r\nkeyspace_hits:30\r\n" +
	"keyspace_misses:10\r\nexpired_keys:22\r\nevicted_keys:23\r\ntotal_net_input_bytes:24\r\n" +
	"total_net_output_bytes:25\r\ndb0:keys=20,expires=0,avg_ttl=0\r\ndb3:keys=6,expires=1,avg_ttl=5\r\n" +
	"slave0:ip=10.0.0.2,port=6379,state=online,offset=90,lag=1\r\n"

// answers returns a server that says so.
func answers(ping, said error) func(context.Context, ...string) (any, error) {
	return func(_ context.Context, words ...string) (any, error) {
		if words[0] == "PING" {
			return "PONG", ping
		}
		return info, said
	}
}

func TestCheck(t *testing.T) {
	got := health.Check(t.Context(), answers(nil, nil))
	if got.Err != nil || got.Latency <= 0 || len(got.Replicas) != 1 {
		t.Fatalf("%+v", got)
	}
	want := map[string][2]int64{
		"memory": {got.Memory, 11}, "maxmemory": {got.MaxMemory, 12}, "peak": {got.Peak, 13},
		"fragmentation": {int64(got.Fragmentation * 10), 14}, "clients": {int64(got.Clients), 15},
		"blocked": {int64(got.Blocked), 16}, "uptime": {int64(got.Uptime / time.Second), 17},
		"commands": {got.Commands, 18}, "refused": {got.Refused, 19}, "hits": {got.Hits, 30}, "misses": {got.Misses, 10},
		"expired": {got.Expired, 22}, "evicted": {got.Evicted, 23}, "input": {got.Input, 24}, "output": {got.Output, 25},
		"keys": {got.Keys, 26},
	}
	for name, figure := range want {
		if figure[0] != figure[1] {
			t.Errorf("%s: %d, want %d", name, figure[0], figure[1])
		}
	}
	if got.Role != "master" || got.Version != "7.0.15" || got.Policy != "volatile-ttl" || got.HitRate() != 0.75 {
		t.Errorf("%+v, hit rate %v", got, got.HitRate())
	}
}

// TestCheckFails: a login without +info gets what PING says; any other error is reported.
func TestCheckFails(t *testing.T) {
	away := errors.New("away")
	if got := health.Check(t.Context(), answers(away, nil)); !errors.Is(got.Err, away) || got.Latency != 0 {
		t.Errorf("no answer to PING: %+v", got)
	}
	if got := health.Check(t.Context(), answers(nil, away)); !errors.Is(got.Err, away) || got.Role != "" {
		t.Errorf("no answer to INFO: %+v", got)
	}
	denied := errors.New("NOPERM User x has no permissions to run the 'info' command")
	if got := health.Check(t.Context(), answers(nil, denied)); got.Err != nil || got.Latency <= 0 || got.Memory != 0 {
		t.Errorf("without +info: %+v", got)
	}
}

func TestOK(t *testing.T) {
	for name, c := range map[string]struct {
		servers []health.Server
		want    bool
	}{
		"no server":         {nil, false},
		"all":               {[]health.Server{{}, {}}, true},
		"one does not":      {[]health.Server{{}, {Err: errors.New("away")}}, false},
		"the only one does": {[]health.Server{{}}, true},
	} {
		if got := (health.Health{Servers: c.servers}).OK(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if rate := (health.Server{}).HitRate(); rate != 0 {
		t.Errorf("without reads the rate is %v", rate)
	}
}
