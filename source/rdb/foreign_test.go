package rdb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// TestAttributesLastUntilTheKey: what belongs to the next key is kept over all that may stand between, as the loader of
// servers does. KeyDB writes auxiliary fields there.
func TestAttributesLastUntilTheKey(t *testing.T) {
	t.Parallel()
	for what, between := range map[string]func(*craft) *craft{
		"a field":      func(c *craft) *craft { return c.aux("mvcc-tstamp", "1750000000000000000") },
		"sizes":        func(c *craft) *craft { return c.raw(251).len(1).len(1) },
		"a slot":       func(c *craft) *craft { return c.raw(244).len(9).len(1).len(1) },
		"a database":   func(c *craft) *craft { return c.db(0) },
		"a template":   func(c *craft) *craft { return c.raw(242).len(3).len(1).str("age") },
		"a library":    func(c *craft) *craft { return c.raw(245).str("#!lua name=lib") },
		"module data":  func(c *craft) *craft { return c.raw(247, 0x81, 4, 16, 65, 4, 16, 65, 4, 1, 2, 1, 5).str("aux").raw(0) },
		"all of these": func(c *craft) *craft { return c.aux("a", "b").raw(251).len(1).len(1).aux("c", "d") },
	} {
		p := between(snapshot("REDIS0015").aux("ctime", "1700000000").db(0).raw(252).u64(1_700_000_060_000).raw(248).len(77)).
			key(0, "k").str("x").key(0, "next").str("x").end()
		got, sum, err := collect(t, read(p), source.Request{})
		if err != nil || sum.Keys != 2 || got["0/k"].TTL != time.Minute || got["0/k"].Idle != 77 ||
			got["0/next"].TTL != source.NoTTL || got["0/next"].Idle != -1 {
			t.Errorf("%s: %v, %+v", what, err, got)
		}
		expires := map[string]int64{}
		sum, err = read(p).Contents(t.Context(), rdb.ContentsRequest{}, func(batch []source.Content) error {
			for _, c := range batch {
				expires[string(c.Name)] = c.Expires
			}
			return nil
		})
		if err != nil || sum.Keys != 2 || expires["k"] != 1_700_000_060_000 || expires["next"] != 0 {
			t.Errorf("%s, contents: %v, %v", what, err, expires)
		}
	}
}

// TestMembersThatExpire: KeyDB lets single members of a set expire. That is reported, and what was read is not called
// whole.
func TestMembersThatExpire(t *testing.T) {
	t.Parallel()
	member := func(c *craft, name string) *craft {
		return c.aux("keydb-subexpire-key", name).aux("keydb-subexpire-when", "1795728444975")
	}
	c := snapshot("REDIS0009").aux("redis-ver", "6.3.4").db(0).key(2, "online").len(2).str("ana").str("bo")
	p := member(member(c, "ana"), "bo").end()
	for how, scan := range map[string]func() (source.Summary, error){
		"scan": func() (source.Summary, error) {
			_, sum, err := collect(t, read(p), source.Request{})
			return sum, err
		},
		"contents": func() (source.Summary, error) {
			return read(p).Contents(t.Context(), rdb.ContentsRequest{}, func([]source.Content) error { return nil })
		},
	} {
		sum, err := scan()
		if err != nil || len(sum.Incomplete) != 1 || sum.Incomplete[0].Code != source.MembersExpire ||
			sum.Incomplete[0].Keys != 2 || len(sum.Notes) > 0 {
			t.Errorf("%s: %v, %+v, %q", how, err, sum.Incomplete, sum.Notes)
		}
	}
}

// TestTypesAreOfTheirVersion: a type or opcode that no version up to the file's has is unknown, whatever a later one
// means by it. Dragonfly writes version 9, and types of its own.
func TestTypesAreOfTheirVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		magic string
		code  byte
	}{{"REDIS0009", 30}, {"REDIS0009", 16}, {"REDIS0010", 20}, {"REDIS0011", 22}, {"REDIS0012", 28}, {"REDIS0008", 15},
		{"REDIS0006", 14}, {"REDIS0009", 243}, {"REDIS0006", 250}, {"REDIS0009", 245}, {"REDIS0008", 247}} {
		p := snapshot(c.magic).db(0).key(0, "before").str("x").key(c.code, "doc:1").str(`{"a":1}`).end()
		_, sum, err := collect(t, read(p), source.Request{})
		if !errors.Is(err, rdb.ErrUnknown) || sum.Keys != 1 || len(sum.Incomplete) != 1 {
			t.Errorf("%s, %d: %v, %+v", c.magic, c.code, err, sum)
		}
	}
	p := snapshot("REDIS0009").aux("redis-ver", "7.4.0").aux("df-ver", "df-v1.34.0").db(0).key(30, "doc:1").str("{}").end()
	_, sum, err := collect(t, read(p), source.Request{})
	if err == nil || !strings.Contains(err.Error(), "type or opcode 30 of Dragonfly's RDB version 9") ||
		!strings.HasPrefix(sum.Server, "dragonfly v1.34.0 snapshot") {
		t.Errorf("%v, %q", err, sum.Server)
	}
}

// TestNewerVersionIsNotWhole: what a later version means is not known here.
func TestNewerVersionIsNotWhole(t *testing.T) {
	t.Parallel()
	for magic, newer := range map[string]bool{"REDIS0015": false, "REDIS0016": true, "REDIS9999": true, "VALKEY080": false,
		"VALKEY081": true} {
		_, sum, err := collect(t, read(snapshot(magic).db(0).end()), source.Request{})
		if err != nil || sum.Incomplete.Has(source.VersionUnknown) != newer {
			t.Errorf("%s: %v, %+v", magic, err, sum)
		}
	}
}

// TestBesideKeys: what a snapshot holds beside keys is counted and named.
func TestBesideKeys(t *testing.T) {
	t.Parallel()
	c := snapshot("REDIS0011").aux("redis-ver", "7.2.4").raw(245).str("#!lua name=a").raw(245).str("#!lua name=b").
		raw(247, 0x81, 4, 16, 65, 4, 16, 65, 4, 1, 2, 1, 5).str("aux").raw(0)
	for range 3 {
		c.aux("rlec-field", "x")
	}
	for i := range 200 {
		c.aux(fmt.Sprint("field", i), "x")
	}
	_, sum, err := collect(t, read(c.db(0).key(0, "k").str("x").end()), source.Request{})
	notes := strings.Join(sum.Notes, "\n")
	for _, want := range []string{"libraries of functions in the snapshot, which are no keys: 2", "data of modules that are in no key: BBBBBBBBB",
		`"rlec-field" (3 times)`, `"field9" (1 times)`, "and 137 more"} {
		if err != nil || !strings.Contains(notes, want) {
			t.Errorf("%v: no %q in %s", err, want, notes)
		}
	}
}

// TestEndMark: a program that wrote down what a primary sent leaves 40 bytes after the snapshot.
func TestEndMark(t *testing.T) {
	t.Parallel()
	mark := strings.Repeat("0123456789abcdef", 3)[:40]
	for after, whole := range map[string]bool{mark: true, mark[:39]: false, mark + "x": false, mark[:39] + "\n": false,
		mark + mark: false} {
		_, sum, err := collect(t, read(append(snapshot("REDIS0011").db(0).key(0, "k").str("x").end(), after...)), source.Request{})
		if err != nil || (len(sum.Incomplete) == 0) != whole {
			t.Errorf("%q: %v, %+v", after, err, sum)
		}
	}
}
