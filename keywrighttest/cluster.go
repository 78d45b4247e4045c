package keywrighttest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Cluster represents a running cluster: Nodes[:Primaries] begin as primaries, the
// others as their replicas.
type Cluster struct {
	t         testing.TB
	Nodes     []*Server
	Primaries int
}

const slotCount = 16384

// StartCluster starts a cluster with so many primaries and replicas of each.
func StartCluster(t testing.TB, brand Brand, primaries, replicas int, options ...Option) *Cluster {
	t.Helper()
	c := &Cluster{t: t, Primaries: primaries}
	options = append([]Option{Config("cluster-enabled", "yes"), Config("cluster-node-timeout", "2000"),
		Config("cluster-config-file", "nodes.conf"), Config("cluster-require-full-coverage", "no"),
		Config("cluster-allow-replica-migration", "no"),
		// A replica that had no processor for 30 s would never take over: it takes its data for too old.
		Config("cluster-replica-validity-factor", "0"), busPort}, append(options, primaryLogin)...)
	for range primaries * (1 + replicas) {
		c.Nodes = append(c.Nodes, Start(t, brand, options...))
	}
	for i, n := range c.Nodes { // a node with the epoch of another one would take a new one later, with its slots
		n.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
	}
	for i, n := range c.Nodes[:primaries] {
		n.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slotCount/primaries), strconv.Itoa((i+1)*slotCount/primaries-1))
	}
	for _, n := range c.Nodes[1:] {
		n.Do("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.Nodes[0].Port), strconv.Itoa(c.Nodes[0].Port+1000))
	}
	c.await("the nodes do not know each other", func(n *Server) bool {
		nodes := fmt.Sprint(n.Do("CLUSTER", "NODES")) // to one in handshake no messages of channels are sent
		return strings.Count(nodes, " connected") == len(c.Nodes) && !strings.Contains(nodes, "handshake") &&
			links(n) == 2*(len(c.Nodes)-1)
	})
	for i, n := range c.Nodes[primaries:] {
		n.Do("CLUSTER", "REPLICATE", c.ID(i%primaries))
		n.Await("master_link_status", "up")
	}
	c.await("the cluster is not ok", func(n *Server) bool {
		return strings.Contains(fmt.Sprint(n.Do("CLUSTER", "INFO")), "cluster_state:ok") &&
			strings.Count(fmt.Sprint(n.Do("CLUSTER", "NODES")), "slave") == len(c.Nodes)-primaries &&
			assignment(n) == assignment(c.Nodes[0])
	})
	return c
}

// primaryLogin lets a replica log in to its primary as the test does.
func primaryLogin(s *Server) {
	if s.user != "" {
		Config("masteruser", s.user)(s)
	}
	if s.password != "" {
		Config("masterauth", s.password)(s)
	}
}

// busPort keeps the bus below the ephemeral ports.
func busPort(s *Server) {
	s.late = append(s.late, func(s *Server) []string { return []string{"--cluster-port", strconv.Itoa(s.Port + 1000)} })
}

func (c *Cluster) await(what string, ok func(*Server) bool) {
	c.t.Helper()
	err := within(patience, what, func() bool {
		for _, n := range c.Nodes {
			if !ok(n) {
				return false
			}
		}
		return true
	})
	if err != nil {
		c.t.Fatalf("%v\n%s", err, c.Nodes[0].Log())
	}
}

// links returns the connections of the bus whose other end a node knows, two to each
// other node. One that it has accepted has no end until the first ping; Valkey
// closes it, and loses what comes by it, if a channel's message is there before.
func links(n *Server) int {
	all, _ := n.Do("CLUSTER", "LINKS").([]any)
	return len(all)
}

// ID returns the node id of a node.
func (c *Cluster) ID(node int) string { return fmt.Sprint(c.Nodes[node].Do("CLUSTER", "MYID")) }

// URL names the cluster by its first node.
func (c *Cluster) URL() string { return "redis+cluster://" + c.Nodes[0].Addr() }

// MoveSlots moves n slots from one primary to another, with the keys in them.
func (c *Cluster) MoveSlots(from, to, n int) {
	c.t.Helper()
	first := from * slotCount / c.Primaries
	for slot := first; slot < first+n; slot++ {
		c.move(strconv.Itoa(slot), from, to)
	}
	c.await("the nodes do not agree on the slots",
		func(n *Server) bool { return assignment(n) == assignment(c.Nodes[to]) })
}

// MoveSlotOf moves the slot of a key from one primary to another, with the keys in it.
func (c *Cluster) MoveSlotOf(key string, from, to int) {
	c.t.Helper()
	c.move(fmt.Sprint(c.Nodes[from].Do("CLUSTER", "KEYSLOT", key)), from, to)
	c.await("the nodes do not agree on the slots",
		func(n *Server) bool { return assignment(n) == assignment(c.Nodes[to]) })
}

func (c *Cluster) move(slot string, from, to int) {
	c.t.Helper()
	c.setSlot(to, slot, "IMPORTING", c.ID(from))
	c.setSlot(from, slot, "MIGRATING", c.ID(to))
	for {
		keys, _ := c.Nodes[from].Do("CLUSTER", "GETKEYSINSLOT", slot, "100").([]any)
		if len(keys) == 0 {
			break
		}
		var all [][]string
		for _, k := range keys {
			words := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(c.Nodes[to].Port), fmt.Sprint(k), "0", "5000"}
			if s := c.Nodes[to]; s.user != "" {
				words = append(words, "AUTH2", s.user, s.password)
			}
			all = append(all, words)
		}
		c.Nodes[from].Pipe(all...)
	}
	for _, node := range []int{to, from} {
		c.setSlot(node, slot, "NODE", c.ID(to))
	}
}

// setSlot says something of a slot to a primary. Valkey wants its replicas to know it within two seconds, and
// does nothing if they do not: it is sent again.
func (c *Cluster) setSlot(node int, slot, what, id string) {
	c.t.Helper()
	var err error
	_ = within(patience, "the replicas do not know a slot", func() bool {
		_, err = c.Nodes[node].Try("CLUSTER", "SETSLOT", slot, what, id)
		return err == nil || !strings.Contains(err.Error(), "NOREPLICAS")
	})
	if err != nil {
		c.t.Fatalf("CLUSTER SETSLOT %s %s at node %d: %v\n%v", slot, what, node, err, c.Nodes[node].Do("CLUSTER", "NODES"))
	}
}

// assignment returns who holds which slots since which epoch, as a node sees it. A node that does not know the epoch of
// another one would take a slot from it without a later epoch, and lose it again to what that one said before.
func assignment(n *Server) string {
	var lines []string
	for _, line := range strings.Split(fmt.Sprint(n.Do("CLUSTER", "NODES")), "\n") {
		if f := strings.Fields(line); len(f) > 8 {
			lines = append(lines, f[0]+" "+f[6]+" "+strings.Join(f[8:], " "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Failover makes a replica the primary of its shard. A server gives a failover up after five seconds,
// and refuses a second one of a shard within some seconds, so that it is asked for again.
func (c *Cluster) Failover(replica int) {
	c.t.Helper()
	next := c.Nodes[replica]
	var asked time.Time
	err := within(patience, "no failover", func() bool {
		if time.Since(asked) > 2*time.Second {
			asked = time.Now()
			_, _ = next.Try("CLUSTER", "FAILOVER")
		}
		return next.Info("role") == "master"
	})
	if err != nil {
		c.t.Fatalf("%v\n%s", err, next.Log())
	}
}

// Sentinels represents a primary with replicas under sentinels.
type Sentinels struct {
	Primary   *Server
	Replicas  []*Server
	Sentinels []*Server
}

// StartSentinel starts a primary called mymaster with replicas and sentinels
// that agree on it. The options are those of the primary and the replicas.
func StartSentinel(t testing.TB, brand Brand, replicas, sentinels int, options ...Option) *Sentinels {
	t.Helper()
	options = append(options, primaryLogin)
	s := &Sentinels{Primary: Start(t, brand, options...)}
	for range replicas {
		r := Start(t, brand, append(slices.Clip(options), ReplicaOf(s.Primary))...)
		r.Await("master_link_status", "up")
		s.Replicas = append(s.Replicas, r)
	}
	for range sentinels {
		s.Sentinels = append(s.Sentinels, Start(t, brand, sentinelMode(s.Primary, sentinels/2+1)))
	}
	for _, n := range s.Sentinels {
		line := fmt.Sprintf("name=mymaster,status=ok,address=127.0.0.1:%d,slaves=%d,sentinels=%d", s.Primary.Port, replicas,
			sentinels)
		n.Await("master0", line)
	}
	return s
}

// sentinelMode turns the server into a sentinel. It reads its settings from a
// file, which it also writes to.
func sentinelMode(primary *Server, quorum int) Option {
	return func(s *Server) {
		s.sentinel = fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %d %d\n"+
			"sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n", primary.Port, quorum)
		if primary.user != "" {
			s.sentinel += "sentinel auth-user mymaster " + primary.user + "\n"
		}
		if primary.password != "" {
			s.sentinel += "sentinel auth-pass mymaster " + primary.password + "\n"
		}
	}
}

// URL names the primary by its sentinels.
func (s *Sentinels) URL() string {
	addrs := make([]string, len(s.Sentinels))
	for i, n := range s.Sentinels {
		addrs[i] = n.Addr()
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/mymaster"
}
