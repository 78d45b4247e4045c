package pattern

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace/scalar"
)

// shape writes a pattern as its elements, each as its compiler sees it.
func shape(p *Pattern) string {
	var out []string
	for _, e := range p.Elements() {
		text := strconv.Quote(e.Literal)
		switch {
		case e.Placeholder >= 0:
			place := p.Placeholders()[e.Placeholder]
			text = fmt.Sprintf("%s(%s)@%d", place.Name, place.Type, place.Offset)
		case e.Namespace:
			text = "namespace " + text
		case e.Literal == "":
			text = "wild"
		}
		for flag, set := range map[string]bool{"!": e.Crosses, "#": e.NoBraces} {
			if set {
				text += flag
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestElements: what a pattern is made of, with the types and offsets of its placeholders. A ! crosses separators, a #
// holds no brace.
func TestElements(t *testing.T) {
	for text, want := range map[string]string{
		"a":                 `"a"`,
		"{x}":               "x(text)@0",
		":":                 `":"`,
		"a:{n}:b":           `"a:" n(int)@2 ":b"`,
		"{e}{m}":            "e(high|normal|low)@0 m(int 1..12)@3",
		"a:{rest}":          `"a:" rest(text rest)@2!`,
		"{ts}:z":            `ts(timestamp)@0! ":z"`,
		`\{\}\\\x41\xfF`:    `"{}\\A\xff"`,
		`a\x3a{x}`:          `"a:" x(text)@5`,
		"{#a}:{x}":          `"{a}:" x(text)@5`,
		"a:{x}:{#{n}}:{u}":  `"a:" x(text)@2# ":{" n(int)@8# "}:" u(uuid)@13`,
		`{x}\{{n}-{m}\}{u}`: `x(text)@0# "{" n(int)@5# "-" m(int 1..12)@9# "}" u(uuid)@14`,
		`\{:{x}`:            `"{:" x(text)@3`,
		`\{\}:{x}:{#{n}}`:   `"{}:" x(text)@5 ":{" n(int)@11 "}"`,
		"가:{_x9}":           `"가:" _x9(text)@4`,
		"\xff\x00 {x}":      `"\xff\x00 " x(text)@3`,
	} {
		p, err := Parse(text, resolve)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := shape(p); got != want || p.String() != text || p.IsGlob() {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
		if again := MustParse(text, resolve); again.Language() != p.Language() {
			t.Errorf("%q: %s, then %s", text, p.Language(), again.Language())
		}
	}
}

// faulty lists patterns that are refused: the whole message, what of the text it is about, and what is proposed.
var faulty = []struct{ text, message, at, proposal string }{
	{"", "the pattern is empty", "", ""},
	{"a:{id", "the placeholder has no closing }; a literal brace is written \\{", "{id", "a:{id}"},
	{"a:{", "the placeholder has no closing }; a literal brace is written \\{", "{", ""},
	{"a:{_", "the placeholder has no closing }; a literal brace is written \\{", "{_", ""},
	{"a:{1x", "the placeholder has no closing }; a literal brace is written \\{", "{1x", ""},
	{"a:{x y", "the placeholder has no closing }; a literal brace is written \\{", "{x y", ""},
	{"a:{#{id", "the placeholder has no closing }; a literal brace is written \\{", "{id", "a:{#{id}}"},
	{"a:{#b", "the hash tag {# has no closing }", "{#", "a:{#b}"},
	{"a:{#", "the hash tag {# has no closing }", "{#", ""},
	{"a:{#{id}", "the hash tag {# has no closing }", "{#", "a:{#{id}}"},
	{"a:{#}", "the hash tag is empty: the cluster ignores it and hashes the whole key", "{#}", ""},
	{"{#a}{#b}", "a second hash tag: the cluster looks at the first only", "{#", ""},
	{"{#a{#b}}", "a second hash tag: the cluster looks at the first only", "{#", ""},
	{"a}", "} without {; a literal brace is written \\}", "}", ""},
	{"{#a}}", "} without {; a literal brace is written \\}", "}", ""},
	{`a\`, "a backslash is before {, } or \\, or begins \\x and two hexadecimal digits", `\`, `\\`},
	{`a\n`, "a backslash is before {, } or \\, or begins \\x and two hexadecimal digits", `\n`, `\\`},
	{`a\xg0`, "a backslash is before {, } or \\, or begins \\x and two hexadecimal digits", `\x`, `\\`},
	{`a\x+1`, "a backslash is before {, } or \\, or begins \\x and two hexadecimal digits", `\x`, `\\`},
	{`a\x4`, "a backslash is before {, } or \\, or begins \\x and two hexadecimal digits", `\x`, `\\`},
	{"a:{}", "a placeholder needs a name, as in {id}", "{}", "{id}"},
	{"{YYYYMM}", "{YYYYMM} looks like a date layout; name the placeholder and give it the type in vars", "{YYYYMM}",
		"{day} with vars: {day: date YYYYMM}"},
	{"{1x}", "{1x} is not a name: letters, digits and _ only, not beginning with a digit", "{1x}", "{_1x}"},
	{"{a-b}", "{a-b} is not a name: letters, digits and _ only, not beginning with a digit", "{a-b}", "{a_b}"},
	{"{가}", "{가} is not a name: letters, digits and _ only, not beginning with a digit", "{가}", ""},
	{"{ }", "{ } is not a name: letters, digits and _ only, not beginning with a digit", "{ }", ""},
	{"{{id}}", "{{id} is not a name: letters, digits and _ only, not beginning with a digit", "{{id}", "{id}"},
	{"{{a b}}", "{{a b} is not a name: letters, digits and _ only, not beginning with a digit", "{{a b}", "{_a_b}"},
	{"{id:int}", "{id:int} is not a name: letters, digits and _ only, not beginning with a digit", "{id:int}",
		"{id} with vars: {id: int}"},
	{"{id: int 1..5}", "{id: int 1..5} is not a name: letters, digits and _ only, not beginning with a digit",
		"{id: int 1..5}", "{id} with vars: {id: int 1..5}"},
	{"{:int}", "{:int} is not a name: letters, digits and _ only, not beginning with a digit", "{:int}", "{_int}"},
	{"{id:}", "{id:} is not a name: letters, digits and _ only, not beginning with a digit", "{id:}", "{id_}"},
	{"{1:int}", "{1:int} is not a name: letters, digits and _ only, not beginning with a digit", "{1:int}", "{_1_int}"},
	{"{id}:{id}", "{id} is there twice in the pattern; each placeholder has one value and one place", "{id}", "{id_2}"},
	{"{id}:{id_2}:{id}", "{id} is there twice in the pattern; each placeholder has one value and one place", "{id}",
		"{id_3}"},
	{"a:{doc}", "{doc} is json: json cannot be part of a key", "{doc}", ""},
	{"a:{secret}:b", "{secret} is text encrypted: an encrypted value cannot be part of a key", "{secret}", ""},
	{"a:{long}", "{long} is text max 4096: text in a key is at most 1024 bytes, not 4096", "{long}", ""},
	{"a:{empty}", "{empty} is /a*/: /a*/ matches the empty text; a placeholder needs at least one byte", "{empty}", ""},
	{"{rest}:b", `{rest} is text rest and must be the last thing in the pattern, but ":b" follows`, "{rest}", ""},
	{"a:{rest}{n}", "{rest} is text rest and must be the last thing in the pattern, but {n} follows", "{rest}", ""},
	{"{#{rest}}", `{rest} is text rest and must be the last thing in the pattern, but "}" follows`, "{rest}", ""},
}

// TestFaultsInFull: the message, the place and the proposal of each fault, and that a proposal that is a whole pattern
// is one.
func TestFaultsInFull(t *testing.T) {
	for _, c := range faulty {
		p, err := Parse(c.text, resolve)
		var fault *SyntaxError
		if !errors.As(err, &fault) || p != nil {
			t.Errorf("%q: %v %v", c.text, p, err)
			continue
		}
		at := fault.Text[fault.Offset : fault.Offset+fault.Length]
		if fault.Text != c.text || err.Error() != c.message || at != c.at || fault.Proposal != c.proposal ||
			fault.Ambiguous != nil {
			t.Errorf("%q: %q at %q, proposed %q", c.text, err, at, fault.Proposal)
		}
		if strings.HasPrefix(fault.Proposal, c.text) && c.text != "" {
			if _, err := Parse(fault.Proposal, resolve); err != nil {
				t.Errorf("%q: the proposal %q: %v", c.text, fault.Proposal, err)
			}
		}
	}
	defer func() {
		if got := recover(); got != `pattern "a}": } without {; a literal brace is written \}` {
			t.Errorf("MustParse: %v", got)
		}
	}()
	MustParse("a}", nil)
}

// TestLimitsOfAPattern: the largest of each, and one more.
func TestLimitsOfAPattern(t *testing.T) {
	places := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{p%d}:", i)
		}
		return b.String() + "end"
	}
	for _, c := range []struct{ name, most, more, message string }{
		{"bytes", strings.Repeat("x", 1024), strings.Repeat("x", 1025), "the pattern has 1025 bytes; the limit is 1024"},
		{"placeholders", places(16), places(17), "the pattern has 17 placeholders; the limit is 16"},
		{"segments", strings.Repeat(":", 63), strings.Repeat(":", 64), "the pattern has 65 segments; the limit is 64"},
		{"escaped segments", strings.Repeat(`\x3a`, 63), strings.Repeat(`\x3A`, 32) + strings.Repeat("a:", 32),
			"the pattern has 65 segments; the limit is 64"},
	} {
		if p, err := Parse(c.most, nil); err != nil || !p.matches(p.Example()) {
			t.Errorf("%s: the most: %v", c.name, err)
		}
		var fault *SyntaxError
		if _, err := Parse(c.more, nil); !errors.As(err, &fault) || fault.Message != c.message || fault.Offset != 0 ||
			fault.Length != len(c.more) || fault.Proposal != "" {
			t.Errorf("%s: one more: %v", c.name, err)
		}
	}
	if _, err := Glob(strings.Repeat("x", 1024)); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", strings.Repeat("x", 1025)} {
		want := fmt.Sprintf("a glob has 1 to 1024 bytes, not %d", len(text))
		var fault *SyntaxError
		if _, err := Glob(text); !errors.As(err, &fault) || fault.Message != want || fault.Length != len(text) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

// TestTypesThatAreTooLarge: a language that exceeds the automata is a fault of the pattern, and what the fault says of
// an enum of very many words is short.
func TestTypesThatAreTooLarge(t *testing.T) {
	words := make([]string, 9_000)
	for i := range words {
		words[i] = "wörter-" + strconv.Itoa(i)
	}
	types := func(name string) (scalar.Type, bool) {
		return scalar.Type{Kind: scalar.Enum, Values: words}, name == "enum"
	}
	_, err := Parse("a:{enum}", types)
	var fault *SyntaxError
	if !errors.As(err, &fault) || fault.Offset != 2 || fault.Length != 6 || len(fault.Message) > 300 ||
		!strings.HasPrefix(fault.Message, "{enum} is wörter-0|wörter-1|") ||
		!strings.HasSuffix(fault.Message, "…: needs more than 20000 automaton positions") {
		t.Errorf("%v", err)
	}
	if got := brief(strings.Repeat("x", 200)); got != strings.Repeat("x", 200) {
		t.Errorf("200 bytes are cut: %q", got)
	}
	if got := brief("x" + strings.Repeat("ö", 100)); got != "x"+strings.Repeat("ö", 99)+"…" {
		t.Errorf("a character is cut: %q", got)
	}
	bombs, between := "{b0}", ""
	for i := range 10 {
		bombs += between
		between = fmt.Sprintf("c{b%d}", i+1)
	}
	const large = "the pattern needs more than 20000 automaton states; give its placeholders simpler types"
	if _, err := Parse(bombs, func(string) (scalar.Type, bool) {
		return scalar.Type{Kind: scalar.Regexp, Expr: "[ab]*a[ab]{10}"}, true
	}); err == nil || err.Error() != large {
		t.Errorf("%v", err)
	}
}

// TestAmbiguous: a pattern that reads a key in two ways is refused with the shortest such key, and the proposal for a
// text before a literal makes it a pattern that keys are read by in one way.
func TestAmbiguous(t *testing.T) {
	for _, c := range []struct{ text, witness, proposal string }{
		{"a:{x}{y}", "a:aaa", ""},
		{"{x}-{y}", "a--a", `vars: x: /[^:\-]+/`},
		{"{x}]{y}", "a]]a", `vars: x: /[^:\]]+/`},
		{"{x}^{y}", "a^^a", `vars: x: /[^:\^]+/`},
		{`{x}\\{y}`, `a\\a`, `vars: x: /[^:\\]+/`},
		{"{x}/{y}", "a//a", `vars: x: /[^:\/]+/`},
		{"{x}[{y}", "a[[a", `vars: x: /[^:\[]+/`},
		{"{x}.{y}", "a..a", `vars: x: /[^:.]+/`},
		{"{x}가b{y}", "a가b가ba", `vars: x: /[^:가]+/`},
		{`{x}\xffb{y}`, "a\xffb\xffba", `vars: x: /[^:]+/`},
		{`{x}\x0ab{y}`, "a\nb\nba", `vars: x: /[^:\x{a}]+/`},
		{"{n}:{x}_{y}", "1:a__a", `vars: x: /[^:_]+/`},
		{"{h8}{x}_{y}", "aaaaaaaaa__a", `vars: x: /[^:_]+/`},
	} {
		_, err := Parse(c.text, resolve)
		var fault *SyntaxError
		if !errors.As(err, &fault) || fault.Proposal != c.proposal || len(fault.Ambiguous) != len(c.witness) ||
			fault.Offset != 0 || fault.Length != len(c.text) {
			t.Errorf("%q: %q proposed %q", c.text, fault.Ambiguous, fault.Proposal)
			continue
		}
		want := fmt.Sprintf("a key like %q can be read in two ways; give the placeholders types that cannot hold what is "+
			"between them", fault.Ambiguous)
		if fault.Message != want {
			t.Errorf("%q: %s", c.text, fault.Message)
		}
		typ, ok := strings.CutPrefix(c.proposal, "vars: x: ")
		if !ok {
			continue
		}
		p, err := Parse(c.text, func(name string) (scalar.Type, bool) {
			if name != "x" {
				return resolve(name)
			}
			typ, err := scalar.Parse(typ, nil)
			return typ, err == nil
		})
		if err != nil || !p.matches([]byte(c.witness)) {
			t.Errorf("%q with %s: %v", c.text, typ, err)
		}
	}
}
