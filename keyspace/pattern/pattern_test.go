package pattern

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/scalar"
	"pgregory.net/rapid"
)

var vars = map[string]string{
	"n": "int", "pos": "int 0..", "m": "int 1..12", "u": "uuid", "ul": "ulid", "h8": "hex 8", "e": "high|normal|low",
	"rest": "text rest", "t3": "text max 3",
	"day": "date", "month": "date YYYY-MM", "ts": "timestamp", "ms": "unix_ms", "s": "unix_s", "slug": "slug",
	"ok": "bool", "f": "float", "re": "/[a-c]+/", "b": "bytes",
	"doc": "json", "secret": "text encrypted", "maybe": "int optional", "long": "text max 4096", "empty": "/a*/",
}

func resolve(name string) (scalar.Type, bool) {
	text, ok := vars[name]
	if !ok {
		return scalar.Type{}, false
	}
	t, err := scalar.Parse(text, nil)
	return t, err == nil
}

func parse(t testing.TB, text string) *Pattern {
	t.Helper()
	p, err := Parse(text, resolve)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return p
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		text, message string
		offset        int
	}{
		{"", "empty", 0},
		{"a:{id", "no closing }", 2},
		{"a:id}", "} without {", 4},
		{"a:{}", "needs a name", 2},
		{"a:{1x}", "is not a name", 2},
		{"a:{lockKey-encoded}", "is not a name", 2},
		{"a:{YYYY-MM-DD}", "date layout", 2},
		{"a:{id}:{id}", "twice", 7},
		{"a:{x}{y}", "two ways", 0},
		{"a:{x}-{y}", "two ways", 0},
		{"a:{n}-{pos}{m}", "two ways", 0},
		{"a:{rest}:b", "text rest and must be the last", 2},
		{"a:{doc}", "json cannot be part", 2},
		{"a:{secret}", "encrypted value cannot", 2},
		{"a:{maybe}", "cannot be optional", 2},
		{"a:{long}", "at most 1024 bytes", 2},
		{"a:{empty}", "matches the empty text", 2},
		{"a:{#}", "hash tag is empty", 2},
		{"a:{#b", "no closing }", 2},
		{"a:{#b}:{#c}", "second hash tag", 7},
		{`a\q`, "backslash", 1},
		{`a\`, "backslash", 1},
		{`a\x4`, "backslash", 1},
		{strings.Repeat("x", 1025), "limit is 1024", 0},
		{strings.Repeat(":", 64), "limit is 64", 0},
	} {
		_, err := Parse(c.text, resolve)
		var fault *SyntaxError
		if !errors.As(err, &fault) {
			t.Errorf("Parse(%q) = %v, want a SyntaxError", c.text, err)
			continue
		}
		if !strings.Contains(fault.Message, c.message) || fault.Offset != c.offset {
			t.Errorf("Parse(%q) = %d %q, want %d %q", c.text, fault.Offset, fault.Message, c.offset, c.message)
		}
		if fault.Offset+fault.Length > len(c.text) {
			t.Errorf("Parse(%q): the fault ends beyond the text", c.text)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         []string // nil: no match
	}{
		{"a:{x}", "a:b", []string{"b"}},
		{"a:{x}", "a:", nil},
		{"a:{x}", "a:b:c", nil},
		{"a:{x}", "a:b c\r\n\x00\xff", []string{"b c\r\n\x00\xff"}},
		{"a:{rest}", "a:b:c:", []string{"b:c:"}},
		{"a::{x}", "a::b", []string{"b"}},
		{"a::{x}", "a:b", nil},
		{":{x}:", ":b:", []string{"b"}},
		{"a:{n}", "a:007", nil},
		{"a:{n}", "a:+1", nil},
		{"a:{n}", "a:-0", nil},
		{"a:{n}", "a:-1", []string{"-1"}},
		{"a:{n}", "a:9007199254740993", []string{"9007199254740993"}},
		{"a:{n}", "a:9223372036854775807", []string{"9223372036854775807"}},
		{"a:{n}", "a:123456789012345678901234567890", []string{"123456789012345678901234567890"}},
		{"a:{n}", "a:-9223372036854775808", []string{"-9223372036854775808"}},
		{"a:{n}", "a:-9223372036854775809", []string{"-9223372036854775809"}},
		{"a:{m}", "a:12", []string{"12"}},
		{"a:{m}", "a:13", nil},
		{"a:{m}", "a:0", nil},
		{"a:{day}", "a:2024-02-29", []string{"2024-02-29"}},
		{"a:{day}", "a:2023-02-29", nil},
		{"a:{day}", "a:2023-13-01", nil},
		{"a:{month}", "a:2023-12", []string{"2023-12"}},
		{"a:{ts}:z", "a:2026-11-20T09:30:00.5+09:00:z", []string{"2026-11-20T09:30:00.5+09:00"}},
		{"a:{u}", "a:01932F6E-7C1A-7D3E-8F60-2B1C9A4D5E6F", nil},
		{"a:{h8}", "a:a1b2c3d4", []string{"a1b2c3d4"}},
		{"a:{h8}", "a:a1b2c3d", nil},
		{"A:{x}", "a:b", nil},
		{"{a}_lock", "my_thing_lock", []string{"my_thing"}},
		{"issue_lock_{id}", "issue_lock_42", []string{"42"}},
		{"{re}{n}", "abc42", []string{"abc", "42"}},
		{"{e}-{m}.{ok}", "high-7.true", []string{"high", "7", "true"}},
		{"c:{#{id}}:s", "c:{42}:s", []string{"42"}},
		{"c:{#{id}}:s", "c:{4}2}:s", nil},
		{"{#jobs}:{x}", "{jobs}:a{b}", []string{"a{b}"}},
		{`\{{x}\}\\`, `{v}\`, []string{"v"}},
		{`\xff{x}`, "\xffv", []string{"v"}},
		{"가격:{상품}", "", nil},
	} {
		p, err := Parse(c.pattern, resolve)
		if err != nil {
			if c.key != "" {
				t.Errorf("Parse(%q): %v", c.pattern, err)
			}
			continue
		}
		got, ok := p.Match([]byte(c.key))
		if ok != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%q.Match(%q) = %q %v, want %q", c.pattern, c.key, got, ok, c.want)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for _, c := range []struct{ pattern, value, reason string }{
		{"a:{x}", "", "is empty"},
		{"a:{x}", "b:c", "holds the separator"},
		{"a:{n}", "007", "is not an integer"},
		{"a:{n}", "+7", "is not an integer"},
		{"a:{m}", "13", "is not an integer in 1..12"},
		{"a:{e}", "High", "is not one of high, normal, low"},
		{"a:{t3}", "abcd", "at most 3 bytes"},
		{"a:{day}", "2023-02-29", "is not a date like YYYY-MM-DD"},
		{"a:{#{x}}", "b}c", "holds a brace"},
		{"a:{rest}", "", "is empty"},
	} {
		_, err := parse(t, c.pattern).Build(c.value)
		var refused *ValueError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.reason) {
			t.Errorf("%q.Build(%q) = %v, want %q", c.pattern, c.value, err, c.reason)
		}
	}
	if _, err := parse(t, "a:{x}").Build(); err == nil {
		t.Error("Build without values succeeds")
	}
}

func TestOverlapAndContainment(t *testing.T) {
	for _, c := range []struct {
		a, b       string
		witness    string // "" none
		aInB, bInA bool
	}{
		{"queue:{name}", "queue:job:{id}", "", false, false},
		{"issue:{n}", "issue:{x}", "issue:1", true, false},
		{"issue:{x}", "issue:status", "issue:status", false, true},
		{"a:{x}", "a:{y}", "a:a", true, true},
		{"a:{x}", "a:{rest}", "a:a", true, false},
		{"{x}:b", "a:{y}", "a:b", false, false},
		{"{x}_lock", "issue_{y}", "issue_lock", false, false},
		{"a:{e}", "a:{re}", "", false, false},
		{"a:{day}", "a:{month}", "", false, false},
		{"a:{ms}", "a:{n}", "a:1", true, false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		witness, ok := Overlap(a, b)
		if ok != (c.witness != "") || len(witness) != len(c.witness) {
			t.Errorf("Overlap(%s, %s) = %q, want one like %q", c.a, c.b, witness, c.witness)
		}
		if _, got := Contains(b, a); got != c.aInB {
			t.Errorf("Contains(%s, %s) = %v", c.b, c.a, got)
		}
		if _, got := Contains(a, b); got != c.bInA {
			t.Errorf("Contains(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct{ pattern, scan, acl string }{
		{"a:{x}", "a:*", "a:*"},
		{"{re}{n}", "*", "*"},
		{"a[b]?*{x}", `a\[b\]\?\**`, `a\[b\]\?\**`},
		{`a\\b^-`, `a\\b^-`, `a\\b^-`},
		{`a b"{x}`, `a b"*`, `a?b?*`},
		{"c:{#{id}}:s", "c:{*}:s", "c:{*}:s"},
	} {
		p := parse(t, c.pattern)
		acl, exact := p.ACLGlob()
		if p.ScanGlob() != c.scan || acl != c.acl || exact != (len(p.Placeholders()) == 0) {
			t.Errorf("%q: scan %q acl %q exact %v, want %q %q", c.pattern, p.ScanGlob(), acl, exact, c.scan, c.acl)
		}
	}
}

func TestHashTagsAndSlots(t *testing.T) {
	for text, want := range map[string]string{
		"a:{x}": "-", "c:{#{id}}:s": "{id}", "{#jobs}:r": "jobs", `a\{b\}`: "b", "{#a{x}b}": "a{x}b", `\{\}{#a}`: "-",
		`x\}{#a}`: "a",
	} {
		tag, ok := parse(t, text).HashTag()
		if !ok {
			tag = "-"
		}
		if tag != want {
			t.Errorf("%s: tag %q, want %q", text, tag, want)
		}
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"c:{#{id}}:s", "d:{#{id}}", true},
		{"c:{#{id}}:s", "d:{#{x}}", false},
		{"{#jobs}:a", "{#jobs}:{x}", true},
		{"a:{x}", "{#a:{x}}:fence", true},
		{"a:{x}", "a:{x}:b", false},
		{"a:{n}", "{#a:{n}}:b", true},
	} {
		if got := parse(t, c.a).SameSlot(parse(t, c.b)); got != c.same {
			t.Errorf("SameSlot(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func TestDerive(t *testing.T) {
	for text, want := range map[string]string{"lock:{n}": "{#lock:{n}}:fence", "c:{#{id}}:s": "c:{#{id}}:s:fence"} {
		p := parse(t, text)
		d, err := p.Derive("fence")
		if err != nil || d.String() != want || !p.SameSlot(d) {
			t.Errorf("Derive(%s) = %v %v, want %s", text, d, err, want)
		}
	}
}

// genPattern draws patterns that Parse accepts.
func genPattern(t *rapid.T) *Pattern {
	parts := []string{"a", "ab", ":", "::", "_", "-", "{x}", "{y}", "{n}", "{m}", "{u}", "{ul}", "{h8}", "{e}", "{t3}",
		"{day}", "{ts}", "{ms}", "{slug}", "{ok}", "{f}", "{re}", "{#{x}}", "{#t{n}}", "{#tag}", `\{`, `\}`, `\xff`, "*",
		"[", "가"}
	for {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 7).Draw(t, "parts"), "")
		if rapid.IntRange(0, 4).Draw(t, "tail") == 0 {
			text += ":{rest}"
		}
		if p, err := Parse(text, resolve); err == nil {
			return p
		}
	}
}

// genValue draws a value of a type, sometimes one just beside it.
func genValue(t *rapid.T, p Placeholder) string {
	odd := rapid.SampledFrom([]string{"", "a:b", "{", "a}b", "0", "-1", "a", "-", "\xff\x00", "true", "abc", "high", "1.5",
		"2026-11-20"})
	if rapid.Bool().Draw(t, "odd") {
		return odd.Draw(t, "value")
	}
	return p.Type.Example()
}

func TestMatchInvertsBuild(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		p := genPattern(t)
		var values []string
		for _, place := range p.Placeholders() {
			values = append(values, genValue(t, place))
		}
		key, err := p.Build(values...)
		if err != nil {
			return
		}
		got, ok := p.Match(key)
		if !ok || !slices.Equal(got, values) {
			t.Fatalf("%s: Build(%q) = %q, Match gives %q %v", p, values, key, got, ok)
		}
		if tag, tagged := slot.Tag(key); p.tagged != tagged && p.tagged {
			t.Fatalf("%s: key %q has no hash tag (%q)", p, key, tag)
		}
	})
}

func TestBuildInvertsMatch(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		p := genPattern(t)
		key := ""
		for _, e := range p.Elements() {
			if e.Placeholder < 0 {
				key += e.Literal
			} else {
				key += genValue(t, p.Placeholders()[e.Placeholder])
			}
		}
		values, ok := p.Match([]byte(key))
		if !ok {
			return
		}
		back, err := p.Build(values...)
		if err != nil || string(back) != key {
			t.Fatalf("%s: Match(%q) = %q, Build gives %q %v", p, key, values, back, err)
		}
	})
}

// TestACLGlobOfBytes: a byte that a rule cannot carry is one question mark.
func TestACLGlobOfBytes(t *testing.T) {
	p := MustParse(`\xff\xfe:{rest}`, nil)
	glob, exact := p.ACLGlob()
	g, err := Glob(glob)
	if err != nil || exact || glob != "??:*" {
		t.Fatalf("%q %t %v", glob, exact, err)
	}
	if _, ok := Contains(g, p); !ok {
		t.Errorf("%q misses keys", glob)
	}
}

func TestRelationsAgreeWithMatch(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		p, q := genPattern(t), genPattern(t)
		if w, ok := Overlap(p, q); ok {
			if _, inP := p.Match(w); !inP {
				t.Fatalf("witness %q of %s and %s is no key of the first", w, p, q)
			}
			if _, inQ := q.Match(w); !inQ {
				t.Fatalf("witness %q of %s and %s is no key of the second", w, p, q)
			}
		}
		if c, ok := Contains(p, q); !ok {
			_, inP := p.Match(c)
			_, inQ := q.Match(c)
			if inP || !inQ {
				t.Fatalf("counterexample %q of %s in %s: %v %v", c, q, p, inQ, inP)
			}
		}
		_, there := Overlap(p, q)
		_, back := Overlap(q, p)
		if there != back {
			t.Fatalf("Overlap(%s, %s) is not symmetric", p, q)
		}
		for _, glob := range []string{p.ScanGlob(), first(p.ACLGlob())} {
			g, err := Glob(glob)
			if err != nil {
				t.Fatal(err)
			}
			if key, ok := Contains(g, p); !ok {
				t.Fatalf("glob %q of %s misses %q", glob, p, key)
			}
		}
		if d, err := p.Derive("role"); err == nil && !p.SameSlot(d) {
			t.Fatalf("%s and %s are not in one slot", p, d)
		}
	})
}

func first(s string, _ bool) string { return s }

func TestSameSlotIsTrue(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		p := genPattern(t)
		d, err := p.Derive("role")
		if err != nil {
			return
		}
		var values []string
		for _, place := range p.Placeholders() {
			values = append(values, genValue(t, place))
		}
		a, err1 := p.Build(values...)
		b, err2 := d.Build(values...)
		if err1 == nil && err2 == nil && slot.Of(a) != slot.Of(b) {
			t.Fatalf("%q and %q are in different slots", a, b)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a:{n}", "c:{#{id}}:s", `\{{x}\}`, "{x}_{n}", "a:{rest}", "{#jobs}:r", "{", "}", "{#",
		`\`, "{a}{b}", "\xff{x}"} {
		f.Add(seed, "a:1")
	}
	f.Fuzz(func(t *testing.T, text, key string) {
		p, err := Parse(text, resolve)
		if err != nil {
			var fault *SyntaxError
			if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset+fault.Length > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := Parse(p.String(), resolve); err != nil || again.Language() != p.Language() {
			t.Fatalf("%q does not survive printing: %v", text, err)
		}
		if values, ok := p.Match([]byte(key)); ok {
			if back, err := p.Build(values...); err != nil || string(back) != key {
				t.Fatalf("%q: %q → %q → %q %v", text, key, values, back, err)
			}
		}
		if example := p.Example(); !p.matches(example) {
			t.Fatalf("%q: the example %q is no key of it", text, example)
		}
	})
}

func (p *Pattern) matches(key []byte) bool { _, ok := p.Match(key); return ok }

func FuzzGlob(f *testing.F) {
	for _, seed := range []string{"*", "a*b?", "[a-z]*", `\*`, "[^a", "[", "a[]b", "[z-a]", `[\]]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Glob(text); err == nil && len(text) < 100 {
			if key, ok := Overlap(p, p); ok && !p.matches(key) {
				t.Fatalf("%q: %q is no key of it", text, key)
			}
		}
	})
}
