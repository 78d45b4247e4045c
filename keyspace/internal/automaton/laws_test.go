package automaton

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

// TestSetsAreSets: each operation on sets of bytes is what it is on each byte, and changes neither of the two.
func TestSetsAreSets(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		draw := func(name string) Set {
			return Of(string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, name))).Union(
				Range(rapid.Byte().Draw(t, "lo"), rapid.Byte().Draw(t, "hi")))
		}
		a, b := draw("a"), draw("b")
		wasA, wasB := a, b
		any, union, minus, and := false, a.Union(b), a.Minus(b), a.And(b)
		for i := range 256 {
			c := byte(i)
			if union.Has(c) != (a.Has(c) || b.Has(c)) || minus.Has(c) != (a.Has(c) && !b.Has(c)) ||
				and.Has(c) != (a.Has(c) && b.Has(c)) || !All.Has(c) {
				t.Fatalf("byte %d", c)
			}
			any = any || a.Has(c)
		}
		if a.Empty() == any || any && !a.Has(a.Pick()) || a != wasA || b != wasB {
			t.Fatalf("%v is empty: %t, and its byte is %q", a, a.Empty(), a.Pick())
		}
	})
	if Range(5, 4) != (Set{}) || !(Set{}).Empty() || Range(0, 255) != All || Range(7, 7) != Of("\x07") {
		t.Error("ranges")
	}
	for text, want := range map[string]byte{"\xff\x00z": 'z', "b1a": 'a', "b1": '1', "\xff\x80\x7f": 0x7f, "": 0,
		"{:": ':', "Z9": '9', "\x00": 0} {
		if got := Of(text).Pick(); got != want {
			t.Errorf("of %q %q is picked", text, got)
		}
	}
}

// words lists all texts of a few letters that an expression matches.
func words(t testing.TB, e Expr, letters string, length int) (out []string) {
	t.Helper()
	d := dfa(t, e)
	level := []string{""}
	for n := 0; n <= length; n++ {
		var next []string
		for _, w := range level {
			if Match(d, w) {
				out = append(out, w)
			}
			for i := range len(letters) {
				next = append(next, w+letters[i:i+1])
			}
		}
		level = next
	}
	return out
}

// TestExpressions: what each expression matches, among all texts of at most four letters.
func TestExpressions(t *testing.T) {
	a, b, none := Literal("a"), Literal("b"), Expr{}
	for _, c := range []struct {
		name     string
		e        Expr
		want     string // divided by spaces; _ is the empty text
		nullable bool
	}{
		{"nothing", none, "", false}, {"the empty text", Epsilon, "_", true}, {"an empty literal", Literal(""), "_", true},
		{"a letter", a, "a", false}, {"a set", One(Of("ab")), "a b", false}, {"an empty set", One(Set{}), "", false},
		{"a sequence", Seq(a, b), "ab", false}, {"of one", Seq(a), "a", false}, {"no choice", Alt(), "", false},
		{"a choice", Alt(a, Seq(b, b)), "a bb", false}, {"one with the empty text", Alt(a, Epsilon), "_ a", true},
		{"optional", Optional(a), "_ a", true}, {"any number", Star(a), "_ a aa aaa aaaa", true},
		{"one or more", Plus(a), "a aa aaa aaaa", false},
		{"of what may be empty", Plus(Optional(a)), "_ a aa aaa aaaa", true},
		{"of nothing", Star(none), "_", true}, {"one or more of nothing", Plus(none), "", false},
		{"nothing in a sequence", Seq(a, none, b), "", false},
		{"nothing after an optional", Seq(Optional(a), none), "", false},
		{"nothing in a choice", Alt(none, b), "b", false}, {"nothing before more", Seq(none, Star(a)), "", false},
		{"twice", Repeat(a, 2, 2), "aa", false}, {"up to twice", Repeat(a, 0, 2), "_ a aa", true},
		{"two or three", Repeat(a, 2, 3), "aa aaa", false}, {"two or more", Repeat(a, 2, -1), "aa aaa aaaa", false},
		{"never", Repeat(a, 0, 0), "_", true}, {"any", Repeat(a, 0, -1), "_ a aa aaa aaaa", true},
		{"a repeated sequence", Repeat(Seq(a, Optional(b)), 1, 2), "a aa ab aab aba abab", false},
		{"two optional ones", Seq(Optional(a), Optional(b), a), "a aa ba aba", false},
		{"without a letter", Star(One(Of("ab"))).Without(Of("b")), "_ a aa aaa aaaa", true},
		{"a literal without one of its own", Literal("ab").Without(Of("b")), "", false},
		{"without another", Literal("ab").Without(Of("x")), "ab", false},
		{"a choice without", Alt(Literal("ab"), Literal("aa")).Without(Of("b")), "aa", false},
		{"tagged", Alt(a, Seq(b, b)).Tagged(5), "a bb", false},
	} {
		before := c.e.String()
		got := words(t, c.e, "ab", 4)
		for i, w := range got {
			if w == "" {
				got[i] = "_"
			}
		}
		if strings.Join(got, " ") != c.want || c.e.Nullable() != c.nullable {
			t.Errorf("%s: %q, empty %t", c.name, got, c.e.Nullable())
		}
		_, _ = c.e.Tagged(3), c.e.Without(Of("a"))
		if c.e.String() != before {
			t.Errorf("%s was changed", c.name)
		}
		text, ok := Shortest(dfa(t, c.e))
		first := strings.ReplaceAll(strings.Split(c.want, " ")[0], "_", "")
		if ok != (c.want != "") || len(text) != len(first) {
			t.Errorf("%s: the shortest is %q %t", c.name, text, ok)
		}
	}
	if got := Seq(Literal("ab"), One(Of("cd")), Star(Literal("x"))).Bytes(); got != Of("abcdx") {
		t.Errorf("the bytes are %v", got)
	}
}

// TestTexts: the text of an expression is that of no other one.
func TestTexts(t *testing.T) {
	list := []Expr{{}, Epsilon, Literal("a"), Literal("ab"), One(Of("a")), One(Of("b")), One(Of("a")).Tagged(1),
		Literal("a").Tagged(1), Seq(Literal("a")), Alt(Literal("a")), Star(Literal("a")), Plus(Literal("a")),
		Seq(Literal("a"), Literal("b")), Seq(Seq(Literal("a")), Literal("b")), Alt(Epsilon), Alt()}
	seen := map[string]int{}
	for i, e := range list {
		if j, twice := seen[e.String()]; twice {
			t.Errorf("%d and %d are %s", j, i, e)
		}
		seen[e.String()] = i
	}
	if text := "ab"; Literal(text[:1]).String() != Literal("a").String() {
		t.Error("one expression has two texts")
	}
}

// TestAutomataAgree: the position automaton, its subsets and the DFA read each text alike, and what two DFAs have in
// common or apart is what trying all short texts says: the shortest.
func TestAutomataAgree(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		draw := func(name string) Expr {
			e, err := FromRegexp(rapid.StringMatching(`(a|b|\[ab\]|a\*|b\?|\(ab\)\+|\(a\|b\)\*){1,4}`).Draw(rt, name))
			if err != nil {
				rt.Fatal(err)
			}
			return e
		}
		e, f := draw("e"), draw("f")
		n, err := Compile(e)
		if err != nil {
			rt.Fatal(err)
		}
		d, other := dfa(t, e), dfa(t, f)
		common, outside := "-", "-"
		level := []string{""}
		for range 6 {
			var next []string
			for _, w := range level {
				states := []int32{0}
				for i := range len(w) {
					states = n.Step(states, w[i])
				}
				final := slices.ContainsFunc(states, func(s int32) bool { return n.Final[s] })
				if final != Match(d, w) || final != Match(d, []byte(w)) {
					rt.Fatalf("%q: %t by the positions", w, final)
				}
				in := Match(other, w)
				if final && in && common == "-" {
					common = w
				}
				if final && !in && outside == "-" {
					outside = w
				}
				next = append(next, w+"a", w+"b")
			}
			level = next
		}
		for name, c := range map[string]struct {
			want string
			find func(a, b *DFA) ([]byte, bool)
		}{"in common": {common, Common}, "outside": {outside, Outside}} {
			got, ok := c.find(d, other)
			if ok && (!Match(d, got) || Match(other, got) != (name == "in common")) ||
				c.want != "-" && (!ok || len(got) != len(c.want)) || c.want == "-" && ok && len(got) < 6 {
				rt.Fatalf("%s: %q %t, and trying finds %q", name, got, ok, c.want)
			}
		}
		budget := math.MaxInt
		got, found, decided := DifferenceWithin(&budget, []*DFA{d}, []*DFA{other})
		if want, ok := Outside(d, other); !decided || found != ok || len(got) != len(want) || budget >= math.MaxInt {
			rt.Fatalf("the difference is %q %t %t, and outside is %q %t", got, found, decided, want, ok)
		}
	})
}

// TestAmbiguousTexts: the shortest text that can be read in two ways, by the parts that are tagged.
func TestAmbiguousTexts(t *testing.T) {
	ab := One(Of("ab"))
	for _, c := range []struct {
		name  string
		parts []Expr
		want  string // "-": none
	}{
		{"one part", []Expr{Star(ab)}, "-"}, {"two of any length", []Expr{Plus(ab), Plus(ab)}, "aaa"},
		{"both may be empty", []Expr{Star(ab), Star(ab)}, "a"}, {"a fixed length first", []Expr{ab, Plus(ab)}, "-"},
		{"a fixed length last", []Expr{Plus(ab), ab}, "-"},
		{"a literal between", []Expr{Plus(ab), Literal("-"), Plus(ab)}, "-"},
		{"one that both hold", []Expr{Plus(ab), Literal("a"), Plus(ab)}, "aaaa"},
		{"one of two or three", []Expr{Repeat(ab, 1, 2), Repeat(ab, 1, 2)}, "aaa"},
		{"apart by letters", []Expr{Plus(Literal("a")), Plus(Literal("b"))}, "-"},
		{"an optional literal", []Expr{Optional(Literal("a")), Literal("a"), Star(Literal("b"))}, "-"},
		{"nothing between", []Expr{Plus(ab), {}, Plus(ab)}, "-"},
	} {
		parts := make([]Expr, len(c.parts))
		for i, p := range c.parts {
			parts[i] = p.Tagged(i)
		}
		n, err := Compile(Seq(parts...))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := n.Ambiguous()
		if ok != (c.want != "-") || ok && len(got) != len(c.want) || ok && !Match(dfa(t, Seq(c.parts...)), got) {
			t.Errorf("%s: %q %t, want %q", c.name, got, ok, c.want)
		}
	}
	// Two readings of one part are one.
	n, err := Compile(Alt(Seq(ab, ab), Seq(ab, ab)).Tagged(0))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := n.Ambiguous(); ok {
		t.Errorf("%q", got)
	}
}

// TestBounds: what each bound says, at it and beyond it.
func TestBounds(t *testing.T) {
	too := func(err error, want string) {
		t.Helper()
		var large *TooLargeError
		if !errors.As(err, &large) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	most := make([]Expr, 200)
	for i := range most {
		most[i] = Literal(strings.Repeat("x", MaxPositions/200))
	}
	if n, err := Compile(Seq(most...)); err != nil || len(n.Sets) != MaxPositions+1 {
		t.Errorf("the most positions: %v", err)
	}
	_, err := Compile(Seq(append(most, Literal("y"))...))
	too(err, "needs more than 20000 automaton positions")
	_, err = Compile(Alt(append(most, Literal("y"))...))
	too(err, "needs more than 20000 automaton positions")
	_, err = Compile(Star(Literal(strings.Repeat("y", MaxPositions+1))))
	too(err, "needs more than 20000 automaton positions")
	wide := make([]Expr, 3000) // each may be followed by each
	for i := range wide {
		wide[i] = Optional(One(All))
	}
	_, err = Compile(Seq(wide...))
	too(err, "needs more than 4000000 automaton steps")
	budget := 100
	e, f := dfa(t, Star(One(Of("a")))), dfa(t, Seq(Star(One(Of("a"))), Repeat(One(Of("a")), 300, 300)))
	if _, found, decided := DifferenceWithin(&budget, []*DFA{f}, nil); found || decided || budget > 0 {
		t.Errorf("found %t, decided %t, %d left", found, decided, budget)
	}
	budget = 10_000
	w, found, decided := DifferenceWithin(&budget, []*DFA{e, f}, nil)
	if !found || !decided || len(w) != 300 || budget < 0 {
		t.Errorf("%d, found %t, decided %t, %d left", len(w), found, decided, budget)
	}
}

// TestRegexpsInFull: expressions of every operator, with what they match and do not, and what is refused, in words.
func TestRegexpsInFull(t *testing.T) {
	for _, c := range []struct {
		re      string
		in, out []string
	}{
		{"", []string{""}, []string{"a"}}, {"abc", []string{"abc"}, []string{"ab", "abcd", "ABC"}},
		{"(?i)ab", []string{"ab", "aB", "AB"}, []string{"abc"}},
		{"(?i)k", []string{"k", "K", "\u212a"}, []string{"\u212b"}},
		{"a.c", []string{"abc", "a가c", "a\xc2\x80c"}, []string{"a\nc", "ac", "a\xffc"}}, {"(?s)a.c", []string{"a\nc"}, nil},
		{"[^a-c]", []string{"d", "é", "\n"}, []string{"a", "", "dd", "\x80"}},
		{`\d{2,3}`, []string{"12", "123"}, []string{"1", "1234"}},
		{`\pL+`, []string{"aé가"}, []string{"1", ""}}, {"^a$", []string{"a"}, []string{"aa"}},
		{`\Aa\z`, []string{"a"}, []string{""}},
		{"a|", []string{"a", ""}, []string{"b"}}, {"(a)(?:b)(?P<n>c)", []string{"abc"}, []string{"ab"}},
		{"a*?b+?c??", []string{"b", "aabbc"}, []string{"a", "bcc"}}, {"x{0}", []string{""}, []string{"x"}},
		{"x{2,}", []string{"xx", "xxxxx"}, []string{"x"}}, {`[^\x00-\x{10FFFF}]`, nil, []string{"", "a"}},
		{`[\x{7f}-\x{80}]`, []string{"\x7f", "\u0080"}, []string{"\x80", "\u0081"}},
		{`[\x{ffff}-\x{10000}]`, []string{"\uffff", "\U00010000"}, []string{"\ufffe", "\U00010001"}},
		{`[\x{d7ff}-\x{e000}]`, []string{"\ud7ff", "\ue000"}, []string{"\xed\xa0\x80", "\xed\xbf\xbf"}},
		{"가나|다", []string{"가나", "다"}, []string{"가", "가다"}},
		{`\x{10FFFF}`, []string{"\U0010ffff"}, []string{"\xf4\x90\x80\x80"}},
	} {
		e, err := FromRegexp(c.re)
		if err != nil {
			t.Errorf("%s: %v", c.re, err)
			continue
		}
		d := dfa(t, e)
		for want, list := range map[bool][]string{true: c.in, false: c.out} {
			for _, text := range list {
				if Match(d, text) != want {
					t.Errorf("/%s/ on %q: %t", c.re, text, !want)
				}
			}
		}
	}
	for re, want := range map[string]string{
		`a\b`:    `\b has no meaning here: the expression always covers the whole value`,
		`\Ba`:    `\B has no meaning here: the expression always covers the whole value`,
		"(?m)^a": "(?m:^) has no meaning here: the expression always covers the whole value",
		"(":      "error parsing regexp: missing closing ): `(`",
		"(?=a)":  "error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		"a**":    "error parsing regexp: invalid nested repetition operator: `**`",
	} {
		if _, err := FromRegexp(re); err == nil || err.Error() != want {
			t.Errorf("/%s/: %v", re, err)
		}
	}
}

// TestRangesOfCharacters: a class of two ends holds the characters between them, in UTF-8, and nothing else of at most
// four bytes near the ends.
func TestRangesOfCharacters(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		runes := rapid.OneOf(rapid.Int32Range(0, utf8.MaxRune), rapid.Int32Range(0x70, 0x90), rapid.Int32Range(0x7f0, 0x810),
			rapid.Int32Range(0xd7f0, 0xe010), rapid.Int32Range(0xfff0, 0x10010))
		lo, hi := runes.Draw(rt, "lo"), runes.Draw(rt, "hi")
		lo, hi = min(lo, hi), max(lo, hi)
		e, err := FromRegexp(fmt.Sprintf(`[\x{%x}-\x{%x}]`, lo, hi))
		if err != nil {
			rt.Fatal(err)
		}
		d := dfa(t, e)
		for _, at := range []rune{lo, hi, lo + (hi-lo)/2, 0, utf8.MaxRune} {
			for r := at - 3; r <= at+3; r++ {
				if utf8.ValidRune(r) && Match(d, string(r)) != (lo <= r && r <= hi) {
					rt.Fatalf("[%U-%U]: %U is %t", lo, hi, r, Match(d, string(r)))
				}
			}
		}
		if text := rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(rt, "bytes"); !utf8.Valid(text) && Match(d, text) {
			rt.Fatalf("[%U-%U] holds %q", lo, hi, text)
		}
	})
}
