package rdb_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

func elements(list ...string) source.Value {
	var v source.Value
	for _, e := range list {
		v.Elements = append(v.Elements, []byte(e))
	}
	return v
}

func scored(pairs ...any) source.Value {
	var v source.Value
	for i := 0; i < len(pairs); i += 2 {
		v.Elements = append(v.Elements, []byte(pairs[i].(string)))
		v.Scores = append(v.Scores, pairs[i+1].(float64))
	}
	return v
}

// every is one value of each type of RDB, in the form of its family, and what
// is to be read of it.
var every = []struct {
	name     string
	valkey   bool
	typ      byte
	body     func(*craft) *craft
	kind     source.Kind
	encoding string
	elements int64
	value    source.Value
}{
	{"string", false, 0, func(c *craft) *craft { return c.str("hello") }, source.String, "embstr", 5,
		source.Value{Str: []byte("hello")}},
	{"string of an int8", false, 0, func(c *craft) *craft { return c.raw(0xc0, 0x85) }, source.String, "int", 4,
		source.Value{Str: []byte("-123")}},
	{"string of an int16", false, 0, func(c *craft) *craft { return c.raw(0xc1, 0x39, 0x30) }, source.String, "int",
		5, source.Value{Str: []byte("12345")}},
	{"string of an int32", false, 0, func(c *craft) *craft { return c.raw(0xc2, 0x00, 0xca, 0x9a, 0x3b) }, source.String,
		"int", 10, source.Value{Str: []byte("1000000000")}},
	{"compressed string", false, 0, func(c *craft) *craft { return c.lzf(strings.Repeat("ab", 40)) }, source.String, "raw",
		80, source.Value{Str: []byte(strings.Repeat("ab", 40))}},
	{"string with a match that overlaps itself", false, 0,
		func(c *craft) *craft { return c.raw(0xc3, 5, 60, 0, 'x', 0xe0, 50, 0) }, source.String, "raw", 60,
		source.Value{Str: []byte(strings.Repeat("x", 60))}},
	{"list", false, 1, func(c *craft) *craft { return c.len(2).str("a").raw(0xc0, 7) }, source.List, "quicklist", 2,
		elements("a", "7")},
	{"set", false, 2, func(c *craft) *craft { return c.len(2).str("a").str("b") }, source.Set, "hashtable", 2,
		elements("a", "b")},
	{"zset of text", false, 3, func(c *craft) *craft {
		return c.len(4).str("a").raw(3).raw('1', '.', '5').str("b").raw(254).str("c").raw(255).str("d").raw(2).raw('1', '0')
	}, source.ZSet, "skiplist", 4, scored("a", 1.5, "b", math.Inf(1), "c", math.Inf(-1), "d", 10.0)},
	{"hash", false, 4, func(c *craft) *craft { return c.len(1).str("f").str("v") }, source.Hash, "hashtable", 1,
		elements("f", "v")},
	{"zset of doubles", false, 5, func(c *craft) *craft { return c.len(1).str("a").u64(math.Float64bits(2.25)) },
		source.ZSet, "skiplist", 1, scored("a", 2.25)},
	{"module", false, 7, func(c *craft) *craft {
		return c.raw(0x81, 0x04, 0x10, 0x41, 0x04, 0x10, 0x41, 0x04, 0x01).raw(2, 5, 1, 6, 5).str("text").raw(4).u64(1).raw(3,
			0, 0, 0, 0).raw(0)
	}, source.Module, "BBBBBBBBB", -1, source.Value{}},
	{"zipmap", false, 9, func(c *craft) *craft { return c.str("\x02\x01a\x02\x00xy\x01b\x01\x02z??\xff") }, source.Hash,
		"zipmap", 2, elements("a", "xy", "b", "z")},
	{"ziplist list", false, 10, func(c *craft) *craft {
		return c.str(ziplist("a", "1", "100", "-2000", "70000", "-9000000", "90000000000", strings.Repeat("q", 300)))
	}, source.List, "ziplist", 8,
		elements("a", "1", "100", "-2000", "70000", "-9000000", "90000000000", strings.Repeat("q", 300))},
	{"intset of 2", false, 11, func(c *craft) *craft { return c.str(intset(2, -5, 300)) }, source.Set, "intset",
		2, elements("-5", "300")},
	{"intset of 4", false, 11, func(c *craft) *craft { return c.str(intset(4, -70000)) }, source.Set, "intset", 1,
		elements("-70000")},
	{"intset of 8", false, 11, func(c *craft) *craft { return c.str(intset(8, math.MinInt64)) }, source.Set, "intset", 1,
		elements("-9223372036854775808")},
	{"ziplist zset", false, 12, func(c *craft) *craft { return c.str(ziplist("m", "1.5", "n", "3")) }, source.ZSet,
		"ziplist", 2, scored("m", 1.5, "n", 3.0)},
	{"ziplist hash", false, 13, func(c *craft) *craft { return c.lzf(ziplist("f", "v", "g", "7")) }, source.Hash,
		"ziplist", 2, elements("f", "v", "g", "7")},
	{"quicklist of ziplists", false, 14,
		func(c *craft) *craft { return c.len(2).str(ziplist("a", "b")).lzf(ziplist("c")) }, source.List, "quicklist", 3,
		elements("a", "b", "c")},
	{"hash listpack", false, 16, func(c *craft) *craft {
		return c.str(listpack("f", "v", "n", "-1", "m", "300", "o", "-70000", "p", "5000000000", "long",
			strings.Repeat("w", 5000)))
	}, source.Hash, "listpack", 6,
		elements("f", "v", "n", "-1", "m", "300", "o", "-70000", "p", "5000000000", "long", strings.Repeat("w", 5000))},
	{"zset listpack", false, 17, func(c *craft) *craft { return c.lzf(listpack("m", "1.5", "n", "20000")) }, source.ZSet,
		"listpack", 2, scored("m", 1.5, "n", 20000.0)},
	{"quicklist", false, 18, func(c *craft) *craft {
		return c.len(3).len(2).str(listpack("a", "b")).len(1).str("plain").len(2).lzf(listpack("c"))
	}, source.List, "quicklist", 4, elements("a", "b", "plain", "c")},
	{"set listpack", false, 20, func(c *craft) *craft { return c.str(listpack("x", "12")) }, source.Set, "listpack",
		2, elements("x", "12")},
	{"hash with TTLs, release candidate", false, 22, func(c *craft) *craft {
		return c.len(2).len(0).str("f").str("v").len(1_700_000_000_000).str("g").str("w")
	}, source.Hash, "hashtable", 2, elements("f", "v", "g", "w")},
	{"hash listpack with TTLs, release candidate", false, 23,
		func(c *craft) *craft { return c.str(listpack("f", "v", "0", "g", "w", "1700000000000")) }, source.Hash, "listpackex",
		2, elements("f", "v", "g", "w")},
	{"hash with TTLs", false, 24, func(c *craft) *craft {
		return c.u64(1_700_000_000_000).len(2).len(0).str("f").str("v").len(6).str("g").str("w")
	}, source.Hash, "hashtable", 2, elements("f", "v", "g", "w")},
	{"hash listpack with TTLs", false, 25, func(c *craft) *craft {
		return c.u64(1_700_000_000_000).str(listpack("f", "v", "0", "g", "w", "1700000000000"))
	}, source.Hash, "listpackex", 2, elements("f", "v", "g", "w")},
	{"array", false, 28, func(c *craft) *craft {
		return c.len(4).len(1).len(77).len(0).len(0).str("text").len(5).len(1).u64(7).len(6).len(2).u64(0).len(9).len(3).
			str("abc")
	}, source.Array, "sliced-array", 4, source.Value{}},
	{"hash of its own template, listpack", false, 29,
		func(c *craft) *craft { return c.len(2).str("f").str("g").str(listpack("v", "w")) }, source.Hash, "template-listpack",
		2, elements("f", "v", "g", "w")},
	{"hash of a template, listpack", false, 30, func(c *craft) *craft { return c.str(listpack("3", "v", "w")) },
		source.Hash, "template-listpack", 2, elements("age", "v", "name", "w")},
	{"hash of its own template", false, 31, func(c *craft) *craft { return c.len(1).str("f").str("v") }, source.Hash,
		"template-array", 1, elements("f", "v")},
	{"hash of a template", false, 32, func(c *craft) *craft { return c.len(3).str("v").str("w") }, source.Hash,
		"template-array", 2, elements("age", "v", "name", "w")},
	{"Valkey's hash with TTLs", true, 22, func(c *craft) *craft {
		return c.len(2).str("f").str("v").u64(math.MaxUint64).str("g").str("w").u64(1_700_000_000_000)
	}, source.Hash, "hashtable", 2, elements("f", "v", "g", "w")},
}

// streams are the five versions of a stream: the first two nodes and groups are
// alike, the later ones are not.
func stream(version int) func(*craft) *craft {
	return func(c *craft) *craft {
		id1, blob1 := node(1000, []string{"kind", "n"}, []string{"a", "1"}, []string{"b", "2"})
		id2, blob2 := node(2000, []string{"kind"}, []string{"c"})
		c.len(2).str(id1).str(blob1).str(id2).lzf(blob2).len(3).len(2000).len(0)
		if version >= 2 {
			c.len(1000).len(0).len(0).len(0).len(3)
		}
		c.len(1).str("group").len(1000).len(0)
		if version >= 2 {
			c.len(1)
		}
		c.len(1).raw([]byte(id1)...).u64(5).len(1)
		c.len(1).str("consumer").u64(5)
		if version >= 3 {
			c.u64(6)
		}
		c.len(1).raw([]byte(id1)...)
		if version >= 5 {
			c.len(1).raw([]byte(id1)...)
		}
		if version >= 4 {
			c.len(100).len(1000).len(1).str("producer").len(1).str("id").len(1000).len(0).len(9).len(2)
		}
		return c
	}
}

func TestEveryType(t *testing.T) {
	t.Parallel()
	cases := every
	for version, typ := range []byte{15, 19, 21, 26, 27} {
		cases = append(cases, cases[0])
		c := &cases[len(cases)-1]
		c.name, c.typ, c.body = "stream "+string(rune('1'+version)), typ, stream(version+1)
		c.kind, c.encoding, c.elements, c.value = source.Stream, "stream", 3,
			elements("kind", "a", "n", "1", "kind", "b", "n", "2", "kind", "c")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			magic := "REDIS0015"
			if c.valkey {
				magic = "VALKEY080"
			}
			file := snapshot(magic).aux("redis-ver", "8.10.0").aux("ctime", "1700000000").db(0)
			if !c.valkey {
				file.raw(242).len(3).len(2).str("age").str("name")
			}
			// a key before and one after: what a value leaves unread shows there
			file.key(0, "before").str("x")
			p := c.body(file.key(c.typ, "key")).key(0, "behind").str("y").end()
			for _, values := range []bool{false, true} {
				req := source.Request{Bytes: true}
				if values {
					req.Values = everything
				}
				got, sum, err := collect(t, read(p), req)
				if err != nil || sum.Keys != 3 || len(sum.Incomplete) > 0 {
					t.Fatalf("values %v: %v, %+v", values, err, sum)
				}
				k := got["0/key"]
				if k.Kind != c.kind || k.Encoding != c.encoding || k.Elements != c.elements || k.Bytes <= 0 ||
					got["0/behind"].Elements != 1 {
					t.Errorf("values %v: %+v", values, k)
				}
				if c.value.Of = max(c.elements, 0); c.kind == source.String {
					c.value.Of = 1
				}
				if c.kind == source.Stream {
					c.value.Ends = []int{4, 8, 10}
				}
				if k.Kind == source.Array || k.Kind == source.Module { // of which nothing is read
					c.value.Of, c.value.Partial = k.value.Of, k.value.Partial
				}
				if d := cmp.Diff(c.value, k.value, cmpopts.EquateEmpty()); values && d != "" {
					t.Errorf("want - got +\n%s", d)
				}
			}
		})
	}
}

// Everything that may be beside keys is passed, and what belongs to a key
// goes to that key only.
func TestEveryOpcode(t *testing.T) {
	t.Parallel()
	p := snapshot("REDIS0015").aux("redis-ver", "8.10.0").aux("redis-bits", "64").aux("ctime", "1700000000").aux(
		"used-mem", "1000").
		raw(245).str("#!lua name=lib\nredis.register_function('f', function() end)").
		raw(246).str("old").str("LUA").len(1).str("description").str("code").
		raw(247, 0x81, 4, 16, 65, 4, 16, 65, 4, 1, 2, 1, 5).str("aux").raw(0).
		db(0).raw(251).len(5).len(2).raw(244).len(9).len(5).len(2).
		raw(243).len(1).raw(1, 2, 3, 4).raw(5).str("meta").raw(0).
		raw(252).u64(1_700_000_060_000).raw(248).len(77).key(0, "ms").str("x").
		raw(253, 0x20, 0xf1, 0x53, 0x65).raw(249, 9).key(0, "s").str("x").
		key(0, "plain").str("x").
		raw(252).u64(1_699_999_999_999).key(0, "expired").str("x").
		raw(252).u64(1_700_000_000_000).key(0, "now").str("x").
		db(15).key(0, "other").str("x").end()
	got, sum, err := collect(t, read(p), source.Request{})
	if err != nil || sum.Keys != 5 || sum.Expired != 1 || sum.Expected != 5 || sum.Databases != 2 ||
		sum.Server != "redis 8.10.0 snapshot (RDB 15) of 2023-11-14T22:13:20Z" {
		t.Fatalf("%v, %+v", err, sum)
	}
	for name, want := range map[string]struct {
		ttl  time.Duration
		idle int64
		freq int
	}{"0/ms": {time.Minute, 77, -1}, "0/s": {32 * time.Second, -1, 9}, "0/plain": {source.NoTTL, -1, -1},
		"0/now": {0, -1, -1}, "15/other": {source.NoTTL, -1, -1}} {
		if k := got[name]; k.TTL != want.ttl || k.Idle != want.idle || k.Freq != want.freq {
			t.Errorf("%s: %+v, want %+v", name, k, want)
		}
	}
	p = snapshot("VALKEY080").aux("valkey-ver", "9.0.0").raw(243).str(strings.Repeat("j", 40)).len(1).len(5).len(9).db(0).
		key(0, "k").str("x").end()
	if _, sum, err := collect(t, read(p), source.Request{}); err != nil || sum.Keys != 1 || len(sum.Notes) != 1 {
		t.Errorf("slots being imported: %v, %+v", err, sum)
	}
}

// Old versions have no auxiliary fields and, before 5, no checksum.
func TestOldVersions(t *testing.T) {
	t.Parallel()
	for _, magic := range []string{"REDIS0001", "REDIS0004"} {
		p := append(snapshot(magic).db(0).raw(253, 0, 0, 0, 0x70).key(0, "k").str("x").b, 255)
		taken := time.Unix(0x70000000-60, 0)
		got, sum, err := collect(t, rdb.New(bytes.NewReader(p), rdb.Options{OnlyDB: -1, Taken: taken}), source.Request{})
		if err != nil || sum.Keys != 1 || got["0/k"].TTL != time.Minute {
			t.Errorf("%s: %v, %+v, %+v", magic, err, sum, got)
		}
	}
}

// What follows the end of a snapshot was not read, and that is said.
func TestWhatFollows(t *testing.T) {
	t.Parallel()
	file := func(c *craft) []byte { return append(c.db(0).key(0, "k").str("x").end(), "*2\r\n$6\r\nSELECT\r\n"...) }
	for aux, want := range map[string]string{"aof-preamble": "commands", "other": "after the end"} {
		_, sum, err := collect(t, read(file(snapshot("REDIS0011").aux(aux, "1"))), source.Request{})
		if err != nil || sum.Keys != 1 || len(sum.Incomplete) != 1 || !strings.Contains(sum.Incomplete[0].String(), want) {
			t.Errorf("%s: %v, %+v", aux, err, sum)
		}
	}
}

// A type no one knows cannot be passed: the keys before it are reported, and the
// error says where and what.
func TestUnknownTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		magic string
		typ   byte
	}{{"REDIS0015", 33}, {"REDIS0016", 99}, {"REDIS0011", 6}, {"VALKEY080", 24}, {"VALKEY080", 23}, {"VALKEY081", 242},
		{"REDIS0011", 121}, {"REDIS0011", 8}} {
		p := snapshot(c.magic).db(0).key(0, "before").str("x").key(c.typ, "k").str("x").end()
		got, sum, err := collect(t, read(p), source.Request{})
		var at *rdb.Error
		if !errors.Is(err, rdb.ErrUnknown) || !errors.As(err, &at) || len(got) != 1 || !sum.Incomplete.Has(source.Damaged) {
			t.Errorf("%s type %d: %v, %d keys, %+v", c.magic, c.typ, err, len(got), sum)
		} else if c.typ != 6 && at.Offset != 21 {
			t.Errorf("%s type %d: offset %d", c.magic, c.typ, at.Offset)
		}
	}
}
