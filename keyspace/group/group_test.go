package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/scalar"
	"pgregory.net/rapid"
)

// counts is the tally of these tests: keys of one type.
type counts struct {
	keys int64
	kind uint64
}

func (c *counts) Keys() int64      { return c.keys }
func (c *counts) Merge(o *counts)  { c.keys, c.kind = c.keys+o.keys, max(c.kind, o.kind) }
func (c *counts) Likeness() uint64 { return c.kind }

type forest = Tree[counts, *counts]

func grown(names ...string) *forest {
	t := New[counts](0)
	for _, name := range names {
		add(t, name, 1)
	}
	return t
}

func add(t *forest, name string, kind uint64) {
	c := t.At(0, []byte(name))
	c.keys++
	c.kind = kind
}

// listed returns the groups as "pattern keys".
func listed(t *forest) (out []string) {
	for _, g := range t.Groups(nil) {
		out = append(out, fmt.Sprintf("%s %d", g.Pattern, g.Tally.keys))
	}
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// many returns the names that a format makes of the numbers from 0.
func many(n int, format string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// syllables makes words that differ, the same for the same number.
func syllables(n int) string {
	const first, second = "bcdfghjklmnprstvwz", "aeiou"
	var b strings.Builder
	for range 4 {
		b.WriteByte(first[n%len(first)])
		n /= len(first)
		b.WriteByte(second[n%len(second)])
		n /= len(second)
	}
	return b.String()
}

// TestForms: what a segment is called, and that each form is a type.
func TestForms(t *testing.T) {
	for segment, want := range map[string]string{
		"7": "{int}", "-7": "{int}", "007": "{digits}", "0": "{int}", "1700000000000": "{unix_ms}",
		"123456789012345678901234567890": "{digits}",
		"2026-11-20":                     "{date}", "2026-13-20": "{int}-{int}-{int}",
		"0193aaaa-7c1a-7d3e-8f60-2b1c9a4d5e6f": "{uuid}", "01ARZ3NDEKTSV4RRFFQ69G5FAV": "{ulid}",
		"deadbeefdeadbe11": "{hex}", strings.Repeat("a1", 16): "{hex}", strings.Repeat("a1", 20): "{hex}", "v2": "v2",
		"user_7": "user_{int}", "7_user": "{int}_user", "user7": "user{int}", "sha256": "sha256", "q4": "q4",
		"": "", "a{b}": `a\{b\}`, "\xff": "{bytes}", "\x1b[31m": "{bytes}", "한글": "한글", "été": "été",
		"{0193aaaa-7c1a-7d3e-8f60-2b1c9a4d5e6f}": `\{{uuid}\}`, "{ann@example.com": "{text}", "{2026-11-20}}": `\{{date}\}\}`,
		"{issue_lock_1000}": `\{issue_lock_{int}\}`, "{cart": `\{cart`, "12}": `{int}\}`,
		"ann@example.com": "{text}", "x7k9q2": "{text}", "aGVsbG8gd29ybGQgaGVsbG8": "{text}",
		"getUserProfileSettings": "getUserProfileSettings",
		"%02d":                   "%{text}", "null": "null", "[object Object]": "[object Object]",
	} {
		if got := string(appendName(nil, []byte(segment))); got != want {
			t.Errorf("%q: %s, want %s", segment, got, want)
		}
	}
	for _, f := range forms {
		if typ, err := scalar.Parse(f.text, nil); err != nil || f.name != "{"+strings.Fields(typ.String())[0]+"}" {
			t.Errorf("%s: %v", f.text, err)
		}
	}
}

// TestEvidence: what is a name and what is a value.
func TestEvidence(t *testing.T) {
	var tenants []string
	for i := range 40 {
		for _, kind := range []string{"user", "order", "session"} {
			tenants = append(tenants, many(3, syllables(i)+":"+kind+":%d")...)
		}
	}
	same(t, listed(grown(tenants...)), "{tenant}:order:{int} 120", "{tenant}:session:{int} 120", "{tenant}:user:{int} 120")

	var settings []string
	for i := range 40 {
		settings = append(settings, many(4+i%8, syllables(i)+":settings:%d")...)
	}
	same(t, listed(grown(settings...)), "{tenant}:settings:{int} 300")
	same(t, listed(grown("user:stats", "order:stats", "cart:stats")), "user:stats 1", "order:stats 1", "cart:stats 1")

	var caches []string
	for i := range 16 {
		caches = append(caches, many(20, "cache:"+syllables(i)+":%d")...)
	}
	if got := listed(grown(caches...)); len(got) != 16 {
		t.Errorf("16 caches are %d groups: %s", len(got), got)
	}

	var users []string
	for i := range 300 {
		users = append(users, "user:"+syllables(i)+":cart")
	}
	users = append(users, "user:stats")
	same(t, listed(grown(users...)), "user:{text}:cart 300", "user:stats 1")

	same(t, listed(grown(many(30, "a:x%[1]d:1")...)), "a:{text}:{int} 30")
	same(t, listed(grown("a/b/7", "a/b/8", "a|b|7", "conf.cdn.opt7", "x", "x:y")), "a/b/{int} 2", "a|b|{int} 1",
		"conf.cdn.opt{int} 1", "x 1", "x:y 1")
	same(t, listed(grown(many(60, "{cart:%d}:items")...)), `\{cart:{int}\}:items 60`)
	same(t, listed(grown("zip:01234", "zip:91234")), "zip:{digits} 2")
	same(t, listed(grown(many(3, "user_%d")...)), "user_{int} 3")
	same(t, listed(grown(slices.Concat(many(60, "user_%d"), many(60, "order_%d"), many(60, "cart_%d"))...)),
		"user_{int} 60",
		"order_{int} 60", "cart_{int} 60")
}

// TestSlipsStayApart: what a program wrote by mistake is no value of a placeholder, and no name.
func TestSlipsStayApart(t *testing.T) {
	names := many(500, "user:%d")
	for i := range 500 {
		names = append(names, "user:"+syllables(i))
	}
	names = append(names, "user:null", "user:undefined", "user:%s", "user:[object Object]", "user:{user_id}", "user:")
	slips := 0
	for _, g := range grown(names...).Groups(nil) {
		if g.Slip() {
			slips++
			if g.Tally.keys != 1 {
				t.Errorf("%s has %d keys", g.Pattern, g.Tally.keys)
			}
		}
	}
	if slips != 5 {
		t.Errorf("%d slips", slips)
	}
	for name, want := range map[string]string{"user:null": "null", "books::7": "", "user:7::x": "empty segment",
		"user:7:":  "empty segment",
		":1:books": "", "user:": "empty segment",
		"a:NaN:b": "NaN", "u:${id}": "${id}", "{user1}:x": "", "{cart}:items": "", "{id}:x": "{id}", "a/b//c": "", "x": "",
		"u:<userId>": "<userId>", "u:%(id)s": "%(id)s"} {
		if got := Slip([]byte(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestMask: no identifier is shown, what is wrong with a day is.
func TestMask(t *testing.T) {
	for name, want := range map[string]string{"user:ann@example.com:7": "user:{text}:{int}",
		"dau:2026-13-45": "dau:2026-13-45",
		"sess:0193aaaa-7c1a-7d3e-8f60-2b1c9a4d5e6f": "sess:{uuid}", "plain": "plain", "a/b/x9y8z7w6": "a/b/{text}", "": ""} {
		if got := Mask([]byte(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestNoKeyIsLost: whatever is folded, every key is in one group, and no two groups have one pattern.
func TestNoKeyIsLost(t *testing.T) {
	segments := rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,3}`), rapid.StringMatching(`[0-9]{1,13}`),
		rapid.StringMatching(`[0-9]{1,3}_[a-z]{1,3}`),
		rapid.StringMatching(`[a-z]{1,2}[-_][0-9]{1,2}`), rapid.Just(strings.Repeat("long", 20)), rapid.Just("\xff"),
		rapid.Just(""), rapid.Just("{a"), rapid.Just("b}"), rapid.Just("null"), rapid.Just(`\`))
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		tree := New[counts](rapid.SampledFrom([]int{60, 500, 0}).Draw(t, "nodes"))
		list := rapid.SliceOfN(rapid.SliceOfN(segments, 1, 15), 1, 120).Draw(t, "names")
		for _, parts := range list {
			add(tree, strings.Join(parts, rapid.SampledFrom([]string{":", ":", "/"}).Draw(t, "separator")), uint64(len(parts)%2))
		}
		seen, keys := map[string]bool{}, int64(0)
		for _, g := range tree.Groups(nil) {
			keys += g.Tally.keys
			if seen[g.Pattern] {
				t.Fatalf("two groups are %s", g.Pattern)
			}
			seen[g.Pattern] = true
		}
		if all, folded := tree.Keys(); keys != int64(len(list)) || all != keys || folded > all {
			t.Fatalf("%d keys in, %d in groups, %d counted, %d folded", len(list), keys, all, folded)
		}
	})
}

// TestPartsAreTheWhole: trees of parts, put together by their rows, have the groups of one tree of all.
func TestPartsAreTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	whole, all := New[counts](0), New[counts](0)
	parts := []*forest{New[counts](0), New[counts](0), New[counts](0)}
	for i := range 3000 {
		name := fmt.Sprintf("%s:%s:%d", syllables(i%7), syllables(r.IntN(80)), i)
		add(whole, name, uint64(i%7))
		add(parts[r.IntN(3)], name, uint64(i%7))
	}
	for _, p := range parts {
		all.Take(p)
	}
	same(t, listed(all), listed(whole)...)
}

// TestRowsOfAFile: what no tree has made does no harm: a row may come from a file.
func TestRowsOfAFile(t *testing.T) {
	tree := New[counts](100)
	for i := range 400 {
		for _, path := range [][]string{nil, {""}, {`:\`}, {":a{", "{", "}"}, {"{", `b\`, "{x}y{"}, {fmt.Sprint(":", i), `{`},
			many(40, ":%d")} {
			tree.Put(Row[counts]{Path: path, Folded: []int64{-1, 1 << 62}, Tally: &counts{1 << 58, 1}})
		}
		if n := tree.nodes; n > 100 {
			t.Fatalf("%d nodes", n)
		}
	}
	if len(tree.Groups(nil)) == 0 {
		t.Error("no group")
	}
}

// TestManySpaces: each space has a tree of its own, and so many of them that no word is left to fold make a larger
// tree, and no endless work.
func TestManySpaces(t *testing.T) {
	tree := New[counts](100)
	for i := range 3000 {
		c := tree.At(i%1000, []byte(strings.Repeat("a:", 6)+syllables(i)))
		c.keys++
	}
	groups := tree.Groups(nil)
	keys := map[int]int64{}
	for _, g := range groups {
		keys[g.Space] += g.Tally.keys
	}
	if len(keys) != 1000 || keys[7] != 3 || tree.nodes > tree.most || tree.most > 30_000 {
		t.Errorf("%d spaces, %d keys in one, %d nodes of %d", len(keys), keys[7], tree.nodes, tree.most)
	}
}

// TestFamiliesOfAnyNumber: no number of families and no noise beside them hides one that has fifty keys. Printed with
// -v: how many groups there are for how many families.
func TestFamiliesOfAnyNumber(t *testing.T) {
	t.Parallel()
	for _, families := range []int{2, 8, 23, 24, 25, 26, 40, 200, 500, 1000, 5000} {
		for _, times := range []int{0, 1, 10, 50} {
			if families == 5000 && times == 10 && !gate.All() {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(families), uint64(times)))
			tree := New[counts](0)
			keys := families * (50 + times)
			order := r.Perm(keys)
			for _, i := range order {
				if i < families*50 {
					add(tree, fmt.Sprintf("myapp:%s:%d", syllables(i/50), 1000+i), 1)
				} else {
					add(tree, noise(r), uint64(r.IntN(3)))
				}
			}
			found, groups := 0, tree.Groups(nil)
			for _, g := range groups {
				if strings.HasPrefix(g.Pattern, "myapp:") && strings.HasSuffix(g.Pattern, ":{int}") && g.Tally.keys >= 40 &&
					g.Tally.keys <= 50 {
					found++
				}
			}
			_, lost := tree.Keys()
			t.Logf("%d families, %d names of noise: %d groups, %d families found, %d keys lost a word, %d nodes", families,
				families*times,
				len(groups), found, lost, tree.nodes)
			if found != families || tree.nodes > tree.most {
				t.Errorf("%d families, %d names of noise: %d found, %d nodes", families, families*times, found, tree.nodes)
			}
		}
	}
}

// noise returns a random name: one in three is below the families' own beginning.
func noise(r *rand.Rand) string {
	letters := func() string {
		b := make([]byte, 5+r.IntN(6))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return string(b)
	}
	switch r.IntN(3) {
	case 0:
		return "myapp:" + letters() + ":" + letters()
	case 1:
		return letters() + ":" + letters()
	}
	return letters()
}

// TestNodesAreBounded: neither words nor placeholders nor mixtures make a tree larger than it may be.
func TestNodesAreBounded(t *testing.T) {
	kinds := []string{"7", "007", "1700000000000", "2026-11-20", "0193aaaa-7c1a-7d3e-8f60-2b1c9a4d5e6f",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV", "deadbeefdeadbe11", "\xff", "word"}
	tree := New[counts](5000)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 60_000 {
		parts := make([]string, 1+r.IntN(14))
		for p := range parts {
			parts[p] = kinds[r.IntN(len(kinds))]
		}
		add(tree, strings.Join(parts, ":"), 1)
		add(tree, fmt.Sprintf("%d_%s:%d_%s", i, syllables(i), i, syllables(i*7)), 1)
		if tree.nodes > tree.most || i%10_000 == 0 && size(tree.roots[root{0, ':'}]) != tree.nodes+1 {
			t.Fatalf("%d nodes counted, %d there, of %d", tree.nodes, size(tree.roots[root{0, ':'}]), tree.most)
		}
	}
}

func size(n *node[counts]) int {
	sum := 1
	for _, c := range n.all() {
		sum += size(c)
	}
	return sum
}

// BenchmarkAt adds a million random names, the worst that can come.
func BenchmarkAt(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	tree := New[counts](0)
	for b.Loop() {
		add(tree, noise(r), 1)
	}
}
