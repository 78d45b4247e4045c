package rdb_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/server"
)

// key describes what a test compares of one key.
type key struct {
	source.Key
	source.Facts
	value source.Value
}

func collect(t testing.TB, src source.Source, req source.Request) (map[string]key, source.Summary, error) {
	t.Helper()
	got := map[string]key{}
	sum, err := src.Scan(context.Background(), req, func(batch []source.Key) error {
		for _, k := range batch {
			out := key{Key: k}
			if k.Facts != nil {
				out.Facts = *k.Facts
			}
			if k.Value != nil {
				out.value = clone(*k.Value)
			}
			name := fmt.Sprintf("%d/%s", k.DB, k.Name)
			out.Name, out.Value, out.Key.Facts = nil, nil, nil
			if _, twice := got[name]; twice {
				t.Errorf("%q came twice", name)
			}
			got[name] = out
		}
		return nil
	})
	return got, sum, err
}

func clone(v source.Value) source.Value {
	v.Str = slices.Clone(v.Str)
	v.Scores = slices.Clone(v.Scores)
	v.Elements = slices.Clone(v.Elements)
	for i := range v.Elements {
		v.Elements[i] = slices.Clone(v.Elements[i])
	}
	return v
}

func everything([]byte, source.Kind) bool { return true }

// loaded fills a server with keys of every type and encoding that it has.
func loaded(t testing.TB, s *keywrighttest.Server) {
	t.Helper()
	long := strings.Repeat("0123456789abcdef", 300) // compressed
	var commands [][]string
	do := func(args ...string) { commands = append(commands, args) }
	for i, v := range []string{"", "a", "12", "-129", "40000", "3000000000", "-9223372036854775808", "9223372036854775807",
		"9223372036854775808", "-0", "007", strings.Repeat("x", 44), strings.Repeat("y", 45), long} {
		do("SET", fmt.Sprintf("string:%d", i), v)
	}
	do("SET", "12345", "a number as a name")
	do("SET", "1", "an 8-bit name")
	do("SET", strings.Repeat("name:", 100), "a compressed name")
	do("SET", "bin\x00\xff\xfe", "x")
	do("SET", "expires", "x", "PX", "3600000")
	for _, n := range []int{1, 5, 100, 200, 1500} {
		for i := range n {
			id := strconv.Itoa(i)
			do("RPUSH", fmt.Sprintf("list:%d", n), "element "+id)
			do("SADD", fmt.Sprintf("intset:%d", n), strconv.Itoa(i*1000))
			do("SADD", fmt.Sprintf("set:%d", n), "member "+id)
			do("HSET", fmt.Sprintf("hash:%d", n), "field"+id, "value "+id)
			do("ZADD", fmt.Sprintf("zset:%d", n), strconv.FormatFloat(float64(i)*1.5, 'g', -1, 64), "member "+id)
			do("XADD", fmt.Sprintf("stream:%d", n), strconv.Itoa(1000+i*7)+"-0", "kind", "k"+id, "n", id)
		}
	}
	do("RPUSH", "list:long", strings.Repeat("z", 9000), "short")
	do("HSET", "hash:long", "field", long)
	do("SADD", "set:long", long, "b")
	do("ZADD", "zset:inf", "inf", "a", "-inf", "b", "1e300", "c")
	do("XADD", "stream:other", "1-1", "a", "1")
	do("XADD", "stream:other", "1-2", "b", "2", "c", "3")
	do("XDEL", "stream:other", "1-1")
	do("XGROUP", "CREATE", "stream:1500", "g", "0")
	do("XREADGROUP", "GROUP", "g", "consumer", "COUNT", "300", "STREAMS", "stream:1500", ">")
	do("XREADGROUP", "GROUP", "g", "other", "COUNT", "10", "STREAMS", "stream:1500", ">")
	do("XADD", "stream:gone", "1-1", "a", "1")
	do("XDEL", "stream:gone", "1-1")
	do("PFADD", "hll", "a", "b", "c")
	do("SETBIT", "bits", "100000", "1")
	do("GEOADD", "geo", "13.361389", "38.115556", "Palermo")
	do("SELECT", "3")
	do("SET", "another database", "x")
	s.Pipe(commands...)
}

// saves returns what a server saves.
func saves(t testing.TB, s *keywrighttest.Server) []byte {
	t.Helper()
	s.Do("SAVE")
	p, err := os.ReadFile(filepath.Join(s.Dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func scanner(t testing.TB, s *keywrighttest.Server) source.Source {
	t.Helper()
	c, err := connect.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	return server.New(c, server.Options{OnlyDB: -1})
}

func read(p []byte) *rdb.Source { return rdb.New(bytes.NewReader(p), rdb.Options{OnlyDB: -1}) }

// A snapshot tells what the server tells: names, databases, types, encodings,
// counts, TTLs and values, of every type and encoding.
func TestSnapshotTellsWhatTheServerTells(t *testing.T) {
	t.Parallel()
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			s := keywrighttest.Start(t, brand, keywrighttest.Config("enable-debug-command", "yes"))
			loaded(t, s)
			s.Do("DEBUG", "RELOAD") // so that tables have the size a fresh server gives them
			req := source.Request{Bytes: true, Values: everything}
			live, _, err := collect(t, scanner(t, s), req)
			if err != nil {
				t.Fatal(err)
			}
			saved := saves(t, s)
			if os.Getenv("KEYWRIGHT_UPDATE") != "" { // the seeds of FuzzRead
				zip(t, filepath.Join("testdata", string(brand)+".rdb.gz"), saved)
			}
			snapshot, sum, err := collect(t, read(saved), req)
			if err != nil || len(sum.Incomplete) > 0 || len(sum.Notes) > 0 {
				t.Fatalf("%v, %+v", err, sum)
			}
			if int64(len(live)) != sum.Keys || sum.Expected != sum.Keys {
				t.Errorf("%d keys live, summary %+v", len(live), sum)
			}
			if other := snapshot["3/another database"]; other.DB != 3 || other.Kind != source.String ||
				live["3/another database"].Kind != source.String {
				t.Errorf("in database 3: %+v", other)
			}
			maps.DeleteFunc(live, func(name string, _ key) bool { return name[0] != '0' })
			for _, name := range slices.Sorted(maps.Keys(live)) {
				compare(t, s, name, live[name], snapshot[name])
			}
		})
	}
}

func zip(t *testing.T, path string, p []byte) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, s *keywrighttest.Server, name string, live, snapshot key) {
	t.Helper()
	if (live.TTL < 0) != (snapshot.TTL < 0) || math.Abs((live.TTL-snapshot.TTL).Seconds()) > 3 ||
		live.Kind != snapshot.Kind {
		t.Errorf("%s: live %v %v, snapshot %v %v", name, live.Kind, live.TTL, snapshot.Kind, snapshot.TTL)
	}
	bare := name[2:]
	if encoding := s.Do("OBJECT", "ENCODING", bare); encoding != snapshot.Encoding {
		t.Errorf("%s: encoding %v, snapshot says %s", name, encoding, snapshot.Encoding)
	}
	if n := s.Do(map[source.Kind]string{source.String: "STRLEN", source.List: "LLEN", source.Set: "SCARD",
		source.ZSet: "ZCARD", source.Hash: "HLEN", source.Stream: "XLEN"}[live.Kind],
		bare); fmt.Sprint(n) != fmt.Sprint(snapshot.Elements) {
		t.Errorf("%s: %v elements, snapshot says %d", name, n, snapshot.Elements)
	}
	// Sizes are those of jemalloc's classes. The server says which allocator it has: another one takes up to thrice as
	// much for small texts.
	rough := 0.1
	jemalloc := strings.HasPrefix(s.Info("mem_allocator"), "jemalloc")
	if !jemalloc {
		rough = 0.67
	}
	exact := jemalloc && snapshot.Encoding != "skiplist" && snapshot.Encoding != "stream" && snapshot.Encoding != "quicklist" &&
		!(snapshot.Encoding == "hashtable" && snapshot.Kind == source.Set)
	if usage, ok := s.Do("MEMORY", "USAGE", bare, "SAMPLES", "0").(int64); !ok || exact && usage != snapshot.Bytes ||
		math.Abs(float64(usage-snapshot.Bytes)) > rough*float64(usage) {
		t.Errorf("%s (%s): %d bytes, snapshot says %d", name, snapshot.Encoding, usage, snapshot.Bytes)
	}
	if l, s := live.value.Looked(live.Kind), snapshot.value.Looked(live.Kind); l != s ||
		live.value.Of != snapshot.value.Of {
		t.Errorf("%s (%s): looked at %d of %d, snapshot at %d of %d", name, snapshot.Encoding, l, live.value.Of, s,
			snapshot.value.Of)
	}
	if live.value.Partial && live.Kind != source.List && live.Kind != source.Stream {
		return // other random members
	}
	if d := cmp.Diff(inOrder(live), inOrder(snapshot)); d != "" {
		t.Errorf("%s (%s): live - snapshot +\n%s", name, snapshot.Encoding, d)
	}
}

// inOrder returns the elements of a value, each as one text, sorted.
func inOrder(k key) []string {
	out := []string{string(k.value.Str)}
	start := 0
	for i, e := range k.value.Elements {
		switch {
		case k.Kind == source.ZSet:
			out = append(out, fmt.Sprintf("%s %v", e, k.value.Scores[i]))
		case k.Kind == source.Hash:
			if i%2 == 1 {
				out = append(out, fmt.Sprintf("%s %s", k.value.Elements[i-1], e))
			}
		case k.Kind != source.Stream:
			out = append(out, string(e))
		}
	}
	for _, end := range k.value.Ends {
		out = append(out, string(bytes.Join(k.value.Elements[start:end], []byte(" "))))
		start = end
	}
	slices.Sort(out)
	return out
}

func TestNoSnapshot(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]error{
		"":                   rdb.ErrNotRDB,
		"hello":              rdb.ErrNotRDB,
		"hello, this is not": rdb.ErrNotRDB,
		"REDISabcd":          rdb.ErrNotRDB,
		"REDIS0000":          rdb.ErrNotRDB,
		"REDIS":              rdb.ErrTruncated,
		"REDIS0011":          rdb.ErrTruncated,
		"VALKEY08":           rdb.ErrTruncated,
	} {
		_, sum, err := collect(t, read([]byte(input)), source.Request{})
		if !errors.Is(err, want) || len(sum.Incomplete) == 0 {
			t.Errorf("%q: %v, %+v; want %v", input, err, sum, want)
		}
	}
}
