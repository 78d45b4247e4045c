package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
)

// everything asks for every value and every size.
func everything(whole, expect bool) source.Request {
	yes := func([]byte, source.Kind) bool { return true }
	req := source.Request{Bytes: true, Values: yes, Sizes: yes}
	if whole {
		req.Part = func(*source.Key) {}
	}
	if expect {
		req.Expect = func(name []byte) source.Kind {
			return map[byte]source.Kind{'s': source.Stream, 'h': source.Hash}[name[0]]
		}
	}
	return req
}

// A value or a size that the user may not read makes the scan incomplete, and the size
// of a value that is closed is still read.
func TestClosedValues(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		for i := range 300 {
			s.Do("XADD", "s", fmt.Sprint(i+1, "-1"), "a", "1")
			s.Do("HSET", "h", fmt.Sprint(i), "1")
		}
		for _, c := range []struct {
			rules  string
			size   int64
			closed int64
		}{
			{"+@all", 300, 0},
			{"+@all -xrange", 300, 1},
			{"+@all -xrevrange", 300, 1},
			{"+@all -xlen -xrange", 0, 1},
			{"+@all -@read +scan +type +pttl +dbsize +memory|usage", 0, 2},
			{"+@all -@read +scan +type +pttl +dbsize +memory|usage +xlen +hlen", 300, 2},
		} {
			s.Do(append([]string{"ACL", "SETUSER", "u", "reset", "on", ">pw", "~*"}, strings.Fields(c.rules)...)...)
			for i := range 4 {
				whole, expect := i&1 > 0, i&2 > 0
				if whole && strings.HasSuffix(c.rules, "-xrevrange") {
					continue // whole values are read from the beginning
				}
				got, sum, err := scanned(t, servertest.Config(t, "redis://u:pw@"+s.Addr()), Options{}, everything(whole, expect))
				if err != nil || got["0/s"].Kind != source.Stream || got["0/h"].Kind != source.Hash {
					t.Fatalf("%s: %v, %+v", c.rules, err, got)
				}
				told := source.Reason{Code: source.ValuesDenied, Server: s.Addr(), Keys: c.closed}
				if got["0/s"].Size != c.size || (c.closed > 0) != (len(sum.Incomplete) == 1 && sum.Incomplete[0] == told) {
					t.Errorf("%s, whole %t, expected %t: size %d, %v", c.rules, whole, expect, got["0/s"].Size, sum.Incomplete)
				}
			}
		}
	})
}

// A key that is gone when its value is read has no value: it is not an empty hash without
// its fields, nor an empty string.
func TestValuesOfKeysThatVanish(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	for _, whole := range []bool{false, true} {
		s.Do("SET", "empty", "")
		s.Do("SET", "t", "1")
		s.Do("HSET", "h", "a", "1")
		s.Do("SADD", "m", "a")
		req := everything(whole, false)
		req.Values = func(name []byte, _ source.Kind) bool {
			if string(name) != "empty" {
				s.Do("DEL", string(name))
			}
			return true
		}
		got, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{}, req)
		if err != nil || len(sum.Incomplete) > 0 || len(got) != 4 {
			t.Fatal(err, sum, got)
		}
		for name, k := range got {
			if (k.Value != nil) != (name == "0/empty") || k.Kind == source.Unknown {
				t.Errorf("whole %t: %s is %+v with %+v", whole, name, k, k.Value)
			}
		}
	}
}

// With one shard dead the others are read, and the report names the one that is missing.
func TestDeadShard(t *testing.T) {
	t.Parallel()
	c := kt.StartCluster(t, kt.Redis, 3, 0)
	fillCluster(c, 300)
	keys := c.Nodes[0].Do("DBSIZE").(int64) + c.Nodes[1].Do("DBSIZE").(int64)
	c.Nodes[2].Kill()
	got, sum, err := scanned(t, servertest.Config(t, c.URL()), Options{}, source.Request{})
	if err != nil || int64(len(got)) != keys || sum.Shards != 2 || len(sum.Incomplete) != 1 ||
		sum.Incomplete[0].Code != source.Missing || sum.Incomplete[0].Server != c.Nodes[2].Addr() {
		t.Errorf("%d of %d keys, %+v, %v", len(got), keys, sum, err)
	}
	n := int64(0)
	sum, err = NewSnapshot(servertest.Config(t, c.URL()), SnapshotOptions{OnlyDB: -1}).Scan(t.Context(), source.Request{},
		func(keys []source.Key) error {
			n += int64(len(keys))
			return nil
		})
	if err != nil || n != keys || len(sum.Incomplete) != 1 || sum.Incomplete[0].Code != source.Missing {
		t.Errorf("snapshots: %d of %d keys, %+v, %v", n, keys, sum, err)
	}
	if _, err := Identify(t.Context(), servertest.Config(t, c.URL()), Primary); err == nil {
		t.Error("a plan was made for a cluster with a dead shard")
	}
}

// Each database has its part of a sample, and a small sample is no page of each.
func TestSampleIsSpreadOverDatabases(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	sizes := map[int]int{0: 6000, 1: 200, 3: 600, 15: 3200}
	for db, n := range sizes {
		s.Do("EVAL", `redis.call('SELECT', ARGV[1])
			for i = 1, tonumber(ARGV[2]) do redis.call('SET', 'key'..i, 'x') end`, "0", fmt.Sprint(db), fmt.Sprint(n))
	}
	for _, sample := range []int{100, 500, 2000} {
		got, _, err := scanned(t, servertest.Config(t, s.URL()), Options{OnlyDB: -1}, source.Request{Sample: int64(sample)})
		if err != nil {
			t.Fatal(err)
		}
		of := map[int]int{}
		for _, k := range got {
			of[k.DB]++
		}
		for db, n := range sizes {
			want := sample * n / 10_000
			if of[db] < want/2 || of[db] > 2*want+12 {
				t.Errorf("a sample of %d has %d keys of database %d, not about %d", sample, of[db], db, want)
			}
		}
	}
}

// A sample of one database is of that database: its size is what the sample is a part of.
func TestSampleOfOneDatabase(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	for db, n := range map[int]int{0: 6000, 3: 600} {
		s.Do("EVAL", `redis.call('SELECT', ARGV[1])
			for i = 1, tonumber(ARGV[2]) do redis.call('SET', 'key'..i, 'x') end`, "0", fmt.Sprint(db), fmt.Sprint(n))
	}
	of := map[int]int64{3: 600, 7: 0}
	for db, n := range of {
		for _, sample := range []int64{0, 500, 2000} {
			url := s.URL()
			got, sum, err := scanned(t, servertest.Config(t, url), Options{OnlyDB: db}, source.Request{Sample: sample})
			want := n
			if sample > 0 {
				want = min(n, sample)
			}
			// The last page of a sample may have a few keys more.
			if err != nil || int64(len(got)) < want || int64(len(got)) > min(n, want+50) || sum.Expected != n ||
				sum.Databases != 1 ||
				len(sum.Origins) != 1 || !slices.Equal(sum.Origins[0].Databases, []int{db}) {
				t.Errorf("database %d, a sample of %d: %d keys, %+v, %v", db, sample, len(got), sum, err)
			}
		}
	}
}

// A sample that is as large as the database is all of it, and one that is smaller has
// each key once.
func TestSampleHasEachKeyOnce(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	for i := range 40 {
		s.Do("SET", fmt.Sprint("key:", i), "v")
	}
	for sample, most := range map[int64]int{1000: 40, 40: 40, 39: 40, 10: 40} {
		// which fails where a name comes twice
		got, sum, err := scanned(t, servertest.Config(t, s.URL()), Options{}, source.Request{Sample: sample})
		if err != nil || len(got) > most || sum.Keys != int64(len(got)) || sample >= 40 && len(got) != 40 || len(got) == 0 {
			t.Errorf("a sample of %d: %d keys, %+v, %v", sample, len(got), sum, err)
		}
	}
}
