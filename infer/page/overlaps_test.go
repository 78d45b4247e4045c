package page

import (
	"fmt"
	"slices"
	"testing"

	"github.com/keywright/keywright/infer/page/internal/mention"
)

// TestPartsOfPatterns: a pattern is parted at the colons outside of its placeholders; a hash tag and a brace that is
// written with \ are no placeholders.
func TestPartsOfPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"":               "0 0 []",
		"a":              "0 1 [a]",
		"a:b":            "1 3 [a b]",
		"user:{id}:x":    "2 7 [user {id} x]",
		"{id}":           "0 0 [{id}]",
		"a:{x}-{y}b":     "1 4 [a {x}-{y}b]",
		"{#user:{id}}:x": "2 10 [{#user {id}} x]",
		`a:\{b:c`:        "2 7 [a \\{b c]",
		"a:{b:c}:d":      "2 4 [a {b:c} d]",
		"a:{b":           "1 2 [a {b]",
		"a::b":           "2 4 [a  b]",
	} {
		if got := fmt.Sprintf("%d %d %s", segments(pattern), countLiteral(pattern), parts(pattern)); got != want {
			t.Errorf("%s: %s, and not %s", pattern, got, want)
		}
	}
	for segment, want := range map[string][2]string{
		"": {"", ""}, "a": {"a", "a"}, "{x}": {"", ""}, "a{x}b": {"a", "b"}, "a{x}-{y}b": {"a", "b"}, "{x}b": {"", "b"},
	} {
		if before, after := fixed(segment); before != want[0] || after != want[1] {
			t.Errorf("%s: %q and %q", segment, before, after)
		}
	}
}

// TestMayMeet: two patterns do not meet where a segment tells them apart, or if one has more; what cannot be told
// may.
func TestMayMeet(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a:b", "a:b", true}, {"a:b", "a:c", false}, {"a:b", "a:b:c", false}, {"a:{x}", "a:b", true},
		{"a:{x}", "b:{x}", false},
		{"a:b{x}", "a:c{y}", false}, {"a:b{x}", "a:bc{y}", true}, {"a:{x}b", "a:{y}c", false},
		{"a:{x}b", "a:{y}cb", true},
		{"a:b{x}", "a:{y}c", true}, {"a:{x}b", "a:cd", false}, {"a:{x}b", "a:cb", true}, {"{#a}:{x}", "b:{x}", true},
		{`\{a:{x}`, "b:{x}", true},
	} {
		if got := mayMeet(c.a, c.b); got != c.want || mayMeet(c.b, c.a) != got {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// TestDropOverlaps: of two keys that a name may be of the one that says less is dropped, whichever is first; one that
// is a part of the other stays, and so does one that no types can read.
func TestDropOverlaps(t *testing.T) {
	for _, c := range []struct{ keys, want []string }{
		{nil, nil}, {[]string{"a:{x}", "a:b"}, []string{"a:{x}", "a:b"}}, {[]string{"a:{x}", "a:{y}"}, []string{"a:{x}"}},
		{[]string{"a:{x}:b", "a:c:{y}"}, []string{"a:{x}:b"}}, {[]string{"a:{x}:b", "a:cc:{y}"}, []string{"a:cc:{y}"}},
		{[]string{"a:{x}:b", "a:c:{y}", "a:d:{y}"}, []string{"a:{x}:b"}},
		{[]string{"a:c:{y}", "a:{x}:bb", "a:d:{y}"}, []string{"a:{x}:bb"}},
		{[]string{"a:{x", "a:{x"}, []string{"a:{x", "a:{x"}}, {[]string{"a:{x}", "b:{x}"}, []string{"a:{x}", "b:{x}"}},
	} {
		var keys []Key
		for i, p := range c.keys {
			keys = append(keys, Key{Pattern: p, Line: i + 1})
		}
		col := &collector{List: &mention.List{}}
		var got []string
		for _, k := range col.dropOverlaps(keys) {
			got = append(got, k.Pattern)
		}
		if !slices.Equal(got, c.want) || len(col.Passed) != len(c.keys)-len(c.want) {
			t.Errorf("%q: %q, and not %q; passed over: %v", c.keys, got, c.want, col.Passed)
		}
	}
}

// TestSentences: a line that names two keys is parted at its stops, but not at those within code; of the lines around
// one only what belongs to its sentences is read with it.
func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          {""},
		"a. b":                      {"a. b"},
		"`a` b. `c` d":              {"`a` b. ", "`c` d"},
		"`a. b` c; `d`":             {"`a. b` c; ", "`d`"},
		"`a`。`b`！c":                 {"`a`。", "`b`！", "c"},
		"`a` e.g.`b` 1.5 and `c`.x": {"`a` e.g.`b` 1.5 and `c`.x"},
	} {
		if got := sentences(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
	}
	lines := []string{"One. The hash", "`a:{b}` lives", "2 h. More"}
	for i, want := range []string{"One. The hash", "The hash `a:{b}` lives 2 h.", "2 h. More"} {
		if got := wholeSentences(lines, i, lines[i]); got != want {
			t.Errorf("line %d: %q, and not %q", i, got, want)
		}
	}
	for _, c := range []struct{ above, line, below, want string }{
		{"the `x`", "`a` is", "`y`", "`a` is"}, {"| a |", "`a` is", "# b", "`a` is"}, {"", "`a` is", " ", "`a` is"},
		{"a b", "- `a` is", "- c", "- `a` is"}, {"x", "`a` is.", "y", "x `a` is."},
	} {
		if got := wholeSentences([]string{c.above, c.line, c.below}, 1, c.line); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := sentenceOf("One. A `k` b. Two.", "`k`"); got != "A `k` b. " {
		t.Errorf("%q", got)
	}
}
