package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"pgregory.net/rapid"
)

const declaration = `keywright: 1
package: t
owner: o
owns: ["app:*"]
foreign: ["bull:*"]
vars: {n: int, pri: high|low}
keys:
  cached: {key: "app:c:{n}", type: cache, ttl: 1h ~10%, value: int 0..}
  bounded: {key: "app:b:{n}", type: string, ttl: 15m in 1m..24h}
  forever: {key: "app:f:{n}", type: hash, ttl: none, fields: {a: int, b: text optional, s: text encrypted}}
  either: {key: "app:e:{n}", type: set, ttl: any, member: n}
  ranks: {key: "app:z", type: zset, ttl: any, member: n, score: unix_s}
  object: {key: "app:j:{n}", type: string, ttl: any, value: {id: int, name: text optional}}
  open: {key: "app:o", type: hash, ttl: any, field: n, value: pri}
  docs: {key: "app:d", type: string, ttl: any, value: json s.json}
  jobs: {key: "app:q:{pri}", type: queue, order: pri, value: int, ttl: none}
  moved: {key: "app:m:{n}", type: string, ttl: any, was: ["old:m:{n}"]}
  events: {key: "app:s", type: stream, ttl: none, maxlen: 10, fields: {k: int}}
`

var loaded = declared.Keyspace[string]

func newAudit(t testing.TB, o Options) *Audit {
	t.Helper()
	a, err := New(loaded(t, declaration), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// key returns a live key of a hundred bytes.
func key(name string, kind source.Kind, ttl time.Duration) source.Key {
	return source.Key{Name: []byte(name), Kind: kind, TTL: ttl, Bytes: 100}
}

const no = source.NoTTL

// got returns what a report says of one key, as "CODE entry".
func got(r *Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, strings.TrimSpace(f.Code+" "+f.Entry))
	}
	return out
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name string
		kind source.Kind
		ttl  time.Duration
		want string // "" clean
	}{
		{"app:c:1", source.String, time.Hour, ""},
		{"app:c:1", source.String, 66 * time.Minute, ""},
		{"app:c:1", source.String, 67 * time.Minute, "KW506 cached"},
		{"app:c:1", source.String, no, "KW505 cached"},
		{"app:c:1", source.Hash, no, "KW504 cached"},
		{"app:c:1", source.Module, time.Hour, "KW504 cached"},
		{"app:b:1", source.String, 24 * time.Hour, ""},
		{"app:b:1", source.String, 24*time.Hour + 900*time.Millisecond, ""},
		{"app:b:1", source.String, 25 * time.Hour, "KW506 bounded"},
		{"app:b:1", source.String, time.Millisecond, ""},
		{"app:f:1", source.Hash, no, ""},
		{"app:f:1", source.Hash, time.Second, "KW507 forever"},
		{"app:e:1", source.Set, no, ""},
		{"app:e:1", source.Set, time.Hour, ""},
		{"app:q:high", source.List, no, ""},
		{"{app:q}:leases", source.ZSet, no, ""},
		{"{app:q}:leases", source.String, no, "KW504 jobs.leases"},
		{"app:x", source.String, no, "KW501,KW516"},
		{"app:c:x", source.String, no, "KW501,KW516"},
		{"other", source.String, no, "KW502"},
		{"", source.String, no, "KW502"},
		{"\xff\x1b[31m", source.String, no, "KW502"},
		{"bull:1:x", source.Hash, no, ""},
		{"old:m:1", source.String, no, "KW503 moved"},
		{"app:c:1", source.Unknown, time.Hour, ""},
	} {
		a := newAudit(t, Options{})
		a.Add([]source.Key{key(c.name, c.kind, c.ttl)})
		r := a.Report(source.Summary{}, false)
		if text := strings.Join(got(r), ","); text != c.want {
			t.Errorf("%q, kind %d, ttl %s: %q, want %q", c.name, c.kind, c.ttl, text, c.want)
		}
		if c.want != "" && (r.Findings[0].Count != 1 || string(r.Findings[0].Examples[0].Key) != c.name) {
			t.Errorf("%q: %+v", c.name, r.Findings[0])
		}
		if (r.Verdict == "clean") != (c.want == "") {
			t.Errorf("%q: verdict %s", c.name, r.Verdict)
		}
	}
}

// canary is in values; it must never be in a report.
const canary = "hunter2-canary"

// sealed is as long as the shortest ciphertext: a nonce and a tag.
const sealed = "\x01nonce--nonc\xfftag-tag-tag-ta\xff"

func TestValues(t *testing.T) {
	pairs := func(words ...string) *source.Value {
		v := &source.Value{}
		for _, w := range words {
			v.Elements = append(v.Elements, []byte(w))
		}
		return v
	}
	str := func(s string) *source.Value { return &source.Value{Str: []byte(s)} }
	entries := func(v *source.Value, ends ...int) *source.Value { v.Ends = ends; return v }
	partial := func(v *source.Value) *source.Value { v.Partial = true; return v }
	for _, c := range []struct {
		name  string
		kind  source.Kind
		value *source.Value
		want  string
	}{
		{"app:c:1", source.String, str("42"), ""},
		{"app:c:1", source.String, str(canary), "KW508"},
		{"app:c:1", source.String, partial(str(canary)), ""},
		{"app:f:1", source.Hash, pairs("a", "1", "s", sealed), ""},
		{"app:f:1", source.Hash, pairs("a", canary, "s", sealed), "KW508"},
		{"app:f:1", source.Hash, pairs("a", "1"), "KW510"},
		{"app:f:1", source.Hash, partial(pairs("a", "1")), ""},
		{"app:f:1", source.Hash, pairs("a", "1", "s", sealed, "extra", canary), "KW509"},
		{"app:f:1", source.Hash, pairs("a", "1", "s", "plain "+canary), "KW508"},
		{"app:f:1", source.Hash, pairs("a", "1", "s", canary), "KW508"},
		{"app:f:1", source.Hash, pairs("a", "1", "s", "a longer text, readable, "+canary), "KW508"},
		{"app:e:1", source.Set, pairs("1", "2"), ""},
		{"app:e:1", source.Set, pairs("1", canary), "KW511"},
		{"app:z", source.ZSet, &source.Value{Elements: [][]byte{[]byte("1")}, Scores: []float64{1.7e9}}, ""},
		{"app:z", source.ZSet, &source.Value{Elements: [][]byte{[]byte("1")}, Scores: []float64{math.Copysign(0, -1)}}, ""},
		{"app:z", source.ZSet, &source.Value{Elements: [][]byte{[]byte("1")}, Scores: []float64{1.5}}, "KW512"},
		{"app:j:1", source.String, str(`{"id":1}`), ""},
		{"app:j:1", source.String, str(`{"id":1,"name":null}`), ""},
		{"app:j:1", source.String, str(`{"id":"` + canary + `"}`), "KW508"},
		{"app:j:1", source.String, str(`{}`), "KW510"},
		{"app:j:1", source.String, str(`[1]`), "KW508"},
		{"app:j:1", source.String, str(`{`), "KW508"},
		{"app:o", source.Hash, pairs("1", "high"), ""},
		{"app:o", source.Hash, pairs("x", "high"), "KW509"},
		{"app:o", source.Hash, pairs("1", canary), "KW508"},
		{"app:s", source.Stream, entries(pairs("k", "1"), 2), ""},
		{"app:s", source.Stream, entries(pairs("k", canary), 2), "KW508"},
		{"app:s", source.Stream, entries(pairs("k", "1", "x", "1"), 2, 4), "KW509,KW510"},
		{"{app:q}:job:1", source.String, str("q1 1763774000000 high 0 - -\n7"), ""},
		{"{app:q}:job:1", source.String, str("q1 1763774000000 high 0 - -\n" + canary), "KW508"},
		{"{app:q}:job:1", source.String, str("7"), "KW508"},
		{"{app:q}:job:1", source.String, str("rubbish\n7"), "KW508"},
		{"app:d", source.String, str(`{"ok":true}`), ""},
		{"app:d", source.String, str(`{"` + canary + `":1}`), "KW508"},
	} {
		a := newAudit(t, Options{Values: true, Schema: func(file string) (func([]byte) error, error) {
			return func(v []byte) error {
				if bytes.Contains(v, []byte(canary)) {
					return errors.New("refused: " + canary)
				}
				return nil
			}, nil
		}})
		if !a.WantsValue([]byte(c.name), c.kind) {
			t.Errorf("the value of %s is not asked for", c.name)
		}
		k := key(c.name, c.kind, no)
		if c.name == "app:c:1" {
			k.TTL = time.Minute
		}
		k.Value = c.value
		a.Add([]source.Key{k})
		r := a.Report(source.Summary{}, false)
		var codes []string
		for _, f := range r.Findings {
			codes = append(codes, f.Code)
		}
		slices.Sort(codes)
		if strings.Join(codes, ",") != c.want {
			t.Errorf("%s %q: %v, want %s", c.name, c.value.Elements, codes, c.want)
		}
		var out bytes.Buffer
		if err := finding.WriteJSON(&out, r, "  "); err != nil || strings.Contains(out.String(), canary) {
			t.Errorf("%s: the report shows a value (%v)", c.name, err)
		}
	}
}

func TestSchemaThatCannotBeUsedIsNoted(t *testing.T) {
	a := newAudit(t,
		Options{Values: true, Schema: func(string) (func([]byte) error, error) { return nil, errors.New("broken") }})
	if r := a.Report(source.Summary{}, false); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "s.json") {
		t.Errorf("%q", r.Notes)
	}
}

func TestFilter(t *testing.T) {
	keys := []source.Key{key("app:c:1", source.String, no), key("app:b:1", source.String, no),
		key("{app:q}:dead", source.Set, no), key("app:x:1", source.Set, no), key("old:m:1", source.String, no)}
	for _, c := range []struct {
		include, exclude []string
		want             int64
	}{
		{nil, nil, 5}, {[]string{"moved"}, nil, 1}, {nil, []string{"moved"}, 4}, {[]string{"cached"}, nil, 1},
		{[]string{"jobs"}, nil, 1}, {[]string{"jobs.dead"}, nil, 1}, {[]string{"app:*"}, nil, 3},
		{nil, []string{"app:*"}, 2}, {[]string{"app:*"}, []string{"cached"}, 2},
	} {
		a := newAudit(t, Options{Include: c.include, Exclude: c.exclude})
		a.Add(keys)
		if r := a.Report(source.Summary{}, false); r.Total.Keys != c.want || r.Filtered != int64(len(keys))-c.want {
			t.Errorf("%v less %v: %d keys, %d filtered", c.include, c.exclude, r.Total.Keys, r.Filtered)
		}
	}
	a := newAudit(t, Options{Include: []string{"nothing:*"}})
	a.Add(keys)
	if r := a.Report(source.Summary{}, false); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "none of the 5 keys") {
		t.Errorf("%q", r.Notes)
	}
	if _, err := New(loaded(t, declaration), Options{Include: []string{"cachd"}}); err == nil {
		t.Error("an unknown entry is accepted")
	}
}

// genKeys draws keys of all fates.
func genKeys(t *rapid.T) []source.Key {
	names := rapid.SampledFrom([]string{"app:c:%d", "app:b:%d", "app:f:%d", "app:e:%d", "app:x:%d", "user_%d", "bull:%d",
		"old:m:%d", "a:b:c:%d", "app:q:high"})
	seen := map[string]bool{}
	var out []source.Key
	for i := range rapid.IntRange(0, 60).Draw(t, "n") {
		name := names.Draw(t, "name")
		if strings.Contains(name, "%") {
			name = fmt.Sprintf(name, i)
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		k := key(name, source.Kind(rapid.IntRange(1, 6).Draw(t, "kind")),
			time.Duration(rapid.SampledFrom([]int64{-1, 1000, 3600e9, 1e15}).Draw(t, "ttl")))
		k.Bytes = int64(1 + i%3)
		out = append(out, k)
	}
	return out
}

func TestOrderAndBatchesDoNotMatter(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		keys := genKeys(t)
		report := func(keys []source.Key, batch int) *Report {
			a, err := New(loaded(&testing.T{}, declaration), Options{Examples: 2, Top: 3})
			if err != nil {
				t.Fatal(err)
			}
			for len(keys) > 0 {
				n := min(batch, len(keys))
				a.Add(keys[:n])
				keys = keys[n:]
			}
			return a.Report(source.Summary{}, false)
		}
		want := report(keys, len(keys)+1)
		shuffled := slices.Clone(keys)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Shuffle(len(shuffled),
			func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(want, report(shuffled, rapid.IntRange(1, 7).Draw(t, "batch"))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestIncompleteIsNeverClean(t *testing.T) {
	a := newAudit(t, Options{})
	if r := a.Report(source.Summary{Incomplete: source.Reasons{source.Why(source.Flushed, "a:1", nil)}},
		false); r.Verdict != "incomplete" || r.Complete {
		t.Errorf("%+v", r)
	}
}

// lister represents a source of keys in memory.
type lister struct {
	keys []source.Key
	err  error
}

func (l lister) Scan(_ context.Context, _ source.Request, each func([]source.Key) error) (source.Summary, error) {
	if err := each(l.keys); err != nil {
		return source.Summary{}, err
	}
	return source.Summary{Endpoint: "memory", Incomplete: source.Reasons{source.Why(source.Interrupted, "", nil)}}, l.err
}

func TestRunReportsWhatWasSeen(t *testing.T) {
	a := newAudit(t, Options{})
	stop := errors.New("stop")
	r, err := a.Run(t.Context(), lister{[]source.Key{key("app:c:1", source.String, no)}, stop}, source.Request{})
	if !errors.Is(err, stop) || r == nil || r.Total.Keys != 1 || r.Verdict != "incomplete" {
		t.Errorf("%+v %v", r, err)
	}
}

func TestSuggestions(t *testing.T) {
	a := newAudit(t, Options{})
	var keys []source.Key
	for i := range 100 {
		for _, pattern := range []string{"app:cc:%d", "user_%d", "a:%d:profile", "debug/trace/%d",
			"x:0193%04d-7c1a-7d3e-8f60-2b1c9a4d5e6f", "day:2026-11-%02[2]d", "t:word%[3]s:y", "\xff\xfe%d"} {
			name := fmt.Sprintf(pattern, i*7919, i%28+1, strings.Repeat(string(rune('a'+i%26)), 1+i/26))
			if before, _, ok := strings.Cut(name, "%!"); ok {
				name = before
			}
			keys = append(keys, key(name, source.String, no))
		}
	}
	a.Add(keys)
	var patterns []string
	near := map[string]string{}
	for _, s := range a.Report(source.Summary{}, false).Undeclared.Suggestions {
		patterns = append(patterns, s.Pattern)
		if s.Near != nil {
			near[s.Pattern] = s.Near.Pattern
		}
	}
	for _, want := range []string{"app:cc:{int}", "user_{int}", "a:{int}:profile", "debug/trace/{int}", "day:{date}",
		"t:{text}:y", "{bytes}"} {
		if !slices.Contains(patterns, want) {
			t.Errorf("%s is not among %q", want, patterns)
		}
	}
	if near["app:cc:{int}"] != "app:c:{n}" {
		t.Errorf("near app:cc:{int}: %q", near["app:cc:{int}"])
	}
	if len(patterns) > 12 {
		t.Errorf("%d groups: %q", len(patterns), patterns)
	}
}

// TestMemoryIsBounded: a server full of keys no one declared, no two alike.
func TestMemoryIsBounded(t *testing.T) {
	a := newAudit(t, Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := rand.New(rand.NewPCG(1, 2))
	batch := make([]source.Key, 1000)
	for range 300 {
		for i := range batch {
			name := make([]byte, 0, 40)
			for range 1 + r.IntN(6) {
				name = fmt.Appendf(name, "%x:", r.Uint32()>>uint(r.IntN(28)))
			}
			batch[i] = key(string(name), source.String, time.Duration(r.Int64N(1e15)))
		}
		a.Add(batch)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 24<<20 {
		t.Errorf("300,000 keys left %d MiB behind", grown>>20)
	}
	if n := len(a.Report(source.Summary{}, false).Undeclared.Suggestions); n > 50 {
		t.Errorf("%d suggestions", n)
	}
}

func TestMachineForms(t *testing.T) {
	a := newAudit(t, Options{})
	a.Add([]source.Key{key("app:c:1", source.String, no), key("=cmd()", source.String, no),
		key("\xff", source.String, time.Hour), key("bull:1", source.List, no)})
	r := a.Report(source.Summary{Server: "s", Endpoint: "e"}, false)
	var out bytes.Buffer
	if err := finding.WriteJSON(&out, r, "  "); err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["verdict"] != "findings" ||
		!strings.Contains(out.String(), `"base64": "/w=="`) {
		t.Errorf("%v %s", err, out.String())
	}
	out.Reset()
	for line := range r.Lines() {
		if err := finding.WriteJSON(&out, line, ""); err != nil {
			t.Fatal(err)
		}
	}
	kinds := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kinds[fmt.Sprint(row["kind"])]++
	}
	if kinds["report"] != 1 || kinds["entry"] != len(r.Entries) || kinds["finding"] != 2 || kinds["foreign"] != 1 ||
		kinds["suggestion"] == 0 || kinds["large_key"] != 4 {
		t.Errorf("%v", kinds)
	}
	if rows := r.Rows(); len(rows) != 1+len(r.Entries)+len(r.Legacy)+1+len(r.Undeclared.Suggestions) {
		t.Errorf("%d rows", len(rows))
	}
}

func TestHistogram(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		var h histogram
		var all []time.Duration
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			d := time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "ms")) * time.Millisecond
			h.add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.9} {
			want := all[min(int(q*float64(len(all))), len(all)-1)]
			if got := h.quantile(q); float64(got) < 0.87*float64(want) ||
				float64(got) > 1.13*float64(want)+float64(time.Millisecond) {
				t.Fatalf("quantile %v of %v = %s, want about %s", q, all, got, want)
			}
		}
		if h.min != all[0] || h.max != all[len(all)-1] {
			t.Fatalf("%s %s", h.min, h.max)
		}
	})
}

func FuzzAdd(f *testing.F) {
	for _, seed := range []string{"app:c:1", "a:{b}:c", "\\{", "user_1", "\xff:\x00", strings.Repeat(":", 100), "{int}",
		"a{", "x}y{z}"} {
		f.Add([]byte(seed))
	}
	a, err := New(loaded(f, declaration), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name []byte) {
		a.Add([]source.Key{{Name: name, Kind: source.String, TTL: no, Bytes: 1}})
		a.Report(source.Summary{}, false)
	})
}

func BenchmarkAdd(b *testing.B) {
	a := newAudit(b, Options{})
	var batch []source.Key
	for i := range 1000 {
		batch = append(batch, key(fmt.Sprintf("app:c:%d", i*7919), source.String, time.Hour),
			key(fmt.Sprintf("app:f:%d", i), source.Hash, no))
	}
	b.ReportAllocs()
	for b.Loop() {
		a.Add(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch)), "ns/key")
}

// TestAddWithoutAllocating: a declared key costs no memory, with or without a
// filter, faulty or not.
func TestAddWithoutAllocating(t *testing.T) {
	keys := []source.Key{key("app:c:1", source.String, time.Hour), key("app:c:2", source.String, no),
		key("app:f:1", source.String, no), key("bull:1", source.List, no), key("old:m:1", source.String, no)}
	for _, o := range []Options{{}, {Include: []string{"cached"}, Exclude: []string{"bull:*"}}} {
		a := newAudit(t, o)
		a.Add(keys)
		if n := testing.AllocsPerRun(100, func() { a.Add(keys) }); n != 0 {
			t.Errorf("%v allocations in %d keys, options %+v", n, len(keys), o)
		}
	}
}

// BenchmarkAddUndeclared: a server full of keys no one declared is slower, but
// not the bottleneck either.
func BenchmarkAddUndeclared(b *testing.B) {
	a := newAudit(b, Options{})
	var batch []source.Key
	for i := range 1000 {
		batch = append(batch, key(fmt.Sprintf("session:%d:user_%d", i%7, i*7919), source.String, time.Hour))
	}
	b.ReportAllocs()
	for b.Loop() {
		a.Add(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch)), "ns/key")
}

// TestDatabases: a finding names the database of each key, and the same name in
// two databases is two keys.
func TestDatabases(t *testing.T) {
	a := newAudit(t, Options{})
	stray := []source.Key{key("stray", source.String, no), key("stray", source.String, no),
		key("stray", source.String, no)}
	stray[0].DB, stray[1].DB, stray[2].DB = 3, 0, 3 // a scan may see a key twice
	a.Add(stray)
	r := a.Report(source.Summary{}, false)
	want := []finding.Example{{DB: 0, Key: []byte("stray")}, {DB: 3, Key: []byte("stray")}}
	if len(r.Findings) != 1 ||
		!slices.EqualFunc(r.Findings[0].Examples, want,
			func(a, b finding.Example) bool { return a.DB == b.DB && string(a.Key) == string(b.Key) }) {
		t.Errorf("%+v", r.Findings)
	}
}

// TestEachCodeHasRoom: however many unknown fields come first, a wrong value is
// reported.
func TestEachCodeHasRoom(t *testing.T) {
	ks := loaded(t, "keywright: 1\npackage: p\nowner: o\nkeys:\n  h: {key: \"h:{i}\", type: hash, fields: {n: int}, ttl: none}\n")
	a, err := New(ks, Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		k := key("h:1", source.Hash, no)
		k.Value = &source.Value{Elements: [][]byte{[]byte(fmt.Sprint("unknown", i)), []byte("x"), []byte("n"), []byte("1")}}
		a.Add([]source.Key{k})
	}
	k := key("h:2", source.Hash, no)
	k.Value = &source.Value{Elements: [][]byte{[]byte("n"), []byte("no number")}}
	a.Add([]source.Key{k})
	codes := map[string]int{}
	for _, f := range a.Report(source.Summary{}, false).Findings {
		codes[f.Code]++
	}
	if codes["KW510"] == 0 && codes["KW509"] == 0 || len(codes) < 2 {
		t.Errorf("%v", codes)
	}
}

// TestTheLineOfAJob: what the queue stores is known here; both read one file of
// forms.
func TestTheLineOfAJob(t *testing.T) {
	text, err := os.ReadFile("../queue/testdata/forms.json")
	if err != nil {
		t.Fatal(err)
	}
	var forms map[string]any
	if err := json.Unmarshal(text, &forms); err != nil {
		t.Fatal(err)
	}
	job, _ := forms["job 1"].(string)
	line, _, ok := strings.Cut(job, "\n")
	if !ok || !queueLine.MatchString(line) {
		t.Errorf("%q is no line of a job", line)
	}
}
