package topology_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/source"
)

const primary = "# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\nrun_id:aaa\r\ncluster_enabled:1\r\n\r\n# " +
	"Replication\r\nrole:master\r\nmaster_replid:r1\r\nmaster_repl_offset:2000000\r\n" +
	"slave0:ip=10.0.0.2,port=6379,state=online,offset=1999990,lag=1\r\nslave1:ip=10.0.0.3,port=6379,state=online,offset=2000000,lag=0\r\n" +
	"slave2:ip=::1,port=6379,state=wait_bgsave,offset=0,lag=0\r\nslave3:ip=10.0.0.4,port=6379,state=online,offset=100,lag=9\r\n" +
	"total_commands_processed:9\r\ncmdstat_flushall:calls=2,usec=1\r\ncmdstat_swapdb:calls=1,usec=1\r\n# " +
	"Keyspace\r\ndb0:keys=12,expires=3,avg_ttl=0\r\ndb12:keys=3,expires=0,avg_ttl=0\r\ndbx:keys=1\r\ndb1:keys=many\r\n"

func TestInfo(t *testing.T) {
	i := topology.ParseInfo(primary)
	brand, version := i.Brand()
	major, minor := i.Release()
	got := fmt.Sprint(brand, " ", version, " ", major, ".", minor, " ", i.Clustered(), i.Primary(), i.Replica(),
		i.Linked(), " ", i.Databases(), i.Keys(), " ", i.InStep(), " ", i.Int("nothing"))
	if want := "valkey 8.0.1 8.0 true true false false map[0:12 12:3] 15 [10.0.0.3:6379 10.0.0.2:6379] 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	all := i.Followers()
	if len(all) != 4 ||
		all[0] != (topology.Follower{Address: "10.0.0.2:6379", Online: true, Behind: 10, Silent: time.Second}) ||
		all[2].Address != "[::1]:6379" || all[2].Online {
		t.Errorf("%+v", all)
	}
	if _, told := i.Number("role"); told {
		t.Error("a word is a figure")
	}
	if brand, version := topology.Info(nil).Brand(); brand != "redis" || version != "" || topology.Info(nil).Keys() != 0 {
		t.Errorf("of nothing: %q %q", brand, version)
	}
}

const cluster = "aaa 10.0.0.1:6379@16379,host myself,master - 0 0 1 connected 0-5460 [5461->-bbb] 16000\n" +
	"bbb 10.0.0.2:6379@16379 master - 0 0 2 connected 5461-15999\n" +
	"ccc 10.0.0.3:6379@16379 slave,nofailover aaa 0 0 1 connected\n" +
	"ddd 10.0.0.4:6379@16379 slave,fail? aaa 0 0 1 connected\n" +
	"eee 10.0.0.5:6379@16379 slave bbb 0 0 1 disconnected\n" +
	"fff :6379@16379 master - 0 0 3 connected 16001-99999 -1 x 7-3\n" +
	"ggg 10.0.0.7:6379@16379 master - 0 0 3 connected\nshort line\n"

func TestNodes(t *testing.T) {
	all := topology.ParseNodes(cluster, "10.9.9.9")
	shards := all.Shards()
	if len(all) != 7 || len(shards) != 3 || all.Covered() != topology.Slots || !all.Moving() {
		t.Fatalf("%d nodes, %d shards, %d slots, %v", len(all), len(shards), all.Covered(), all.Moving())
	}
	if s := shards[0]; s.Primary.ID != "aaa" || len(s.Replicas) != 1 || s.Replicas[0].ID != "ccc" ||
		len(shards[1].Replicas) != 0 {
		t.Errorf("%+v", shards)
	}
	if s := shards[2].Primary; s.Address != "10.9.9.9:6379" || fmt.Sprint(s.Slots) != "[16001-16383]" {
		t.Errorf("%+v", s)
	}
	me, ok := all.Myself()
	if !ok || me.ID != "aaa" || !me.Holds(16000) || !me.Holds(5460) || me.Holds(5461) || me.Holds(15999) {
		t.Errorf("%+v", me)
	}
	if n, ok := all.Holder(5461); !ok || n.ID != "bbb" {
		t.Errorf("%+v", n)
	}
	moved := topology.ParseNodes(strings.Replace(cluster, "0-5460 ", "0-5459 ", 1), "")
	if _, ok := moved.Holder(5460); ok || moved.Holdings() == all.Holdings() || moved[5].Address != ":6379" {
		t.Error("a slot that moved is not seen")
	}
	calm := topology.ParseNodes(strings.Replace(cluster, "[5461->-bbb] ", "", 1), "")
	if calm.Moving() || calm.Holdings() != all.Holdings() {
		t.Error("who holds which slots depends on what moves")
	}
}

// TestDifferences: whatever may have changed the keys has its reason, and what changes
// without them has none.
func TestDifferences(t *testing.T) {
	before := topology.Identify(topology.ParseInfo(primary))
	for _, c := range []struct {
		old, new string
		codes    []source.Code
	}{
		{"db0:keys=12", "db0:keys=13", nil},
		{"total_commands_processed:9", "total_commands_processed:10", nil},
		{"run_id:aaa", "run_id:bbb", []source.Code{source.Restarted}},
		{"run_id:aaa\r\n", "", []source.Code{source.Blind}},
		{"role:master", "role:slave", []source.Code{source.RoleChanged, source.LinkLost}},
		{"master_replid:r1", "master_replid:r2", []source.Code{source.HistoryMoved}},
		{"calls=2", "calls=3", []source.Code{source.Flushed}},
		{"cmdstat_swapdb:calls=1", "cmdstat_flushdb:calls=5", []source.Code{source.Flushed}},
		{"role:master", "role:master\r\nrdb_last_load_keys_loaded:7", []source.Code{source.Reloaded}},
		{"role:master", "role:master\r\nloading:1", []source.Code{source.Loading}},
	} {
		after := topology.Identify(topology.ParseInfo(strings.Replace(primary, c.old, c.new, 1)))
		var codes []source.Code
		for _, why := range topology.Differences("a:1", before, after) {
			codes = append(codes, why.Code)
			if why.Server != "a:1" {
				t.Errorf("%+v", why)
			}
		}
		if fmt.Sprint(codes) != fmt.Sprint(c.codes) {
			t.Errorf("%q: %v, want %v", c.new, codes, c.codes)
		}
	}
}

// TestReplies: a reply that does not fit the command is an error, not an empty answer.
func TestReplies(t *testing.T) {
	answers := func(reply any) topology.Ask {
		return func(context.Context, ...string) (any, error) { return reply, nil }
	}
	for _, reply := range []any{nil, int64(1), []any{}} {
		var strange *topology.ReplyError
		_, err1 := topology.ReadInfo(t.Context(), answers(reply))
		_, err2 := topology.ReadNodes(t.Context(), answers(reply), "a:1")
		_, err3 := topology.ReadRole(t.Context(), answers(reply))
		for _, err := range []error{err1, err2, err3} {
			if !errors.As(err, &strange) {
				t.Errorf("%v: %v", reply, err)
			}
		}
	}
	role, err := topology.ReadRole(t.Context(),
		answers([]any{"master", int64(7), []any{[]any{"10.0.0.2", "6379", "7"}, []any{"x"}, int64(1)}}))
	if err != nil || !role.Primary() || fmt.Sprint(role.Followers) != "[10.0.0.2:6379]" {
		t.Errorf("%+v, %v", role, err)
	}
	if role, err := topology.ReadRole(t.Context(),
		answers([]any{"slave", "10.0.0.1", int64(6379), "connected", int64(7)})); err != nil || role.Primary() ||
		role.Followers != nil {
		t.Errorf("%+v, %v", role, err)
	}
}

// FuzzTopology: whatever a server says, the parsers end, and slots are slots.
func FuzzTopology(f *testing.F) {
	f.Add(primary)
	f.Add(cluster)
	f.Fuzz(func(t *testing.T, text string) {
		i := topology.ParseInfo(text)
		_ = i.InStep()
		topology.Differences("a:1", topology.Identify(i), topology.Identify(nil))
		for _, n := range topology.ParseNodes(text, "h") {
			for _, r := range n.Slots {
				if r.First < 0 || r.First > r.Last || r.Last >= topology.Slots {
					t.Fatalf("%+v", n)
				}
			}
		}
	})
}
