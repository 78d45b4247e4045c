package infer_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"pgregory.net/rapid"
)

// loaded returns a draft as a keyspace.
func loaded(t interface {
	Helper()
	Fatalf(string, ...any)
}, draft []byte) *keyspace.Keyspace {
	t.Helper()
	ks, findings := load.File(fstest.MapFS{"keyspace.yaml": {Data: draft}}, "keyspace.yaml")
	if finding.Count(findings).Errors > 0 {
		t.Fatalf("the draft cannot be loaded: %v\n%s", findings, draft)
	}
	return ks
}

// key makes a key from "NAME", "NAME type" or "NAME type ttl".
func key(line string) source.Key {
	f := strings.Fields(line)
	k := source.Key{Name: []byte(f[0]), Kind: source.String, TTL: source.NoTTL, Bytes: 100}
	if len(f) > 1 {
		k.Kind = map[string]source.Kind{"string": source.String, "hash": source.Hash, "list": source.List, "set": source.Set,
			"zset": source.ZSet, "stream": source.Stream}[f[1]]
	}
	if len(f) > 2 {
		k.TTL, _ = time.ParseDuration(f[2])
	}
	return k
}

func draft(t testing.TB, keys []source.Key) *infer.Draft {
	t.Helper()
	in, err := infer.New(infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in.Add(keys)
	return in.Draft()
}

// repeat makes a line for each number, where # is in it.
func repeat(n int, line string) []string {
	var out []string
	for i := range n {
		out = append(out, strings.ReplaceAll(line, "#", strconv.Itoa(i*37+11)))
	}
	return out
}

var names = strings.Fields("alice bob carol dave erin frank grace heidi ivan judy mallory nina")

// What a careful person would write for small keyspaces.
func TestPatterns(t *testing.T) {
	people := func(line string) (out []string) {
		for _, n := range names {
			out = append(out, strings.ReplaceAll(line, "@", n))
		}
		return out
	}
	hexes := func(line string, n int) (out []string) {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for range 20 {
			b := make([]byte, n/2)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			out = append(out, strings.ReplaceAll(line, "@", fmt.Sprintf("%x", b)))
		}
		return out
	}
	cases := map[string]struct {
		keys []string
		want []string // PATTERN TYPE TTL, in the order of the draft
		vars []string
	}{
		"an id": {repeat(5, "user:# hash"), []string{"user:{user_id} hash none"},
			[]string{"user_id int 0.."}},
		"plural": {repeat(5, "users:#:posts list"), []string{"users:{user_id}:posts list none"},
			[]string{"user_id int 0.."}},
		"ies":                       {repeat(5, "categories:#"), []string{"categories:{category_id} string none"}, nil},
		"what is kept is not whose": {repeat(5, "user:profile:#"), []string{"user:profile:{user_id} string none"}, nil},
		"two ids": {repeat(5, "product:option:#:1#"),
			[]string{"product:option:{product_id}:{option_id} string none"}, nil},
		"in one segment": {repeat(5, "issue_lock_# string 5m"), []string{"issue_lock_{issue_id} lock 5m"},
			[]string{"issue_id int 0.."}},
		"letters and number": {repeat(5, "user#:cart hash 1h"), []string{"user{user_id}:cart hash 1h"}, nil},
		"slashes": {repeat(5, "catalog/product/#"), []string{"catalog/product/{product_id} string none"},
			nil},
		"leading zeros": {[]string{"otp:000123 string 4m", "otp:999999 string 290s", "otp:123456 string 60s"},
			[]string{"otp:{otp} string 5m"}, []string{"otp /[0-9]{6}/"}},
		"days": {[]string{"stats:2026-01-01", "stats:2026-01-02"}, []string{"stats:{day} string none"},
			[]string{"day date"}},
		"compact days": {[]string{"stats:20260101", "stats:20261231"}, []string{"stats:{day} string none"},
			[]string{"day date YYYYMMDD"}},
		"hours": {[]string{"stats:2026-01-01-13", "stats:2026-01-02-00"},
			[]string{"stats:{hour} string none"}, []string{"hour date YYYY-MM-DD-HH"}},
		"months": {[]string{"bill:2026-01", "bill:2026-12"}, []string{"bill:{month} string none"},
			[]string{"month date YYYY-MM"}},
		"times": {[]string{"tick:1763700000", "tick:1763700060"}, []string{"tick:{ts} string none"},
			[]string{"ts unix_s"}},
		"uuid": {[]string{"job:7e7590d0-9e23-4763-b774-ee8514e10d0c",
			"job:364565f2-752a-477e-9c89-8ffd620d2f1b"}, []string{"job:{job_id} string none"}, []string{"job_id uuid"}},
		"hex": {hexes("sess:@ string 30m", 32), []string{"sess:{sess_id} string 30m"},
			[]string{"sess_id hex 32"}},
		"hex that may be a number": {append(hexes("tag:@ set", 8), "tag:12345678 set"), []string{"tag:{tag_id} set none"},
			[]string{"tag_id hex 8"}},
		"addresses": {[]string{"rate:10.0.0.1 string 1m", "rate:192.168.1.20 string 50s"},
			[]string{"rate:{ip} string 1m"}, nil},
		"people": {people("inbox:@ list"), []string{"inbox:{inbox_id} list none"}, nil},
		"names of different things": {[]string{"config:timeout", "config:retries", "config:limit"},
			[]string{"config:limit string none", "config:retries string none", "config:timeout string none"}, nil},
		"things of one user": {slices.Concat(repeat(5, "user:#:name"), repeat(5, "user:#:roles set")),
			[]string{"user:{user_id}:name string none", "user:{user_id}:roles set none"}, nil},
		"different things of an id": {slices.Concat(repeat(5, "cache:product:detail:# string 1h"), repeat(5,
			"cache:product:options:# string 1h")), []string{"cache:product:detail:{product_id} cache 1h",
			"cache:product:options:{product_id} cache 1h"}, nil},
		"a priority": {[]string{"queue:high list", "queue:low list"}, []string{"queue:{priority} list none"},
			[]string{"priority high|low"}},
		"languages": {slices.Concat(repeat(3, "page:en:# string 1h"), repeat(3, "page:ja:# string 1h")),
			[]string{"page:{lang}:{page} string 1h"}, []string{"lang en|ja", "page int 0.."}},
		"a word instead of an id": {append(repeat(8, "feed:#:items zset"), "feed:global:items zset"),
			[]string{"feed:{feed_id}:items zset none"}, nil},
		"a counter beside ids": {append(repeat(8, "order:# hash"), "order:next"), []string{"order:next string none",
			"order:{order_id} hash none"}, nil},
		"hash tag": {repeat(4, "cart:{#}:items hash"), []string{"cart:{#{cart_id}}:items hash none"}, nil},
		"hash tag of words": {[]string{"{jobs}:ready list", "{jobs}:dead list"}, []string{"{#jobs}:dead list none",
			"{#jobs}:ready list none"}, nil},
		"braces that are no hash tag": {[]string{"set{} set"}, []string{`set\{\} set none`}, nil},
		"a TTL among none": {append(repeat(3, "a:b:# string"), "a:b:7 string 1h"),
			[]string{"a:b:{b_id} string any"}, nil},
		"TTLs as people write them": {[]string{"x:1 string 3500s", "x:2 string 1200s", "x:3 string 3599s"},
			[]string{"x:{x_id} string 1h"}, nil},
		"a key alone":       {[]string{"leader string 9s"}, []string{"leader lock 10s"}, nil},
		"version in a name": {repeat(4, "v2:user:# hash"), []string{"v2:user:{user_id} hash none"}, nil},
		"lock and what it keeps": {slices.Concat(repeat(9, "lock:order:# string 3s"), repeat(3,
			"{lock:order:#}:fence string 1h")), []string{"lock:order:{order_id} lock 3s"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var keys []source.Key
			for _, line := range c.keys {
				keys = append(keys, key(line))
			}
			d := draft(t, keys)
			ks := loaded(t, d.YAML())
			if findings := lint.Run(ks); len(findings) > 0 {
				t.Errorf("%v", findings)
			}
			var got, vars []string
			for _, e := range d.Entries {
				got = append(got, e.Pattern+" "+e.Type+" "+e.TTL)
			}
			for _, v := range d.Vars {
				vars = append(vars, v.Name+" "+v.Type)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want - got +\n%s\n%s", diff, d.YAML())
			}
			if diff := cmp.Diff(c.vars, vars); c.vars != nil && diff != "" {
				t.Errorf("vars: want - got +\n%s", diff)
			}
		})
	}
}

// Whatever the keys are called, the draft loads, nothing in it overlaps, and
// every key is declared or said to be left out.
func TestEveryKeyIsDeclared(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom(strings.Fields("user users cache lock queue high low en ja global id 7 42 007 2026-01-01 "+
			"1763700000 7e7590d0-9e23-4763-b774-ee8514e10d0c deadbeefdeadbeef a-1 b-2 c-3 v2 x1y2 {tag} {9} 10.0.0.1 é 日本 { "+
			"} \\ \" # * ? [a] type class import")),
		rapid.StringMatching(`[a-z]{1,4}`), rapid.StringMatching(`[0-9]{1,5}`), rapid.StringMatching(`[ -~]{0,6}`),
		rapid.String(),
	)
	name := rapid.Custom(func(t *rapid.T) string {
		sep := rapid.SampledFrom([]string{":", ":", ":", "/", "|", "_", "-"}).Draw(t, "separator")
		return strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "segments"), sep)
	})
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		in, err := infer.New(infer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list := rapid.SliceOfN(name, 1, 60).Draw(t, "names")
		for _, n := range list {
			kind := rapid.SampledFrom([]source.Kind{source.String, source.Hash, source.List, source.Set, source.ZSet}).Draw(t,
				"kind")
			ttl := rapid.SampledFrom([]time.Duration{source.NoTTL, time.Minute, time.Hour}).Draw(t, "ttl")
			in.Add([]source.Key{{Name: []byte(n), Kind: kind, TTL: ttl}})
		}
		d := in.Draft()
		text := d.YAML()
		ks := loaded(t, text)
		items, _ := ks.Items()
		m, conflicts, err := match.Compile(items)
		if err != nil || len(conflicts) > 0 {
			t.Fatalf("%v, %v\n%s", err, conflicts, text)
		}
		if len(d.Left) > 0 {
			return
		}
		for _, n := range list {
			if n != "" && m.Match([]byte(n), nil) == match.None {
				t.Fatalf("%q is declared by nothing\n%s", n, text)
			}
		}
	})
}

// The order in which keys come makes no difference.
func TestOrder(t *testing.T) {
	var keys []source.Key
	for _, line := range slices.Concat(repeat(50, "user:#:posts list"), repeat(50, "user:# hash"), repeat(40,
		"cache:amber-#:x string 1h"), repeat(40, "cache:birch-#:x string 30m"), repeat(20, "cache:oak-#:x string 30m"),
		repeat(3, "lock:# string 3s")) {
		keys = append(keys, key(line))
	}
	want := string(draft(t, keys).YAML())
	for seed := range uint64(20) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		if diff := cmp.Diff(want, string(draft(t, keys).YAML())); diff != "" {
			t.Fatalf("shuffled %d:\n%s", seed, diff)
		}
	}
}

// A real application's snapshot: nearly all of it in few entries, which are
// clean, and an audit of the same data with them finds nothing.
func TestRealworld(t *testing.T) {
	p, err := os.ReadFile("../examples/realworld/testdata/realworld.rdb")
	if err != nil {
		t.Fatal(err)
	}
	snapshot := func() source.Source { return rdb.New(bytes.NewReader(p), rdb.Options{OnlyDB: -1}) }
	in, err := infer.New(infer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, sum, err := in.Run(context.Background(), snapshot(), source.Request{Bytes: true})
	if err != nil || len(sum.Incomplete) > 0 {
		t.Fatal(err, sum)
	}
	ks := loaded(t, d.YAML())
	if findings := lint.Run(ks); len(findings) > 0 {
		t.Errorf("%v", findings)
	}
	fold, err := audit.New(ks, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := fold.Run(context.Background(), snapshot(), source.Request{Bytes: true})
	if err != nil || report.Verdict != "clean" {
		t.Errorf("%v, %s: %v", err, report.Verdict, report.Findings)
	}
	covered := int64(0)
	for _, e := range report.Entries {
		covered += e.Keys
	}
	for _, g := range report.Foreign {
		covered += g.Keys
	}
	if n := len(d.Entries) + len(d.Foreign); n > 30 || float64(covered) < 0.98*float64(d.All.Keys) {
		t.Errorf("%d of %d keys in %d entries\n%s", covered, d.All.Keys, n, d.YAML())
	}
}

// What is declared already stays, byte by byte; only what is not is added.
func TestMerge(t *testing.T) {
	original := `# ours
keywright: 1
package: ours
owner: us

vars:
    user_id: int 1..   # ours

keys:
    user:
        key: user:{user_id}
        type: hash
        ttl: none

# the end
channels:
    gone: "user:gone"
`
	known := loaded(t, []byte(original))
	in, err := infer.New(infer.Options{Known: known})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range slices.Concat(repeat(5, "user:# hash"), repeat(5, "user:#:posts list"), repeat(5,
		"order:# hash 1h")) {
		in.Add([]source.Key{key(line)})
	}
	d := in.Draft()
	merged, err := d.Merge([]byte(original))
	if err != nil {
		t.Fatal(err)
	}
	ks := loaded(t, merged)
	if findings := lint.Run(ks); len(findings) > 0 {
		t.Errorf("%v\n%s", findings, merged)
	}
	if d.Known.Keys != 5 || len(ks.Entries) != 3 {
		t.Errorf("%d known, %d entries\n%s", d.Known, len(ks.Entries), merged)
	}
	rest := string(merged)
	for _, line := range strings.SplitAfter(original, "\n") {
		i := strings.Index(rest, line)
		if i < 0 {
			t.Fatalf("%q is lost in\n%s", line, merged)
		}
		rest = rest[i+len(line):]
	}
}
