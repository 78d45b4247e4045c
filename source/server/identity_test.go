package server

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
)

// primaries returns the addresses of an identity, by shard.
func primaries(id Identity) (out []string) {
	for _, s := range id.Shards {
		out = append(out, s.Address)
	}
	return out
}

// TestIdentifyWaitsUntilNodesAgree: an old primary that does not know of its failover lists
// itself, and says that it is one. That is no identity: other nodes list its successor.
func TestIdentifyWaitsUntilNodesAgree(t *testing.T) {
	t.Parallel()
	c := kt.StartCluster(t, kt.Redis, 3, 1)
	if !strings.HasPrefix(c.Nodes[0].Info("redis_version"), "7.0.") {
		t.Log("Redis from 7.2 and Valkey tell all nodes of a FORGET: none is left alone with what it believes")
		return
	}
	old, next := c.Nodes[0], c.Nodes[3]
	for _, n := range c.Nodes { // on a busy machine, too, there is one failover
		n.Do("CONFIG", "SET", "cluster-replica-no-failover", "yes")
		n.Do("CONFIG", "SET", "cluster-node-timeout", "60000")
	}
	whole, err := Identify(t.Context(), servertest.Config(t, "redis://"+c.Nodes[1].Addr()), Primary)
	if err != nil || len(whole.Shards) != 3 {
		t.Fatalf("%+v, %v", whole, err)
	}
	old.Do("CLUSTER", "FORGET", c.ID(3)) // for a minute it believes nothing of it
	next.Do("CLUSTER", "FAILOVER", "TAKEOVER")
	next.Await("role", "master")

	asked := servertest.Config(t, "redis://"+old.Addr())
	if id, err := identifyWithin(t.Context(), asked, Primary, time.Second); !connect.IsKind(err, connect.Unsettled) {
		t.Errorf("nodes that do not agree: %v, %v", primaries(id), err)
	}
	answered := make(chan Identity, 1)
	go func() {
		id, err := identifyWithin(t.Context(), asked, Primary, expect.Patience)
		if err != nil {
			t.Errorf("when the nodes agree: %v", err)
		}
		answered <- id
	}()
	old.Do("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(next.Port), strconv.Itoa(next.Port+1000))
	if id := <-answered; len(id.Shards) != 3 || id.Shards[0].Address != next.Addr() {
		t.Errorf("%v, want %s first", primaries(id), next.Addr())
	}
}

// TestIdentifyOfAReplica: a replica has no identity that a plan could be executed on, and the
// error names the primary. What is only read may be one.
func TestIdentifyOfAReplica(t *testing.T) {
	t.Parallel()
	p := kt.Start(t, kt.Redis)
	r := kt.Start(t, kt.Redis, kt.ReplicaOf(p))
	r.Await("master_link_status", "up")
	c := servertest.Config(t, "redis://"+r.Addr())
	if id, err := Identify(t.Context(), c, Auto); err != nil || id.Shards[0].Address != r.Addr() {
		t.Errorf("%+v, %v", id, err)
	}
	// it does not wait
	if _, err := identifyWithin(t.Context(), c, Primary, time.Hour); !connect.IsKind(err, connect.Unsettled) {
		t.Error(err)
	}
}

// TestIdentifyBySentinel: a primary that sentinels name is asked whether it is one, and all
// sentinels must name the same.
func TestIdentifyBySentinel(t *testing.T) {
	t.Parallel()
	s := kt.StartSentinel(t, kt.Redis, 1, 1)
	id, err := Identify(t.Context(), servertest.Config(t, s.URL()), Primary)
	if err != nil || id.Shards[0].Address != s.Primary.Addr() {
		t.Fatalf("%+v, %v", id, err)
	}
	other := kt.StartSentinel(t, kt.Redis, 0, 1)
	both := "redis+sentinel://" + s.Sentinels[0].Addr() + "," + other.Sentinels[0].Addr() + "/mymaster"
	if id, err := identifyWithin(t.Context(), servertest.Config(t, both), Primary, 0); !connect.IsKind(err, connect.Unsettled) {
		t.Errorf("two sentinels, two primaries: %v, %v", primaries(id), err)
	}
	s.Primary.Do("REPLICAOF", "127.0.0.1", strconv.Itoa(s.Replicas[0].Port))
	s.Replicas[0].Do("REPLICAOF", "NO", "ONE") // the sentinel learns of it after seconds
	if id, err := identifyWithin(t.Context(), servertest.Config(t, s.URL()), Primary, 0); err == nil &&
		s.Primary.Info("role") == "slave" &&
		id.Shards[0].Address == s.Primary.Addr() {
		t.Errorf("a replica is what a plan is for: %v", primaries(id))
	}
}
