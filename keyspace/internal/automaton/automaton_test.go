package automaton

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

func dfa(t interface{ Fatal(...any) }, e Expr) *DFA {
	n, err := Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Determinize(n)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// genRegexp draws expressions over a small alphabet, with characters of one to
// four bytes.
func genRegexp(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{"a", "b", "[ab]", "[^a]", ".", "é", "[à-é]", "가", "[一-龥]", "😀", "(?i)k", ""}).Draw(
			t, "leaf")
	}
	sub := func(name string) string { return "(?:" + genRegexp(t, depth-1) + ")" }
	switch rapid.IntRange(0, 5).Draw(t, "op") {
	case 0:
		return sub("l") + sub("r")
	case 1:
		return sub("l") + "|" + sub("r")
	case 2:
		return sub("s") + "*"
	case 3:
		return sub("s") + "+"
	case 4:
		return sub("s") + "{1,2}"
	}
	return sub("s") + "?"
}

// genText draws valid UTF-8: Go's regexp reads invalid bytes as U+FFFD, ours
// does not match them.
func genText(t *rapid.T) string {
	return strings.Join(
		rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "é", "가", "😀", "K", "\u212a", "一"}), 0, 5).Draw(t,
			"text"), "")
}

func TestAgreesWithGoRegexp(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		re := genRegexp(t, rapid.IntRange(0, 3).Draw(t, "depth"))
		e, err := FromRegexp(re)
		if err != nil {
			t.Fatal(err)
		}
		d, want := dfa(t, e), regexp.MustCompile(`^(?:`+re+`)$`)
		for range 10 {
			if text := genText(t); Match(d, text) != want.MatchString(text) {
				t.Fatalf("/%s/ on %q: ours %v", re, text, Match(d, text))
			}
		}
		if text, ok := Shortest(d); ok && utf8.Valid(text) && !want.Match(text) {
			t.Fatalf("/%s/: the shortest text %q does not match", re, text)
		}
		if e.Nullable() != want.MatchString("") {
			t.Fatalf("/%s/: Nullable = %v", re, e.Nullable())
		}
	})
}

func TestEveryRuneOfARangeAndNoOther(t *testing.T) {
	e, err := FromRegexp(`[\x{7e}-\x{801}\x{d7fe}-\x{e001}\x{fffe}-\x{10001}]`)
	if err != nil {
		t.Fatal(err)
	}
	d := dfa(t, e)
	in := func(r rune) bool {
		return r >= 0x7e && r <= 0x801 || r >= 0xd7fe && r <= 0xe001 || r >= 0xfffe && r <= 0x10001
	}
	for r := rune(0); r < 0x11000; r++ {
		if utf8.ValidRune(r) && Match(d, string(r)) != in(r) {
			t.Fatalf("%U: %v", r, Match(d, string(r)))
		}
	}
	if Match(d, "\xed\xa0\x80") {
		t.Error("an encoded surrogate matches")
	}
}

func TestAnchorsAndBoundaries(t *testing.T) {
	if e, err := FromRegexp("^ab$"); err != nil || !Match(dfa(t, e), "ab") {
		t.Errorf("anchors at the ends: %v", err)
	}
	for _, re := range []string{`\bab`, `(?m)^a`} {
		if _, err := FromRegexp(re); err == nil {
			t.Errorf("%s is accepted", re)
		}
	}
}

func TestProducts(t *testing.T) {
	a, _ := FromRegexp("a+b?")
	b, _ := FromRegexp("a*b")
	c, _ := FromRegexp("[ab]+")
	da, db, dc := dfa(t, a), dfa(t, b), dfa(t, c)
	if w, ok := Common(da, db); !ok || string(w) != "ab" {
		t.Errorf("Common = %q %v", w, ok)
	}
	if w, ok := Outside(da, db); !ok || string(w) != "a" {
		t.Errorf("Outside = %q %v", w, ok)
	}
	if w, ok := Outside(da, dc); ok {
		t.Errorf("a+b? outside [ab]+: %q", w)
	}
}

func TestAmbiguous(t *testing.T) {
	one := func(s string) Expr { return Plus(One(Of(s))) }
	for _, c := range []struct {
		parts []Expr
		want  bool
	}{
		{[]Expr{one("ab"), Literal("-"), one("ab")}, false},
		{[]Expr{one("ab-"), Literal("-"), one("ab")}, false},
		{[]Expr{one("ab-"), Literal("-"), one("ab-")}, true},
		{[]Expr{one("a"), one("a")}, true},
		{[]Expr{Repeat(One(Of("a")), 2, 2), one("a")}, false},
	} {
		tagged := make([]Expr, len(c.parts))
		for i, p := range c.parts {
			tagged[i] = p.Tagged(i)
		}
		n, err := Compile(Seq(tagged...))
		if err != nil {
			t.Fatal(err)
		}
		if w, got := n.Ambiguous(); got != c.want {
			t.Errorf("%v: ambiguous = %v (%q)", c.parts, got, w)
		}
	}
}

func TestLimits(t *testing.T) {
	if _, err := Compile(Repeat(One(All), MaxPositions+1, MaxPositions+1)); err == nil {
		t.Error("too many positions are accepted")
	}
	bomb, err := FromRegexp("(?:a|b)*a(?:a|b){20}")
	if err != nil {
		t.Fatal(err)
	}
	n, err := Compile(bomb)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Determinize(n); err == nil {
		t.Error("an exponential automaton is accepted")
	}
}

func TestClassesPartition(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		var sets []Set
		for range rapid.IntRange(0, 6).Draw(t, "sets") {
			lo, hi := rapid.Byte().Draw(t, "lo"), rapid.Byte().Draw(t, "hi")
			sets = append(sets, Range(min(lo, hi), max(lo, hi)))
		}
		c := NewClasses(sets)
		for b := range 256 {
			if !c.Rep[c.Of[b]].Has(byte(b)) {
				t.Fatalf("byte %d is not in its class", b)
			}
			for _, s := range sets {
				if s.Has(byte(b)) != s.Has(c.Rep[c.Of[b]].Pick()) {
					t.Fatalf("class of byte %d is torn by a set", b)
				}
			}
		}
	})
}
