package group

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/pattern"
	"pgregory.net/rapid"
)

// odd draws segments of every kind: words, identifiers, slips, braces, bytes.
var odd = rapid.OneOf(
	rapid.SampledFrom([]string{"user", "order", "cart", "a", "b", "null", "%s", "", "{a", "b}", "{x}", `\`, "\xff",
		"x7k9q2", "deadbeefdeadbe11", "2026-11-20", "0193aaaa-7c1a-7d3e-8f60-2b1c9a4d5e6f", "7_x-8", "한글", "ann@example.com",
		"v2", "{int}", strings.Repeat("long", 20)}),
	rapid.StringMatching(`[a-c]{1,2}`), rapid.StringMatching(`-?[0-9]{1,14}`))

func names(t *rapid.T) (out []string) {
	for range rapid.IntRange(1, 60).Draw(t, "names") {
		parts := rapid.SliceOfN(odd, 1, 5).Draw(t, "parts")
		out = append(out, strings.Join(parts, rapid.SampledFrom([]string{":", "/", "|"}).Draw(t, "separator")))
	}
	return out
}

// all writes groups with all that they say.
func all(groups []Group[counts]) (out []string) {
	for _, g := range groups {
		out = append(out, fmt.Sprintf("%d %s %+v %+v lost %d, %s, slip %t", g.Space, g.Pattern, *g.Tally, g.Folds, g.Lost,
			g.Confidence(g.Tally.keys), g.Slip()))
	}
	return out
}

// TestOrderDoesNotMatter: names in another order have the same groups, and groups can be asked for twice.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		list := names(t)
		tree, other := grown(list...), grown(rapid.Permutation(list).Draw(t, "order")...)
		first := all(tree.Groups(nil))
		if again := all(tree.Groups(nil)); !slices.Equal(first, again) {
			t.Fatalf("asked for again:\n%s\n%s", strings.Join(first, "\n"), strings.Join(again, "\n"))
		}
		if got := all(other.Groups(nil)); !slices.Equal(first, got) {
			t.Fatalf("in another order:\n%s\n%s", strings.Join(first, "\n"), strings.Join(got, "\n"))
		}
		if !slices.IsSortedFunc(tree.Groups(nil), func(a, b Group[counts]) int { return cmp.Compare(a.Pattern, b.Pattern) }) {
			t.Fatal("not sorted")
		}
	})
}

// TestRowsAreTheTree: what is taken out of a tree row by row and put into another makes the same tree, also where words
// were folded, and also by a copy of the rows.
func TestRowsAreTheTree(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		tree := New[counts](rapid.SampledFrom([]int{40, 0}).Draw(t, "nodes"))
		for i, name := range names(t) {
			c := tree.At(i%3, []byte(name))
			c.keys++
		}
		var rows []Row[counts]
		for r := range tree.Rows() {
			rows = append(rows, Row[counts]{r.Space, r.Sep, r.Path, r.Folded, &counts{r.Tally.keys, r.Tally.kind}})
		}
		copied := New[counts](0)
		for _, r := range rows {
			copied.Put(r)
		}
		if got, want := all(copied.Groups(nil)), all(tree.Groups(nil)); !slices.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		keys, folded := tree.Keys()
		if k, f := copied.Keys(); k != keys || f != folded {
			t.Fatalf("%d and %d folded, want %d and %d", k, f, keys, folded)
		}
		var again []Row[counts]
		for r := range copied.Rows() {
			again = append(again, r)
		}
		if !reflect.DeepEqual(rows, again) {
			t.Fatalf("the rows are now\n%v\nwant\n%v", again, rows)
		}
	})
}

// TestPatternsAreRead: the pattern of a group is one that a declaration may have, unless it can be read in two ways or
// has too many placeholders: the placeholders of one pattern differ, and braces of keys are escaped.
func TestPatternsAreRead(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		for _, g := range grown(names(t)...).Groups(nil) {
			if g.Pattern == "" {
				continue
			}
			_, err := pattern.Parse(g.Pattern, nil)
			var fault *pattern.SyntaxError
			if errors.As(err, &fault) && fault.Ambiguous == nil && !strings.Contains(fault.Message, "the limit is 16") {
				t.Fatalf("%q: %v", g.Pattern, err)
			}
		}
	})
}

// TestFolds: which words became which placeholder, and the names of those with the most keys.
func TestFolds(t *testing.T) {
	var list []string
	for i := range 40 { // tenants, each with more keys than the one before it
		for range 1 + i {
			list = append(list, syllables(i)+":user:7", syllables(i)+":order:7")
		}
	}
	for i := range 300 {
		list = append(list, fmt.Sprintf("cfg:%s:on", syllables(i)))
	}
	want := []string{
		"cfg:{text}:on [{{text} 300 [babababa bacababa badababa]}] lost 0",
		fmt.Sprintf("{tenant}:order:{int} [{{tenant} 40 [%s %s %s]}] lost 0", syllables(39), syllables(38), syllables(37)),
		fmt.Sprintf("{tenant}:user:{int} [{{tenant} 40 [%s %s %s]}] lost 0", syllables(39), syllables(38), syllables(37)),
	}
	var got []string
	for _, g := range grown(list...).Groups(nil) {
		got = append(got, fmt.Sprintf("%s %v lost %d", g.Pattern, g.Folds, g.Lost))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestKnownWordsStay: a word that leads to what the caller knows is a name, however few keys it has.
func TestKnownWordsStay(t *testing.T) {
	tree := grown()
	for i := range 300 {
		add(tree, "cfg:"+syllables(i)+":on", 1)
	}
	add(tree, "cfg:known:on", 7)
	add(tree, "cfg:deeper:a:b:c", 7)
	for known, want := range map[bool]string{false: "[cfg:deeper:a:b:c 1 cfg:{text}:on 301]",
		true: "[cfg:deeper:a:b:c 1 cfg:known:on 1 cfg:{text}:on 300]"} {
		asked := func(c *counts) bool { return known && c.kind == 7 }
		var got []string
		for _, g := range tree.Groups(asked) {
			got = append(got, fmt.Sprintf("%s %d", g.Pattern, g.Tally.keys))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("known %t: %v", known, got)
		}
	}
}

// TestConfidence: how sure a pattern is, by what became of its words and by its keys.
func TestConfidence(t *testing.T) {
	fold := []Fold{{"{text}", 2, nil}}
	for _, c := range []struct {
		group Group[counts]
		keys  int64
		want  Confidence
	}{
		{Group[counts]{}, 1, High}, {Group[counts]{}, 0, High}, {Group[counts]{varies: true}, 1, Low},
		{Group[counts]{varies: true}, 2, Medium}, {Group[counts]{varies: true}, 9, Medium},
		{Group[counts]{varies: true}, 10, High}, {Group[counts]{varies: true, Folds: fold}, 10_000, Medium},
		{Group[counts]{varies: true, Folds: fold}, 1, Low}, {Group[counts]{Lost: 1, varies: true}, 10_000, Low},
		{Group[counts]{Lost: 1}, 2, Low},
	} {
		if got := c.group.Confidence(c.keys); got != c.want {
			t.Errorf("%+v of %d keys: %s", c.group, c.keys, got)
		}
	}
	for name, want := range map[string]Confidence{"user:7": Low, "user": High, "a:b": High, `a:\{b`: High, "a:x_7": Low} {
		if got := grown(name).Groups(nil)[0].Confidence(1); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestLostWords: where memory is short, the groups say how many of their keys gave a word up, and no more than they
// have.
func TestLostWords(t *testing.T) {
	tree := New[counts](200)
	for i := range 2000 {
		add(tree, fmt.Sprintf("%s:x:%s", syllables(i), syllables(i*3)), 1)
	}
	lost, keys := int64(0), int64(0)
	for _, g := range tree.Groups(nil) {
		if g.Lost > g.Tally.keys || g.Lost > 0 && g.Confidence(1000) != Low {
			t.Errorf("%s: %d keys lost a word of %d", g.Pattern, g.Lost, g.Tally.keys)
		}
		lost, keys = lost+g.Lost, keys+g.Tally.keys
	}
	all, folded := tree.Keys()
	if all != 2000 || keys != 2000 || folded == 0 || lost < folded {
		t.Errorf("%d keys, %d in groups, %d folded, %d said to be lost", all, keys, folded, lost)
	}
}

// TestShareOfWords: by how many keys a word stays a name, among how many.
func TestShareOfWords(t *testing.T) {
	for words, want := range map[int]float64{0: 0, 12: .5, 24: 1, 240: 10, 960: 40, 961: 40, 1 << 30: 40} {
		if got := LeastKeys(words); got != want {
			t.Errorf("%d words: %v", words, got)
		}
	}
	type leads = map[string][]string
	repeat := func(n int, names ...string) leads {
		out := leads{}
		for i := range n {
			out[fmt.Sprintf("w%03d", i)] = names
		}
		return out
	}
	with := func(l leads, word string, names ...string) leads { l[word] = names; return l }
	for _, c := range []struct {
		name  string
		leads leads
		keys  int64 // of each word; of "big": 100 times as many
		want  int
	}{
		{"nothing", nil, 1, 0},
		{"seven that share three names", repeat(7, "a", "b", "c"), 1, 0},
		{"eight that share three names", repeat(8, "a", "b", "c"), 1, 8},
		{"eleven that share two", repeat(11, "a", "b"), 1000, 0},
		{"twelve that share two", repeat(12, "a", "b"), 1000, 12},
		{"one beside that leads elsewhere", with(repeat(12, "a", "b"), "x", "c", "d"), 1000, 12},
		{"one beside that has half of it", with(repeat(12, "a", "b"), "x", "a", "d"), 1000, 13},
		{"one beside that has a third of it", with(repeat(12, "a", "b"), "x", "a", "d", "e"), 1000, 12},
		{"one beside that leads to one of them, with many keys", with(repeat(12, "a", "b"), "x", "a"), 1000, 13},
		{"sixteen that lead to one name", repeat(16, "a"), 1, 0},
		{"eighteen, with one key each", repeat(18, "a"), 1, 0},
		{"nineteen, with one key each", repeat(19, "a"), 1, 19},
		{"forty, with eleven keys each", repeat(40, "a"), 11, 40},
		{"forty, with twelve keys each", repeat(40, "a"), 12, 0},
		{"a hundred, with forty keys each", repeat(100, "a"), 40, 0},
		{"a hundred, with 39 keys each", repeat(100, "a"), 39, 100},
		{"forty, and one that has many times their keys", with(repeat(40, "a"), "big", "a"), 2, 40},
		{"nineteen that lead to nothing", repeat(19), 1, 0},
	} {
		given := fmt.Sprint(c.leads)
		got := Tenants(c.leads, func(w string) int64 {
			if w == "big" {
				return 100 * c.keys
			}
			return c.keys
		})
		if len(got) != c.want || got["big"] || fmt.Sprint(c.leads) != given {
			t.Errorf("%s: %d", c.name, len(got))
		}
	}
}

// TestSeparators: by which byte a name is parted.
func TestSeparators(t *testing.T) {
	for name, want := range map[string]byte{
		"": 0, "a": 0, "a:b": ':', "a/b:c": ':', "a|b/c": '/', "a|b": '|', ":": ':', "a.b": 0, "a.b.c": '.',
		"conf.cdn.opt7": '.', "10.0.0.1": 0, "a.1.b": 0, "a.b.1": '.', ".a.b": 0, "a.b.": 0, "a..b": 0, "a.b c.d": 0,
		"a-b.c_d.e": '.', "a.b.c@d": 0, "a.b.c:d": ':', "\xff.b.c": 0, "ab1.cd.ef": 0,
	} {
		if got := SeparatorOf([]byte(name)); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// TestSlipsOfAllKinds: what is a slip, and what only looks like one.
func TestSlipsOfAllKinds(t *testing.T) {
	for segment, want := range map[string]bool{
		"null": true, "NULL": true, "Undefined": true, "<nil>": true, "[object Object]": true, "%v": true, "(null)": true,
		"nullx": false, "": false, "${user}": true, "${user.id}": true, "${}": false, "${1}": false, "{{id}}": true,
		"{{ id }}": false, "#{x}": true, "<user>": true, "<>": false, "{user_id}": true, "{userid}": false, "{uuid}": true,
		"{user.ID}": true, "{first_name}": true, "{name}": true, "{surname}": false, "{key}": true, "{id": false,
		"{a_id": false, "a_id}": false, "%(x)s": true, "%(x)": false, "%(x)d": false,
		"${" + strings.Repeat("a", 37) + "}": true, "${" + strings.Repeat("a", 38) + "}": false,
	} {
		if got := isSlip([]byte(segment)); got != want {
			t.Errorf("%q: %t", segment, got)
		}
		if literal := string(appendLiteral(nil, []byte(segment))); isSlipName(literal) != want {
			t.Errorf("%q: as a name of a pattern it is %t", literal, !want)
		}
	}
	for name, want := range map[string]string{
		"null": "", "a:null": "null", "null:a": "null", "a:b": "", "": "", "a|": EmptySegment, "a|b||c": EmptySegment,
		"a||b": "", "::a": "", ":::a": EmptySegment, "a/b/": "", "a//b/null": "null", "a::": EmptySegment, "a:": EmptySegment,
		":": EmptySegment, "a.b.null": "null", "x:null::": "null",
	} {
		if got := Slip([]byte(name)); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// TestShapesOfSegments: what becomes of the words within a segment, and of one that becomes a placeholder itself.
func TestShapesOfSegments(t *testing.T) {
	for segment, want := range map[string]string{
		strings.Repeat("a", 64): strings.Repeat("a", 64), strings.Repeat("a", 65): "{text}",
		"abc123": "abc{int}", "ab12": "ab12", "ab123": "{text}", "a123": "a123", "abcd": "abcd", "abc1x": "{text}",
		"v2-7": "v2-{int}", "a,b;c=7": "a,b;c={int}", "é1": "é1", "user 7": "user {int}", `a\b`: `a\\b`, "a{b}c": `a\{b\}c`,
		"aBcDeFgHiJkLmNoPqRsT": "{text}", "aBcDeFgHiJkLmNoPqRs": "aBcDeFgHiJkLmNoPqRs", "a@b": "a@b", "a@.b": "a@.b",
		"a@b.c": "{text}", "@b.c": "@b.c", "00": "{digits}", "-": "-", "--7": "--{int}", "9223372036854775807": "{int}",
		"9223372036854775808": "{digits}", "9999999999999": "{unix_ms}", "deadbeefdeadbeef": "deadbeefdeadbeef",
		"{{7}}": `\{\{{int}\}\}`, "{}": `\{\}`, "{": `\{`, "}": `\}`, "a}": `a\}`, "\x00": "{bytes}", "a\tb": "{bytes}",
		"utf8_x": "utf8_x", "sha256-7": "sha256-{int}",
	} {
		if got := string(appendName(nil, []byte(segment))); got != want {
			t.Errorf("%q: %s, want %s", segment, got, want)
		}
	}
	for name, want := range map[string]string{
		"abc": "{text}", "abc_{int}": "{text}_{int}", "{int}": "{int}", `a\{b{int}`: `{text}\{{text}{int}`,
		"a-b.c_{int}": "{text}-{text}.{text}_{int}", `{int}\`: `{int}\`, `\{a`: "{text}",
	} {
		if got := skeleton(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
	n := numbering{}
	for _, c := range [][3]string{{"{int}", "{int}", "{int}"}, {"a_{int}_{text}", "a_{int_2}_{text}", "{int_2}"},
		{`\{int\}`, `\{int\}`, ""}, {"{int}{int}", "{int_3}{int_4}", "{int_3}"}, {"x", "x", ""}, {"{x", "{x", ""},
		{`a\`, `a\`, ""}, {"{text}{x", "{text_2}{x", "{text_2}"}} {
		if got, first := n.number(c[0]); got != c[1] || first != c[2] {
			t.Errorf("%s: %s, first %s", c[0], got, first)
		}
	}
}

// TestDeepNames: of a name with very many segments the first ones are told apart, the rest is one.
func TestDeepNames(t *testing.T) {
	deep := func(n int) string { return strings.TrimSuffix(strings.Repeat("a:", n), ":") }
	same(t, listed(grown(deep(12), deep(13), deep(14), deep(15), deep(10_000))), deep(12)+" 1", deep(13)+" 1",
		deep(12)+":{rest} 3")
}

// TestFewAndMany: the children of a node are the same where they are in a list and where they are in a map.
func TestFewAndMany(t *testing.T) {
	for _, count := range []int{0, 1, 6, 7, 8, 40} {
		for kept := 0; kept <= count; kept += 3 {
			n := &node[counts]{}
			for i := range count {
				n.set(fmt.Sprintf("n%02d", count-1-i), &node[counts]{keys: int64(count - 1 - i)})
			}
			out := n.keep(func(name string, c *node[counts]) bool { return c.keys < int64(kept) })
			if len(out) != count-kept || len(n.sorted()) != kept {
				t.Fatalf("%d of %d: %d out, %d there", kept, count, len(out), len(n.sorted()))
			}
			for i, c := range n.sorted() {
				if name := fmt.Sprintf("n%02d", i); c.name != name || n.get([]byte(name)) != c.node || c.node.keys != int64(i) {
					t.Fatalf("%d of %d: the child %d is %s", kept, count, i, c.name)
				}
			}
			if n.get([]byte("none")) != nil || kept < count && n.get(fmt.Appendf(nil, "n%02d", kept)) != nil {
				t.Errorf("%d of %d: a child that is not there", kept, count)
			}
			n.set("new", &node[counts]{})
			if len(n.sorted()) != kept+1 || n.get([]byte("new")) == nil {
				t.Errorf("%d of %d: a new one is not there", kept, count)
			}
		}
	}
}
