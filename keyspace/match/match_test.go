package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	"pgregory.net/rapid"
)

// types lists the placeholder names of the tests; any other name is text.
var types = map[string]string{
	"int": "int", "small": "int 1..12", "uuid": "uuid", "hex4": "hex 4", "hex": "hex", "enum": "high|low|user",
	"rest":  "text rest",
	"short": "text max 3", "date": "date", "ts": "timestamp", "re": "/[a-c]+/", "colon": "/[a-c]:[a-c]/", "slug": "slug",
	"bool": "bool",
}

func resolve(name string) (scalar.Type, bool) {
	text, ok := types[strings.TrimRight(name, "0123456789_")]
	if !ok {
		return scalar.Type{}, false
	}
	t, err := scalar.Parse(text, nil)
	return t, err == nil
}

func items(t testing.TB, texts ...string) []Item {
	t.Helper()
	var out []Item
	for _, text := range texts {
		rank := 0
		if glob, ok := strings.CutPrefix(text, "glob "); ok {
			p, err := pattern.Glob(glob)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, Item{p, 2})
			continue
		}
		p, err := pattern.Parse(text, resolve)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, Item{p, rank})
	}
	return out
}

func compileItems(t testing.TB, in []Item) *Matcher {
	t.Helper()
	m, _, err := Compile(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// naive reads key by p in the most obvious way: every cut is tried, with the
// element's own automaton, back-tracking and all.
func naive(p *pattern.Pattern, key string) (captures []string, ok bool) {
	return naiveFrom(p, p.Elements(), key)
}

func naiveFrom(p *pattern.Pattern, elems []pattern.Element, key string) ([]string, bool) {
	if len(elems) == 0 {
		return nil, key == ""
	}
	e := elems[0]
	if e.Literal != "" {
		if !strings.HasPrefix(key, e.Literal) {
			return nil, false
		}
		return naiveFrom(p, elems[1:], key[len(e.Literal):])
	}
	d := elementDFA(e)
	for cut := 0; cut <= len(key); cut++ {
		if !automaton.Match(d, key[:cut]) {
			continue
		}
		if after, ok := naiveFrom(p, elems[1:], key[cut:]); ok {
			if e.Placeholder >= 0 {
				after = append([]string{key[:cut]}, after...)
			}
			return after, true
		}
	}
	return nil, false
}

// elementDFAs saves the naive reader from compiling the same types for hours.
var elementDFAs = map[string]*automaton.DFA{}

func elementDFA(e pattern.Element) *automaton.DFA {
	name := fmt.Sprint(e.Expr)
	if elementDFAs[name] == nil {
		n, _ := automaton.Compile(e.Expr)
		elementDFAs[name], _ = automaton.Determinize(n)
	}
	return elementDFAs[name]
}

// slow returns the specification of the matcher.
func slow(in []Item, key string) (id int, captures []string) {
	id = None
	for i, item := range in {
		got, ok := naive(item.Pattern, key)
		if !ok {
			continue
		}
		better := id == None || item.Rank < in[id].Rank
		if id != None && item.Rank == in[id].Rank {
			_, inside := pattern.Contains(in[id].Pattern, item.Pattern)
			_, outside := pattern.Contains(item.Pattern, in[id].Pattern)
			better = inside && !outside
		}
		if better {
			id, captures = i, got
		}
	}
	return id, captures
}

func fast(m *Matcher, key string) (int, []string) {
	var c Captures
	id := m.Match([]byte(key), &c)
	if id == None {
		return id, nil
	}
	var out []string
	for i := range c.N {
		out = append(out, string(c.Of([]byte(key), i)))
	}
	return id, out
}

func agree(t interface{ Fatalf(string, ...any) }, in []Item, m *Matcher, key string) {
	wantID, want := slow(in, key)
	gotID, got := fast(m, key)
	if gotID != wantID || !slices.Equal(got, want) {
		t.Fatalf("key %q: fast = %d %q, slow = %d %q", key, gotID, got, wantID, want)
	}
}

// TestTable holds the pairs that other tools get wrong.
func TestTable(t *testing.T) {
	in := items(t,
		"queue:{name}", "queue:job:{id}", "poppo:issue:{int}", "poppo:issue:status:{int}",
		"issue_lock_{issue_id}", "{name}_lock", "cache:{slug}-{small}:x", "a::b", "trail:", ":lead", "x:{rest}",
		"log:{ts}:end", "log:{ts}",
		"coupon:{#{couponId}}:stock", "{#jobs}:ready", "d:{date}", "p:{colon}:q", "glob bull:*", "glob ?[0-9]*z",
		"glob *:old")
	m := compileItems(t, in)
	for _, key := range []string{
		"queue:high", "queue:job:42", "queue:job", "queue:", "queue", "poppo:issue:1", "poppo:issue:status:1",
		"poppo:issue:status", "poppo:isue:1",
		"issue_lock_42", "issue_lock_", "my_thing_lock", "_lock", "issue_lock_9_lock", "cache:a-b-7:x", "cache:a--7:x",
		"cache:a-0:x", "cache:a-07:x",
		"a::b", "a:b", "trail:", "trail", ":lead", "", ":", "::", "x:a:b:c", "x:", "x::", "log:2026-11-20T09:30:00Z:end",
		"log:2026-11-20T09:30:00+09:00",
		"log:2026-02-29T09:30:00Z", "coupon:{42}:stock", "coupon:{4{2}:stock", "coupon:{}:stock", "{jobs}:ready",
		"d:2024-02-29", "d:2023-02-29",
		"d:1900-02-29", "d:2000-02-29", "p:a:b:q", "p:a:q", "bull:", "bull:a:b", "bull", "x9z", "x9:z", "q:old", "a:b:old",
		"old", "\xff\x00:old", "k\xff_lock",
		strings.Repeat("a:", 100) + "old", strings.Repeat("x", 900) + ":old", strings.Repeat("s:", 300),
		"queue:" + strings.Repeat("x", 100),
	} {
		agree(t, in, m, key)
	}
}

// pieces say what random patterns and keys are made of: few and alike, so that
// keys often match, and nearly match, several patterns.
var pieces = []string{"user", "use", "a", "b", "1", "12", "13", "007", "-1", "high", "low", "abcd", "a1b2", "true",
	"2026-11-20", "", "x_y", "a-b", "{a}", "}", "{", "abc:b",
	"01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f", "eightlit", "sixteen-byte-lit", "twenty-four-byte-literal",
	"a-long-literal-segment-of-more-than-sixteen-bytes", "2026-11-20T09:30:00Z"}

func genPattern(t *rapid.T, n int) string {
	var segments []string
	for range rapid.IntRange(1, 4).Draw(t, "segments") {
		names := []string{"{id}", "{int}", "{small}", "{uuid}", "{hex4}", "{hex}", "{enum}", "{short}", "{date}", "{re}",
			"{colon}", "{slug}", "{bool}", "{ts}", "pre_{int}", "{re}-{int}", "{slug}_x", "{#{int}}", "{#user}", "{int}.{bool}"}
		names = append(names, "user", "use", "a", "1", "high", "", "eightlit", "sixteen-byte-lit", "twenty-four-byte-literal",
			"a-long-literal-segment-of-more-than-sixteen-bytes", "x_y")
		segments = append(segments, rapid.SampledFrom(names).Draw(t, "segment"))
	}
	if rapid.IntRange(0, 5).Draw(t, "tail") == 0 {
		segments = append(segments, rapid.SampledFrom([]string{"{rest}", "pre_{rest}"}).Draw(t, "rest"))
	}
	for i := range segments { // names are unique in a pattern
		segments[i] = strings.ReplaceAll(strings.ReplaceAll(segments[i], "}", fmt.Sprintf("_%d}", i)), "#user_"+fmt.Sprint(i),
			"#user")
		segments[i] = strings.ReplaceAll(segments[i], fmt.Sprintf("_%d}_%d}", i, i), fmt.Sprintf("_%d}}", i))
	}
	return strings.Join(segments, ":")
}

func TestFastEqualsSlow(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		var in []Item
		for range rapid.IntRange(1, 12).Draw(t, "patterns") {
			if rapid.IntRange(0, 9).Draw(t, "glob") == 0 {
				g := rapid.SampledFrom([]string{"user:*", "*:a", "a?b", "[ab]*", "*user*:1", "*"}).Draw(t, "glob text")
				p, _ := pattern.Glob(g)
				in = append(in, Item{p, rapid.IntRange(0, 2).Draw(t, "rank")})
				continue
			}
			p, err := pattern.Parse(genPattern(t, len(in)), resolve)
			if err != nil {
				continue
			}
			in = append(in, Item{p, rapid.IntRange(0, 1).Draw(t, "rank")})
		}
		m, conflicts, err := Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		unsure := map[int]bool{}
		for _, c := range conflicts {
			for _, i := range []int{c.A, c.B} {
				unsure[i] = true
				if _, ok := naive(in[i].Pattern, string(c.Witness)); !ok {
					t.Fatalf("witness %q of %s and %s does not match both", c.Witness, in[c.A].Pattern, in[c.B].Pattern)
				}
			}
		}
		for range 30 {
			key := genKey(t, in)
			if id, _ := fast(m, key); id != None && unsure[id] {
				continue // a conflict: reported, and the winner is a matter of order
			}
			agree(t, in, m, key)
		}
	})
}

func genKey(t *rapid.T, in []Item) string {
	if len(in) > 0 && rapid.Bool().Draw(t, "from a pattern") {
		p := rapid.SampledFrom(in).Draw(t, "pattern").Pattern
		key := ""
		for _, e := range p.Elements() {
			if e.Literal != "" {
				key += e.Literal
			} else {
				key += rapid.SampledFrom(pieces).Draw(t, "piece")
			}
		}
		return key
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 5).Draw(t, "pieces"), ":")
}

func FuzzMatch(f *testing.F) {
	in := items(f, "queue:{name}", "poppo:issue:{int}", "issue_lock_{issue_id}", "cache:{slug}-{small}:x", "x:{rest}",
		"log:{ts}:end", "coupon:{#{couponId}}:stock", "glob bull:*", "glob *:old")
	m := compileItems(f, in)
	for _, seed := range []string{"", ":", "queue:1", "issue_lock_9", "cache:a-b-7:x", "x:a:b",
		"log:2026-11-20T09:30:00Z:end", "coupon:{1}:stock", "bull:1", "a:old", "\xff:\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		if len(key) < 200 {
			agree(t, in, m, string(key))
		}
		m.Match(key, nil)
	})
}

// TestHugeKeys: a key may have 512 MB; reading one is linear.
func TestHugeKeys(t *testing.T) {
	m := compileItems(t, items(t, "cache:{slug}-{small}:x", "{name}_lock", "glob *:old", "x:{rest}"))
	for _, key := range []string{strings.Repeat("x", 16<<20) + ":old", strings.Repeat("s:", 8<<20),
		"x:" + strings.Repeat(":", 1<<20), strings.Repeat("y", 1<<20) + "_lock"} {
		m.Match([]byte(key), nil)
	}
}

func TestEmpty(t *testing.T) {
	if m := compileItems(t, nil); m.Match([]byte("a"), nil) != None {
		t.Error("an empty matcher matches")
	}
}
