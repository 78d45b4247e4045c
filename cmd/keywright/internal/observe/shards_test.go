package observe

import (
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// TestShardsBesideADeadOne: a primary that does not answer hides no other, and it is known since when it does not.
func TestShardsBesideADeadOne(t *testing.T) {
	t.Parallel()
	cluster := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	c, err := keywright.Open(t.Context(), cluster.URL(), keywright.Options{NoCache: true, Connections: -1})
	expect.NoError(t, err)
	defer c.Close()
	clock := time.UnixMilli(1000)
	target := &Target{Options: Options{Now: func() time.Time { return clock }}}
	read := func() (dead []Shard) {
		t.Helper()
		all, err := readShards(t.Context(), target, &answer.Reader{Client: c, Pace: (&pace{rate: func() float64 { return 1e6 }}).wait})
		expect.NoError(t, err)
		if len(all) != 3 {
			t.Fatalf("%+v", all)
		}
		target.state.Shards.Value = &all
		for _, s := range all {
			if s.Away != "" {
				dead = append(dead, s)
			} else if s.Keys == nil || s.Memory == nil {
				t.Errorf("%+v", s)
			}
		}
		return dead
	}
	if dead := read(); len(dead) > 0 {
		t.Fatalf("%+v", dead)
	}
	cluster.Nodes[2].Kill()
	for _, now := range []int64{2000, 3000} {
		clock = time.UnixMilli(now)
		if dead := read(); len(dead) != 1 || dead[0].Address != cluster.Nodes[2].Addr() || dead[0].Since.UnixMilli() != 2000 ||
			dead[0].Keys != nil {
			t.Errorf("at %d: %+v", now, dead)
		}
	}
	cluster.Nodes[0].Kill()
	cluster.Nodes[1].Kill()
	if all, err := readShards(t.Context(), target, &answer.Reader{Client: c}); err == nil {
		t.Errorf("%+v", all)
	}
}

// What INFO does not tell is absent: no memory of 0 bytes, and no server without a limit.
func TestShardOfFiguresThatAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(Shard) *int64{
		"used_memory": func(s Shard) *int64 { return s.Memory }, "maxmemory": func(s Shard) *int64 { return s.MaxMemory },
		"connected_clients":         func(s Shard) *int64 { return s.Clients },
		"instantaneous_ops_per_sec": func(s Shard) *int64 { return s.Commands },
	} {
		if got := of(shardOf("a:1", "role:master\r\n")); got != nil {
			t.Errorf("%s is not told, and is %d", name, *got)
		}
		if got := of(shardOf("a:1", "role:master\r\n"+name+":0\r\n")); got == nil || *got != 0 {
			t.Errorf("%s is told, and is %v", name, got)
		}
	}
	if s := shardOf("a:1", "role:master\r\nredis_version:7.0.0\r\ndb0:keys=3,expires=0\r\ndb2:keys=4\r\n"); *s.Keys != 7 ||
		s.Version != "7.0.0" || s.Role != "master" {
		t.Errorf("%+v", s)
	}
}
