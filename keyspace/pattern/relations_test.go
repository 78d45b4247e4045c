package pattern

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace/scalar"
	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

func glob(t testing.TB, text string) *Pattern {
	t.Helper()
	p, err := Glob(text)
	if err != nil {
		t.Fatalf("Glob(%q): %v", text, err)
	}
	return p
}

// read is a pattern, or after "glob " a glob.
func read(t testing.TB, text string) *Pattern {
	t.Helper()
	if rest, ok := strings.CutPrefix(text, "glob "); ok {
		return glob(t, rest)
	}
	return parse(t, text)
}

// TestBuildInFull: the key of values, and the whole error of those that are refused.
func TestBuildInFull(t *testing.T) {
	const brace = "holds a brace, which would move the key to another cluster slot"
	def := func(name string) (scalar.Type, bool) {
		typ, ok := resolve(name)
		if name == "e" {
			typ.Default = "normal"
		}
		return typ, ok
	}
	for _, c := range []struct {
		text   string
		values []string
		want   string
	}{
		{"a:{x}:{n}", []string{"b c", "-7"}, "a:b c:-7"},
		{"a", nil, "a"},
		{"a:{e}", []string{""}, "a:normal"},
		{"a:{e}", []string{"low"}, "a:low"},
		{"a:{rest}", []string{":b:"}, "a::b:"},
		{`\{{x}\}:{t3}`, []string{"v", "{}x"}, "{v}:{}x"},
		{"a:{x}", nil, `value "" for {} cannot be used: a:{x} takes 1 values, got 0`},
		{"a:{x}", []string{"b", "c"}, `value "" for {} cannot be used: a:{x} takes 1 values, got 2`},
		{"glob a*", nil, `value "" for {} cannot be used: a* takes 0 values, got 0`},
		{"a:{x}", []string{""}, `value "" for {x} is empty`},
		{"a:{n}", []string{""}, `value "" for {n} is empty`},
		{"a:{x}", []string{":"}, `value ":" for {x} holds the separator ':'`},
		{"a:{n}", []string{"1:2"}, `value "1:2" for {n} holds the separator ':'`},
		{"a:{ts}", []string{"1:2"}, `value "1:2" for {ts} is not an RFC 3339 timestamp`},
		{"a:{t3}", []string{"abcd"}, `value "abcd" for {t3} is not text of at most 3 bytes`},
		{"a:{e}", []string{"\xff"}, `value "\xff" for {e} is not one of high, normal, low`},
		{"{#{x}}:{n}", []string{"a{", "x"}, `value "a{" for {x} ` + brace},
		{"{#{x}}:{n}", []string{"a}", "1"}, `value "a}" for {x} ` + brace},
		{"{x}:{#a}:{n}", []string{"{", "1"}, `value "{" for {x} ` + brace},
		{"{#{x}}:{n}", []string{"a", "x"}, `value "x" for {n} is not an integer`},
	} {
		var p *Pattern
		if strings.HasPrefix(c.text, "glob ") {
			p = read(t, c.text)
		} else {
			p = MustParse(c.text, def)
		}
		values := slices.Clone(c.values)
		got, err := p.Build(c.values...)
		if err != nil {
			got = []byte(err.Error())
			var refused *ValueError
			if !errors.As(err, &refused) {
				t.Errorf("%s: %T", c.text, err)
			}
		} else if onto, err := p.AppendBuild([]byte("x"), c.values...); err != nil || string(onto) != "x"+c.want {
			t.Errorf("%s: %q is appended, %v", c.text, onto, err)
		}
		if string(got) != c.want || !slices.Equal(values, c.values) {
			t.Errorf("%s of %q: %s", c.text, c.values, got)
		}
	}
}

// TestWithout: a placeholder goes with one separator beside it, and nothing else does.
func TestWithout(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"a:{x}:b", "x", "a:b"}, {"{x}:b", "x", "b"}, {"a:{x}", "x", "a"}, {"a{x}b", "x", "ab"}, {"{x}", "x", "{x}"},
		{"a:{x}", "y", "a:{x}"}, {"{n}:{x}", "n", "{x}"}, {"a:{#{x}}", "x", "a:{#{x}}"}, {"{#{x}:{n}}", "x", "{#{n}}"},
		{"{x}{n}", "n", "{x}{n}"}, {"{n}-{x}", "x", "{n}-"}, {"::{x}::", "x", ":::"},
	} {
		p, err := Parse(c.text, resolve)
		if err != nil {
			if c.text != "{x}{n}" {
				t.Error(err)
			}
			continue
		}
		got := p.Without(c.name)
		if got.String() != c.want || c.text == c.want && got != p {
			t.Errorf("%s without %s: %s", c.text, c.name, got)
		}
		for _, place := range got.Placeholders() {
			if want, _ := resolve(place.Name); place.Type.Definition() != want.Definition() {
				t.Errorf("%s without %s: {%s} is %s", c.text, c.name, place.Name, place.Type)
			}
		}
	}
}

// TestHasAndSpan: which elements hold some of the placeholders.
func TestHasAndSpan(t *testing.T) {
	p := parse(t, "a:{x}:{n}-{m}:b")
	for _, c := range []struct {
		names       []string
		first, last int
	}{
		{nil, -1, -1}, {[]string{"z"}, -1, -1}, {[]string{"x"}, 1, 1}, {[]string{"m"}, 5, 5},
		{[]string{"m", "x"}, 1, 5}, {[]string{"n", "z"}, 3, 3}, {[]string{"x", "n", "m"}, 1, 5},
	} {
		if first, last := p.Span(c.names...); first != c.first || last != c.last {
			t.Errorf("%q: %d to %d", c.names, first, last)
		}
	}
	if !p.Has("m") || p.Has("z") || p.Has("") || p.Has("M") {
		t.Error("Has")
	}
}

// TestAfter: the rest of a pattern has the keys of the pattern less their first bytes, and the pattern stays as it is.
func TestAfter(t *testing.T) {
	p := parse(t, "ab:{n}:c")
	for n, want := range []string{`"ab:" n(int)@3 ":c"`, `"b:" n(int)@3 ":c"`, `":" n(int)@3 ":c"`, `n(int)@3 ":c"`} {
		rest := p.After(n)
		if got := shape(rest); got != want || rest.String() != "ab:{n}:c" {
			t.Errorf("after %d: %s", n, got)
		}
		if witness, ok := Overlap(rest, parse(t, "ab:{n}:c"[n:])); !ok || len(witness) != 6-n {
			t.Errorf("after %d: %q", n, witness)
		}
	}
	if got := shape(p); got != `"ab:" n(int)@3 ":c"` {
		t.Errorf("the pattern is now %s", got)
	}
	if p.After(0) != p {
		t.Error("after nothing")
	}
	if rest := glob(t, "ab*").After(2); !rest.IsGlob() || shape(rest) != "wild!" {
		t.Errorf("a glob: %s", shape(rest))
	}
	if rest := parse(t, "ab").After(2); !rest.matches(nil) || rest.matches([]byte("a")) {
		t.Error("after all of it the empty text is left")
	}
}

// TestLanguages: patterns have one language exactly if their keys are the same by their types, whatever the names.
func TestLanguages(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"a:{x}", "a:{y}", true}, {"a:{x}", "a:{n}", false}, {"a:{x}", "a:{t3}", false}, {"a", `\x61`, true},
		{"{#{x}}", `\{{x}\}`, true}, {"glob a*", "glob a**", true}, {"glob [ab]", "glob [ba]", true},
		{"glob [ab]", "glob [ac]", false}, {"glob ?", "glob *", false}, {"a:{x}", "{#a}:{x}", false},
		{"{x}:{#a}", "{x}:a", false}, {"glob a", "a", true}, {"glob a?", "glob a[^]", true},
	} {
		a, b := read(t, c.a), read(t, c.b)
		if same := a.Language() == b.Language(); same != c.same {
			t.Errorf("%s: %s\n%s: %s", c.a, a.Language(), c.b, b.Language())
		}
		if key, inside := Contains(a, b); c.same && !inside {
			t.Errorf("%s and %s are told apart by %q", c.a, c.b, key)
		}
	}
}

// TestUnion: what several patterns cover together, and the shortest key that they do not.
func TestUnion(t *testing.T) {
	for _, c := range []struct {
		union []string
		in    string
		key   string // "" if all are in it
	}{
		{[]string{"a:{n}", "a:{x}"}, "a:{u}", ""},
		{[]string{"a:{n}"}, "a:{x}", "a:a"},
		{[]string{"a:{n}", "glob a:[^-0-9]*"}, "a:{n}", ""},
		{[]string{"glob [a-m]*", "glob [n-z]*"}, "{re}", ""},
		{[]string{"glob [a-m]*", "glob [o-z]*"}, "n{n}", "n1"},
		{nil, "a", "a"},
	} {
		var list []*Pattern
		for _, text := range c.union {
			list = append(list, read(t, text))
		}
		u, err := Join(list...)
		if err != nil {
			t.Fatal(err)
		}
		key, ok := u.Contains(read(t, c.in))
		if string(key) != c.key || ok != (c.key == "") {
			t.Errorf("%s in %q: %q %t", c.in, c.union, key, ok)
		}
	}
	// Each of many patterns begins with another letter; the union of all is too large.
	var list []*Pattern
	for i := range 25 {
		list = append(list, MustParse(strings.Repeat("x", 950)+string(rune('a'+i)), nil))
	}
	if u, err := Join(list...); err == nil || err.Error() != "needs more than 20000 automaton positions" || u != nil {
		t.Errorf("%v %v", u, err)
	}
}

// TestWitness: a key of all patterns of one list and of none of the other; where literals show that there is none
// nothing of the budget is used.
func TestWitness(t *testing.T) {
	for _, c := range []struct {
		within, without []string
		key             string
	}{
		{[]string{"a:{x}"}, nil, "a:a"},
		{[]string{"a:{x}", "a:{n}"}, nil, "a:1"},
		{[]string{"a:{x}", "a:{t3}"}, []string{"glob a:?", "glob a:??"}, "a:aaa"},
		{[]string{"a:{x}", "b:{x}"}, nil, ""},
		{[]string{"a:{n}"}, []string{"a:{x}"}, ""},
		{[]string{"a:{n}", "a:{e}"}, nil, ""},
	} {
		list := func(texts []string) (out []*Pattern) {
			for _, text := range texts {
				out = append(out, read(t, text))
			}
			return out
		}
		key, found, decided := Witness(list(c.within), list(c.without))
		if len(key) != len(c.key) || found != (c.key != "") || !decided {
			t.Errorf("%q without %q: %q %t %t", c.within, c.without, key, found, decided)
		}
	}
	budget := 1000
	if _, found, decided := WitnessWithin(&budget, []*Pattern{parse(t, "a:{x}"), parse(t, "b:{x}")}, nil); found ||
		!decided || budget != 1000 {
		t.Errorf("apart: %t %t, %d left", found, decided, budget)
	}
	if _, found, _ := WitnessWithin(&budget, []*Pattern{parse(t, "a:{x}"), parse(t, "a:{n}")}, nil); !found ||
		budget >= 1000 || budget < 900 {
		t.Errorf("together: %t, %d left", found, budget)
	}
	none := 0
	if _, found, decided := WitnessWithin(&none, []*Pattern{parse(t, "aa:{x}")}, nil); found || decided {
		t.Error("decided without a budget")
	}
	most := math.MaxInt
	if _, found, decided := WitnessWithin(&most, []*Pattern{parse(t, "aa:{x}")}, nil); !found || !decided {
		t.Error("not decided with the largest budget")
	}
}

// TestIndex: an index meets each pattern that has a key in common with another, keeps the order of those that begin
// alike, and leaves out what begins otherwise. Its list is not changed.
func TestIndex(t *testing.T) {
	texts := []string{"user:{x}", "{x}", "user:a", "use{n}", "order:{x}", "user:{n}", "u", "glob *", "user:a:{x}", "users"}
	given := slices.Clone(texts)
	x := NewIndex(texts, func(text string) *Pattern { return read(t, text) })
	if !slices.Equal(texts, given) {
		t.Errorf("the list is now %q", texts)
	}
	for text, want := range map[string][]string{
		"user:{x}": {"{x}", "glob *", "u", "use{n}", "user:{x}", "user:{n}", "user:a", "user:a:{x}"},
		"use":      {"{x}", "glob *", "u", "use{n}", "user:{x}", "user:{n}", "user:a", "user:a:{x}", "users"},
		"o{x}":     {"{x}", "glob *", "order:{x}"},
		"v":        {"{x}", "glob *"},
		"{y}": {"{x}", "glob *", "order:{x}", "u", "use{n}", "user:{x}", "user:{n}", "user:a", "user:a:{x}",
			"users"},
	} {
		if got := x.Meet(read(t, text)); !slices.Equal(got, want) {
			t.Errorf("%s meets %q", text, got)
		}
	}
	if got := NewIndex(nil, func(p *Pattern) *Pattern { return p }).Meet(parse(t, "a")); got != nil {
		t.Errorf("nothing: %v", got)
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		var list []*Pattern
		for range rapid.IntRange(0, 8).Draw(t, "patterns") {
			list = append(list, genPattern(t))
		}
		p := genPattern(t)
		met := NewIndex(list, func(p *Pattern) *Pattern { return p }).Meet(p)
		for _, q := range list {
			if key, common := Overlap(p, q); common && !slices.Contains(met, q) {
				t.Fatalf("%s does not meet %s, and %q is of both", p, q, key)
			}
		}
	})
}

// TestTables: the automaton of a placeholder takes what Build takes, that of a literal is none.
func TestTables(t *testing.T) {
	values := []string{"", "a", "a{", "}", "a:b", "12", "-1", "007", "high", "abcd", "\xff", "2024-02-29", "2023-02-29"}
	for _, text := range []string{"x:{x}", "x:{rest}", "x:{#{x}}", "x:{#{b}}:{b2}", "x:{n}", "x:{m}", "x:{e}", "x:{t3}",
		"x:{day}", "{#{re}}x"} {
		p := parse(t, text)
		for _, e := range p.Elements() {
			if e.Placeholder != 0 {
				if e.Placeholder < 0 && e.Table() != nil {
					t.Errorf("%s: %q has a table", text, e.Literal)
				}
				continue
			}
			table := e.Table()
			for _, value := range values {
				with := []string{value}
				if len(p.Placeholders()) == 2 {
					with = append(with, "z")
				}
				if _, err := p.Build(with...); table.Accepts(value) != (err == nil) {
					t.Errorf("%s: %q is accepted: %t, and Build says %v", text, value, table.Accepts(value), err)
				}
			}
		}
	}
	typ, _ := resolve("re")
	lang, err := typ.Key()
	if err != nil {
		t.Fatal(err)
	}
	if table := TableOf(lang); !table.Accepts("abc") || table.Accepts("abd") || table.Accepts("") || table.Width < 2 ||
		len(table.Next) != table.Width*len(table.Final) {
		t.Error("the table of a language")
	}
}

// TestExamples: an example is a key of its pattern, of a glob too, and where the values of the types do not fit.
func TestExamples(t *testing.T) {
	for text, want := range map[string]string{"a:{n}:{u}": "a:42:01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f", "{t3}": "abc",
		"glob a*[0-9]?": "a1a", "glob *": "", "{#{day}}": "{2026-11-20}", "a:{m}-{e}": "a:1-low"} {
		p := read(t, text)
		if got := string(p.Example()); !p.matches([]byte(got)) || len(got) != len(want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	braces := MustParse("{#{x}}", func(string) (scalar.Type, bool) {
		typ, err := scalar.Parse("{a|{b|c", nil)
		return typ, err == nil
	})
	if got := string(braces.Example()); got != "{c}" {
		t.Errorf("%q", got)
	}
}
