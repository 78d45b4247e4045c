package compare_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
	"github.com/keywright/keywright/source/server"
)

// diskless lets snapshots begin at once.
var diskless = kt.Config("repl-diskless-sync-delay", "0")

var must = expect.NoError

func reader(t testing.TB, url string, largest int64) *server.Reader {
	t.Helper()
	config, err := connect.New(connect.Options{URL: url})
	must(t, err)
	r, err := server.NewReader(t.Context(), config, server.Options{OnlyDB: -1}, server.ContentsRequest{Largest: largest})
	must(t, err)
	t.Cleanup(r.Close)
	return r
}

// fill writes values of every kind and encoding.
func fill(do func(...string) any) {
	do("SET", "string:int", "42")
	do("SET", "string:empty", "", "PX", "3600000")
	do("PEXPIREAT", "string:empty", "4102444800001")
	do("SET", "string:\xff\x00\n}{", "binary \x00\xff", "PXAT", "4102444800123")
	do("SET", "string:large", string(bytes.Repeat([]byte("0123456789"), 60_000)))
	do("RPUSH", "list", "a", "b", "")
	do("SADD", "set:ints", "1", "2")
	do("SADD", "set", "a", "b")
	do("ZADD", "zset", "1.5", "a", "inf", "b", "-0.25", "c", "3.0000000000000004", "d")
	do("HSET", "hash", "f", "v", "", "empty")
	for i := 0; i < 2000; i += 100 {
		var hash, list, members, scored []string
		for j := i; j < i+100; j++ {
			hash = append(hash, fmt.Sprint("field", j), fmt.Sprint("value", j))
			list = append(list, fmt.Sprint("element", j))
			members = append(members, fmt.Sprint("member", j))
			scored = append(scored, strconv.FormatFloat(float64(j)/7, 'g', 17, 64), fmt.Sprint("member", j))
		}
		do(append([]string{"HSET", "hash:large"}, hash...)...)
		do(append([]string{"RPUSH", "list:large"}, list...)...)
		do(append([]string{"SADD", "set:large"}, members...)...)
		do(append([]string{"ZADD", "zset:large"}, scored...)...)
	}
	for i := range 60 {
		do("XADD", "stream", fmt.Sprintf("%d-1", i+1), "n", strconv.Itoa(i), "text", "x")
	}
	do("XADD", "stream", "61-1", "other", "fields", "here", "")
	do("XDEL", "stream", "60-1")
	do("XGROUP", "CREATE", "stream", "g", "0")
	do("XGROUP", "CREATE", "stream", "idle group", "$")
	do("XREADGROUP", "GROUP", "g", "c1", "COUNT", "50", "STREAMS", "stream", ">")
	do("XREADGROUP", "GROUP", "g", "c2", "COUNT", "5", "STREAMS", "stream", ">")
	do("XACK", "stream", "g", "3-1")
	do("PEXPIREAT", "stream", "4102444800999")
	do("XADD", "stream:empty", "7-7", "a", "b")
	do("XDEL", "stream:empty", "7-7")
}

// whole returns the chain of one archive that a file has.
func whole(t testing.TB, file []byte) *archive.Chain {
	t.Helper()
	a, err := archive.Open(bytes.NewReader(file), int64(len(file)))
	must(t, err)
	chain, err := archive.NewChain(a)
	must(t, err)
	return chain
}

// kept returns an archive of a server.
func kept(t testing.TB, url string, largest int64) *archive.Chain {
	t.Helper()
	return whole(t, keptBytes(t, url, largest))
}

// snapshot returns what a server sends its replicas, once.
func snapshot(t testing.TB, url string, largest int64) compare.Side {
	t.Helper()
	config, err := connect.New(connect.Options{URL: url})
	must(t, err)
	s := server.NewSnapshot(config, server.SnapshotOptions{OnlyDB: -1})
	now := int64(0)
	return &compare.Once{Taken: func() int64 { return now },
		Read: func(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
			return s.Contents(ctx,
				server.ContentsRequest{Largest: largest, Begin: func(_ []source.Shard, taken time.Time) error {
					now = taken.UnixMilli()
					return nil
				}}, each)
		}}
}

func adds(t testing.TB, r compare.Report) {
	t.Helper()
	var sum compare.Figures
	for _, c := range r.Entries {
		sum.Keys, sum.Same, sum.Value = sum.Keys+c.Keys, sum.Same+c.Same, sum.Value+c.Value
	}
	if sum.Keys != r.Keys || sum.Same != r.Same || sum.Value != r.Value ||
		r.Keys != r.Same+r.Differ()+r.Expired+r.Momentary {
		t.Errorf("the report does not add up: %+v", r)
	}
}

// sides gives two servers that hold the same and the archives and the snapshots of both,
// each read whole and in parts.
func sides(t testing.TB, a, b kt.Brand) map[string]func(first bool, largest int64) compare.Side {
	servers := map[bool]*kt.Server{true: kt.Start(t, a, diskless), false: kt.Start(t, b, diskless)}
	for _, s := range servers {
		fill(s.Do)
	}
	return map[string]func(bool, int64) compare.Side{
		"server": func(first bool, largest int64) compare.Side { return reader(t, servers[first].URL(), largest) },
		"archive": func(first bool, largest int64) compare.Side {
			return compare.NewArchive(kept(t, servers[first].URL(), largest), -1)
		},
		"snapshot": func(first bool, largest int64) compare.Side { return snapshot(t, servers[first].URL(), largest) },
	}
}

// Two places with the same keys are the same: any two of server, archive and
// snapshot, of both brands, whatever is read whole and what in parts.
func TestTheSame(t *testing.T) {
	t.Parallel()
	for _, brands := range gate.Pick(t, [][2]kt.Brand{{kt.Redis, kt.Valkey}, {kt.Valkey, kt.Redis}}) {
		all := sides(t, brands[0], brands[1])
		for nameA, a := range all {
			for nameB, b := range all {
				for _, largest := range [][2]int64{{1 << 40, 1 << 40}, {1 << 40, 1}, {1, 1 << 40}, {1, 1}} {
					r, err := compare.Run(t.Context(), a(true, largest[0]), b(false, largest[1]), compare.Options{})
					must(t, err)
					adds(t, r)
					if r.Keys != 15 || r.Same != 15 {
						t.Errorf("%s, %s, %v: %+v", nameA, nameB, largest, r)
					}
				}
			}
		}
	}
}

// Each way in which a key can differ is found, in each pair; in the gate each in one pair, in turns.
func TestDifferent(t *testing.T) {
	t.Parallel()
	changes := []struct {
		what   compare.What
		key    string
		change [][]string
	}{
		{compare.Missing, "list", [][]string{{"DEL", "list"}}},
		{compare.Extra, "new", [][]string{{"SET", "new", "x"}}},
		{compare.Type, "set", [][]string{{"DEL", "set"}, {"SET", "set", "a"}}},
		{compare.Value, "hash:large", [][]string{{"HSET", "hash:large", "field7", "other"}}},
		{compare.Value, "list:large", [][]string{{"LPOP", "list:large"}, {"RPUSH", "list:large", "element0"}}},
		{compare.Value, "zset:large", [][]string{{"ZINCRBY", "zset:large", "0.0000001", "member4"}}},
		{compare.Value, "set:large", [][]string{{"SREM", "set:large", "member4"}, {"SADD", "set:large", "member"}}},
		{compare.Value, "string:large", [][]string{{"SETRANGE", "string:large", "599999", "x"}}},
		{compare.Value, "stream", [][]string{{"XACK", "stream", "g", "4-1"}}},
		{compare.TTL, "string:empty", [][]string{{"PEXPIREAT", "string:empty", "4102444800002"}}},
		{compare.TTL, "string:\xff\x00\n}{", [][]string{{"PERSIST", "string:\xff\x00\n}{"}}},
	}
	a, b := kt.Start(t, kt.Redis, diskless), kt.Start(t, kt.Valkey, diskless)
	pairs := map[string][2]func(url string, largest int64) compare.Side{}
	once := func(url string, largest int64) compare.Side { return snapshot(t, url, largest) }
	live := func(url string, largest int64) compare.Side { return reader(t, url, largest) }
	file := func(url string, largest int64) compare.Side { return compare.NewArchive(kept(t, url, largest), -1) }
	pairs["server, server"] = [2]func(string, int64) compare.Side{live, live}
	pairs["server, archive"] = [2]func(string, int64) compare.Side{live, file}
	pairs["archive, server"] = [2]func(string, int64) compare.Side{file, live}
	pairs["archive, archive"] = [2]func(string, int64) compare.Side{file, file}
	pairs["snapshot, server"] = [2]func(string, int64) compare.Side{once, live}
	pairs["server, snapshot"] = [2]func(string, int64) compare.Side{live, once}
	pairs["snapshot, archive"] = [2]func(string, int64) compare.Side{once, file}
	names := slices.Sorted(maps.Keys(pairs))
	for i, c := range changes {
		a.Do("FLUSHALL")
		b.Do("FLUSHALL")
		fill(a.Do)
		fill(b.Do)
		for _, change := range c.change {
			b.Do(change...)
		}
		turn, of := names[i%len(names):][:1], []int64{1, 1 << 40}[i%2:][:1]
		if gate.All() {
			turn, of = names, []int64{1, 1 << 40}
		}
		for _, name := range turn {
			for _, largest := range of {
				pair := pairs[name]
				r, err := compare.Run(t.Context(), pair[0](a.URL(), largest), pair[1](b.URL(), 1<<40), compare.Options{})
				must(t, err)
				adds(t, r)
				if r.Differ() != 1 || len(r.Named) != 1 || r.Named[0].What != c.what || string(r.Named[0].Key.Name) != c.key {
					t.Errorf("%s %q in %s, %d: %+v", c.what, c.key, name, largest, r)
				}
			}
		}
	}
}
