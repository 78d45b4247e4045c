package rdb_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// everythingOf reads all values whole: the elements of each key, and the parts
// they came in.
func everythingOf(t *testing.T, src source.Source) (values map[string][]string, parts map[string]int, most int) {
	t.Helper()
	values, parts = map[string][]string{}, map[string]int{}
	take := func(k *source.Key) {
		if k.Value == nil {
			return
		}
		name := fmt.Sprintf("%d/%s", k.DB, k.Name)
		got := key{Key: *k, value: *k.Value}
		if k.Kind == source.String {
			values[name] = []string{string(k.Value.Str)}
		} else {
			values[name] = append(values[name], inOrder(got)[1:]...)
		}
		if want := int64(len(values[name])); k.Value.From+k.Value.Looked(k.Kind) != want || k.Value.Partial {
			t.Errorf("%s: %d elements, but From %d and %d more, partial %v", name, want, k.Value.From, k.Value.Looked(k.Kind),
				k.Value.Partial)
		}
		size := len(k.Value.Str)
		for _, e := range k.Value.Elements {
			size += len(e)
		}
		if k.Kind != source.String {
			most = max(most, size)
		}
		parts[name]++
	}
	sum, err := src.Scan(t.Context(), source.Request{Bytes: true, Values: everything, Part: take},
		func(batch []source.Key) error {
			for i := range batch {
				take(&batch[i])
				if k := &batch[i]; k.Value != nil && k.Value.Of != k.Value.From+k.Value.Looked(k.Kind) {
					t.Errorf("%s: %d of %d elements", k.Name, k.Value.From+k.Value.Looked(k.Kind), k.Value.Of)
				}
			}
			return nil
		})
	if err != nil || len(sum.Incomplete) > 0 {
		t.Fatal(err, sum)
	}
	for _, v := range values {
		slices.Sort(v)
	}
	return values, parts, most
}

// Values that are read whole come whole, in parts that stay small, from a server
// and from its snapshot.
func TestWholeValues(t *testing.T) {
	t.Parallel()
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			s := keywrighttest.Start(t, brand, keywrighttest.Config("enable-debug-command", "yes"))
			loaded(t, s)
			big := map[string]int{"big:list": 5000, "big:set": 5000, "big:hash": 5000, "big:zset": 5000, "big:stream": 5000}
			var commands [][]string
			for i := range 5000 {
				n := strconv.Itoa(i)
				commands = append(commands, []string{"RPUSH", "big:list", "e" + n}, []string{"SADD", "big:set", "e" + n},
					[]string{"HSET", "big:hash", "f" + n, n},
					[]string{"ZADD", "big:zset", n, "e" + n}, []string{"XADD", "big:stream", n + "-1", "f", n, "g", "x"})
			}
			long := strings.Repeat("long text ", 200_000)
			commands = append(commands, []string{"SET", "big:string", long}, []string{"RPUSH", "big:elements", long, long, long},
				[]string{"HSET", "big:fields", "a", long, "b", long})
			s.Pipe(commands...)
			live, parts, most := everythingOf(t, scanner(t, s))
			for name, n := range big {
				if got := live["0/"+name]; len(got) != n || len(slices.Compact(slices.Clone(got))) != n || parts["0/"+name] < 3 {
					t.Errorf("%s: %d elements in %d parts, want %d", name, len(got), parts["0/"+name], n)
				}
			}
			if live["0/big:string"][0] != long || len(live["0/big:elements"]) != 3 || most > 8<<20 {
				t.Errorf("%d bytes of a string, %d elements, parts of up to %d bytes", len(live["0/big:string"][0]),
					len(live["0/big:elements"]), most)
			}
			snapshot, parts, most := everythingOf(t, rdb.New(bytes.NewReader(saves(t, s)), rdb.Options{OnlyDB: -1}))
			if len(snapshot) != len(live) || parts["0/big:zset"] < 3 || most > 8<<20 {
				t.Errorf("%d keys, live %d; parts of up to %d bytes", len(snapshot), len(live), most)
			}
			for name, want := range live {
				if !slices.Equal(snapshot[name], want) {
					t.Errorf("%s: %d elements in the snapshot, live %d", name, len(snapshot[name]), len(want))
				}
			}
		})
	}
}

// A sample has both ends of lists and streams, and members from everywhere.
func TestSampleIsFromEverywhere(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var commands [][]string
	const n = 20_000
	for i := range n {
		e := strconv.Itoa(i)
		commands = append(commands, []string{"RPUSH", "list", e}, []string{"SADD", "set", "m" + e},
			[]string{"HSET", "hash", "f" + e, e}, []string{"ZADD", "zset", e, "m" + e},
			[]string{"XADD", "stream", e + "-1", "n", e})
	}
	s.Pipe(commands...)
	live, _, err := collect(t, scanner(t, s), source.Request{Bytes: true, Values: everything})
	if err != nil {
		t.Fatal(err)
	}
	saved, _, err := collect(t, read(saves(t, s)), source.Request{Values: everything})
	if err != nil {
		t.Fatal(err)
	}
	for what, keys := range map[string]map[string]key{"live": live, "snapshot": saved} {
		for name, looked := range map[string]int64{"0/list": 40, "0/set": 40, "0/hash": 40, "0/zset": 40, "0/stream": 20} {
			v := keys[name].value
			if v.Looked(keys[name].Kind) != looked || v.Of != n || !v.Partial {
				t.Errorf("%s %s: looked at %d of %d", what, name, v.Looked(keys[name].Kind), v.Of)
			}
		}
		list, stream, zset := keys["0/list"].value.Elements, keys["0/stream"].value.Elements, keys["0/zset"].value.Scores
		if string(list[0]) != "0" || !slices.ContainsFunc(list, is(n-1)) || !slices.ContainsFunc(stream, is(0)) ||
			!slices.ContainsFunc(stream, is(n-1)) {
			t.Errorf("%s: the ends are not looked at: %s %s", what, list, stream)
		}
		if slices.Min(zset) > n/4 || slices.Max(zset) < n*3/4 {
			t.Errorf("%s: scores from %v to %v only", what, slices.Min(zset), slices.Max(zset))
		}
	}
}

func is(n int) func([]byte) bool { return func(e []byte) bool { return string(e) == strconv.Itoa(n) } }
