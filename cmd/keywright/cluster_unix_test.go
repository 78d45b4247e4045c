//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// fillCluster makes keys of each kind in all slots.
func fillCluster(t *testing.T, url string, n int) {
	t.Helper()
	c := clientOf(t, url, 0).Raw()
	var list rueidis.Commands
	set := func(words ...string) {
		list = append(list, c.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build())
	}
	for i := range n {
		set("SET", fmt.Sprint("user:", i), strings.Repeat("v", i%300))
		set("HSET", fmt.Sprint("page:", i), "f", fmt.Sprint(i))
		set("PEXPIREAT", fmt.Sprint("page:", i), fmt.Sprint(4102444800000+i))
		set("SET", fmt.Sprintf("log:2024-%02d-%02d", 1+i/28%12, 1+i%28), "x")
	}
	for from := 0; from < 2000; from += 100 {
		hash, list := []string{"HSET", "big:hash"}, []string{"RPUSH", "big:list"}
		for i := from; i < from+100; i++ {
			hash = append(hash, fmt.Sprint("field", i), strings.Repeat("x", 100))
			list = append(list, fmt.Sprint(i, strings.Repeat("x", 100)))
		}
		set(hash...)
		set(list...)
	}
	for _, reply := range c.DoMulti(t.Context(), list...) {
		must(t, reply.Error())
	}
}

// unrest moves slots to and fro between two primaries, and lets a replica of a third take
// over, until it is stopped.
type unrest struct {
	*keywrighttest.Cluster
	keys []string // whose slots are moved: those of the second primary
}

// during runs what is done under unrest: one failover, and slots that move all the time.
func (u *unrest) during(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	u.agree(t)
	for _, node := range []int{0, 3} { // the two of a shard
		if n := u.Nodes[node]; n.Info("role") == "slave" {
			u.Failover(node)
			break
		}
	}
	u.agree(t)
	for from, to := 1, 2; ; from, to = to, from {
		for _, key := range u.keys {
			u.MoveSlotOf(key, from, to)
			u.agree(t)
		}
		select {
		case <-done:
			if from == 2 {
				return
			}
		default:
		}
	}
}

// agree waits until all nodes know the same owners of the slots: two nodes that take slots at
// the same time may take the same epoch, and then neither is believed.
func (u *unrest) agree(t *testing.T) {
	t.Helper()
	expect.Eventually(t, "the nodes agree after a failover", func() bool {
		views, unique := map[string]bool{}, true
		for _, n := range u.Nodes {
			owners, epochs := []string{}, map[string]bool{}
			for _, line := range strings.Split(fmt.Sprint(n.Do("CLUSTER", "NODES")), "\n") {
				if f := strings.Fields(line); len(f) > 8 {
					unique = unique && !epochs[f[6]]
					epochs[f[6]] = true
					owners = append(owners, f[0]+" "+f[6]+" "+strings.Join(f[8:], " "))
				}
			}
			slices.Sort(owners)
			views[strings.Join(owners, "\n")] = true
		}
		return len(views) == 1 && unique
	})
}

// In a cluster whose slots move, and of whose shards one fails over, each verb does all that
// it got the change, or says that it could not and does it the next time.
func TestClusterVerbs(t *testing.T) {
	t.Parallel()
	n, moving, replicas := 60, 0, 0 // in the gate nothing moves
	if gate.All() {
		n, moving, replicas = 300, 2, 3
	}
	if gate.Count(t, "KEYWRIGHT_KILLS", 0, 0) > 0 {
		n, moving = 5000, 8
	}
	brands := keywrighttest.Brands()
	c := keywrighttest.StartCluster(t, brands[0], 3, replicas)
	other := keywrighttest.Start(t, brands[1])
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(movedKeyspace), 0o600))
	u := &unrest{Cluster: c}
	for i := 0; len(u.keys) < moving; i++ {
		key := fmt.Sprint("user:", i)
		if s := int(slot.Of([]byte(key))); s >= 16384/3+1 && s < 2*16384/3 {
			u.keys = append(u.keys, key)
		}
	}
	fillCluster(t, c.URL(), n)
	all := keysOf(t, c.URL())
	refill := func() {
		c := clientOf(t, c.URL(), 0)
		for key := range keysOf(t, u.URL()) {
			_, name, _ := strings.Cut(key, " ")
			must(t, c.Raw().Do(t.Context(), c.Raw().B().Unlink().Key(name).Build()).Error())
		}
	}
	run := func(line string) {
		t.Helper()
		words := strings.Fields(strings.NewReplacer("CLUSTER", c.URL(), "OTHER", other.URL()).Replace(line))
		if moving == 0 {
			ran(t, 0, dir, words...)
			return
		}
		var text []byte
		code := 0
		began := time.Now()
		u.during(t, func() {
			cmd := runProgram(t, dir, words...)
			text, _ = cmd.CombinedOutput()
			code = cmd.ProcessState.ExitCode()
		})
		t.Logf("%s: exit code %d after %v", line, code, time.Since(began).Round(time.Millisecond))
		if code != 0 {
			t.Logf("%.2000s", text)
			if code != 5 && code != 4 && code != 1 {
				t.Errorf("%s: exit code %d", line, code)
			}
			ran(t, 0, dir, words...)
		}
	}
	run("backup --to a.kwa -u CLUSTER --replace-file")
	ran(t, 0, dir, "restore", "a.kwa", "-u", other.URL(), "--apply")
	sameKeys(t, all, keysOf(t, other.URL()))
	other.Do("FLUSHALL")
	run("copy CLUSTER OTHER --apply")
	sameKeys(t, all, keysOf(t, other.URL()))
	if moving != 2 {
		refill()
		run("copy OTHER CLUSTER --apply")
		sameKeys(t, all, keysOf(t, c.URL()))
	}
	refill()
	run("restore a.kwa -u CLUSTER --apply")
	sameKeys(t, all, keysOf(t, c.URL()))
	run("ttl -u CLUSTER --entry user --apply")
	now := keysOf(t, c.URL())
	sameKeys(t, only(all, "page:", "big:", "log:"), only(now, "page:", "big:", "log:"))
	users := only(now, "user:")
	if len(users) != n {
		t.Errorf("%d users, not %d", len(users), n)
	}
	for key, value := range users {
		if strings.HasSuffix(value, "until -1") {
			t.Errorf("%s has no TTL", key)
		}
	}
	run("clean -u CLUSTER --apply")
	now = keysOf(t, c.URL())
	if logs := only(now, "log:"); len(logs) != 2 {
		t.Errorf("%d logs are left", len(logs))
	}
	sameKeys(t, only(all, "page:", "big:"), only(now, "page:", "big:"))
	run("delete -u CLUSTER --entry user,b1,b2 --apply")
	now = keysOf(t, c.URL())
	if left := only(now, "user:", "big:"); len(left) > 0 {
		t.Errorf("%d keys are left", len(left))
	}
	sameKeys(t, only(all, "page:"), only(now, "page:"))
}
