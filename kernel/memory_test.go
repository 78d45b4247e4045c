package kernel_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestMemory: the exact numbers of each server, also where those for people are
// in another unit than M.
func TestMemory(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand, keywrighttest.Config("maxmemory", "3000000123"),
			keywrighttest.Config("maxmemory-policy", "volatile-ttl"))
		c := open(t, s.URL(), keywright.Options{})
		got, err := c.Memory(t.Context())
		must(t, err)
		used, _ := strconv.ParseInt(s.Info("used_memory"), 10, 64)
		if len(got) != 1 || got[0].Max != 3000000123 || got[0].Policy != "volatile-ttl" || got[0].Address != s.Addr() {
			t.Fatalf("%+v", got)
		}
		if got[0].Used < used/2 || got[0].Used > 2*used || !strings.HasSuffix(s.Info("maxmemory_human"), "G") {
			t.Errorf("%d bytes are used, the server says %d, and %s of maxmemory", got[0].Used, used, s.Info("maxmemory_human"))
		}
		if got, err := c.Memory(t.Context(), s.Addr(), "127.0.0.1:1"); err == nil || len(got) != 2 || got[0].Err != nil ||
			got[1].Err == nil {
			t.Errorf("a server that is none: %+v, %v", got, err)
		}
		s.Do("ACL", "SETUSER", "default", "-info")
		if _, err := c.Memory(t.Context()); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("without +info: %v", err)
		}
	})
}

// TestMemoryOfCluster: every primary by itself.
func TestMemoryOfCluster(t *testing.T) {
	cluster := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	c := open(t, cluster.URL(), keywright.Options{})
	for i, n := range cluster.Nodes {
		n.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(100_000_000+i))
	}
	got, err := c.Memory(t.Context())
	must(t, err)
	seen := map[int64]bool{}
	for _, m := range got {
		seen[m.Max-100_000_000] = true
	}
	if len(seen) != 3 || !seen[0] || !seen[1] || !seen[2] {
		t.Errorf("%+v", got)
	}
	cluster.Nodes[1].Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	got, err = c.Memory(ctx)
	cluster.Nodes[1].Continue()
	answered := 0
	for _, m := range got {
		if m.Err == nil {
			answered++
		}
	}
	if err == nil || answered != 2 {
		t.Errorf("a frozen server: %d answered, %v", answered, err)
	}
}

// TestHealthUnderSentinels: the primary, and what it knows of its replicas; after
// a failover the new one.
func TestHealthUnderSentinels(t *testing.T) {
	s := keywrighttest.StartSentinel(t, keywrighttest.Valkey, 2, 3)
	c := open(t, s.URL(), keywright.Options{})
	h, err := c.Check(t.Context())
	must(t, err)
	if len(h.Servers) != 1 || h.Servers[0].Address != s.Primary.Addr() || len(h.Servers[0].Replicas) != 2 {
		t.Fatalf("%+v", h)
	}
	for _, r := range h.Servers[0].Replicas {
		if !r.Online || r.Address != s.Replicas[0].Addr() && r.Address != s.Replicas[1].Addr() || r.Silent > time.Minute {
			t.Errorf("%+v", r)
		}
	}
	s.Primary.Kill()
	for range 400 {
		if h, err = c.Check(t.Context()); err == nil && h.Servers[0].Role == "master" &&
			h.Servers[0].Address != s.Primary.Addr() {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Errorf("the new primary is not seen: %+v, %v", h, err)
}

// TestHealthOfUse: what a page about a server shows.
func TestHealthOfUse(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand, keywrighttest.Config("maxmemory", "50mb"),
			keywrighttest.Config("maxmemory-policy", "allkeys-lru"))
		c := open(t, s.URL(), keywright.Options{})
		s.Do("SET", "a", "1")
		for _, key := range []string{"a", "a", "a", "b"} {
			s.Do("GET", key)
		}
		s.Do("SET", "gone", "1", "PX", "1")
		s.Await("expired_keys", "1")
		big := strings.Repeat("x", 1<<20)
		for i := range 60 {
			s.Do("SET", "big:"+strconv.Itoa(i), big)
		}
		h, err := c.Check(t.Context())
		must(t, err)
		got := h.Servers[0]
		if got.HitRate() < .7 || got.HitRate() > .8 || got.Hits != 3 || got.Misses != 1 || got.Expired != 1 ||
			got.Evicted == 0 || got.Policy != "allkeys-lru" {
			t.Errorf("%+v", got)
		}
		if got.Fragmentation <= 0 || got.Peak < got.Memory || got.Commands == 0 || got.Input < 60<<20 || got.Output == 0 ||
			got.Refused != 0 {
			t.Errorf("%+v", got)
		}
		if (keywright.ServerHealth{}).HitRate() != 0 {
			t.Error("a hit rate without reads")
		}
	})
}
