package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

// value draws a value of JSON, with white space of every kind, names that are escaped and names that differ.
func value(t *rapid.T, depth int) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n  ", "\t", "\r\n"}).Draw(t, "space") }
	text := func() string {
		return rapid.SampledFrom([]string{`""`, `"a"`, `"b c"`, `"\""`, `"\\"`, `"a\\\""`, `"{"`, `"],:"`, `"\u00e9"`, `"é"`,
			`"\n"`, `"\ud83d\ude00"`}).Draw(t, "text")
	}
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return text()
	case 1:
		return rapid.SampledFrom([]string{"0", "-1", "1.50", "1e3", "10", "-0", "1E-2", "12345678901234567890"}).Draw(t,
			"number")
	case 2:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
	case 3:
		return rapid.SampledFrom([]string{"{}", "[]", "{ }", "[\n]"}).Draw(t, "empty")
	case 4:
		parts := []string{}
		for range rapid.IntRange(1, 4).Draw(t, "elements") {
			parts = append(parts, space()+value(t, depth-1)+space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	parts := []string{}
	for i := range rapid.IntRange(1, 4).Draw(t, "members") {
		name := fmt.Sprintf(`"%s%d"`, rapid.SampledFrom([]string{"a", `\u0061`, `\"`, "é", "", "b}"}).Draw(t, "name"), i)
		parts = append(parts, space()+name+space()+":"+space()+value(t, depth-1)+space())
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// meaning is what encoding/json reads, numbers as they are written.
func meaning(t interface{ Fatalf(string, ...any) }, raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil || d.More() {
		t.Fatalf("%s is no JSON: %v", raw, err)
	}
	return out
}

// TestVisitsAreThoseOfJSON: members, elements, compact form and canonical form are what encoding/json makes of a value,
// whose bytes stay as they are.
func TestVisitsAreThoseOfJSON(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		raw := []byte(value(t, 3))
		was := bytes.Clone(raw)
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if got := Compact(raw); !bytes.Equal(got, compact.Bytes()) {
			t.Fatalf("%s is compact as %s", raw, got)
		}
		switch of := meaning(t, raw).(type) {
		case map[string]any:
			n := 0
			EachMember(raw, func(key, value []byte) {
				n++
				name := TextOf(key)
				member, there := of[name]
				if !there || fmt.Sprint(meaning(t, value)) != fmt.Sprint(member) {
					t.Fatalf("%s has %s: %s", raw, key, value)
				}
				if found := Lookup(raw, []string{name}); !bytes.Equal(found, value) || !(&Named{key, value}).Is(name) ||
					(&Named{key, value}).Is(name+"x") {
					t.Fatalf("%s at %q is %s", raw, name, found)
				}
			})
			if n != len(of) || Lookup(raw, []string{"none"}) != nil || Elements(raw) != nil {
				t.Fatalf("%s has %d members", raw, n)
			}
		case []any:
			list := Elements(raw)
			if len(list) != len(of) {
				t.Fatalf("%s has %d elements", raw, len(list))
			}
			for i, e := range list {
				if fmt.Sprint(meaning(t, e)) != fmt.Sprint(of[i]) {
					t.Fatalf("%s has %s at %d", raw, e, i)
				}
			}
		}
		canonical := AppendCanonical(nil, raw)
		if again := AppendCanonical(nil, canonical); !bytes.Equal(canonical, again) || !json.Valid(canonical) {
			t.Fatalf("%s, canonical %s, then %s", raw, canonical, again)
		}
		style := Style{Colon: ": ", Comma: " ", Unit: "\t"}
		for _, other := range [][]byte{Compact(raw), style.Inline(raw), style.Indented(nil, raw, "\n"),
			style.Lay(raw, []byte("\n  "))} {
			if !SameCanonical(raw, other) {
				t.Fatalf("%s is written %s", raw, other)
			}
		}
		if !bytes.Equal(raw, was) {
			t.Fatalf("%s is now %s", was, raw)
		}
	})
}

// TestCanonicalForms: what two values that mean the same have in common, and what tells others apart.
func TestCanonicalForms(t *testing.T) {
	for raw, want := range map[string]string{
		`{"b":1,"a":2}`: `{"a":2,"b":1}`, `{ "a" : [ 1 , 2 ] }`: `{"a":[1,2]}`, "1.0": "1", "1e2": "100", "-0": "0",
		"0.10": "0.1", `"\u0061\n\u001f\/"`: `"a\n\u001f/"`, `"é"`: `"é"`, "true": "true", "null": "null", "[]": "[]",
		`{"b":{"d":1,"c":2},"\u0061":[]}`: `{"a":[],"b":{"c":2,"d":1}}`, `"\t\r\"\\"`: `"\t\r\"\\"`,
		"12345678901234567890.50": "12345678901234567890.5", "1e-3": "0.001",
	} {
		if got := string(AppendCanonical([]byte("x"), []byte(raw))); got != "x"+want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	for _, c := range [][2]string{{"1", `"1"`}, {"[1,2]", "[2,1]"}, {`{"a":1}`, `{"a":1,"b":null}`}, {"1", "1.01"},
		{`"a"`, `"A"`}, {"{}", "[]"}} {
		if SameCanonical([]byte(c[0]), []byte(c[1])) {
			t.Errorf("%s is %s", c[0], c[1])
		}
	}
	list := [][]byte{[]byte("2"), []byte("1.0"), []byte("1"), []byte(`"a"`)}
	if got := fmt.Sprintf("%s", CanonicalSet(list, true)); got != `["a" 1 2]` {
		t.Error(got)
	}
	if got := fmt.Sprintf("%s %s", CanonicalSet(list, false), list); got != `["a" 1 1 2] [2 1.0 1 "a"]` {
		t.Error(got)
	}
}

// TestTexts: a text is written as JSON with as few escapes as there may be, and read again.
func TestTexts(t *testing.T) {
	for text, want := range map[string]string{"": `""`, "a\"b\\c": `"a\"b\\c"`, "\n\t\r": `"\n\t\r"`,
		"\x00\x1f": `"\u0000\u001f"`,
		"é가😀\x7f":  "\"é가😀\x7f\"", "</script>": `"</script>"`} {
		got := Quote([]byte("x"), text)
		if string(got) != "x"+want || TextOf(got[1:]) != text || string(Unquote(got[1:])) != text {
			t.Errorf("%q: %s", text, got)
		}
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted := Quote(nil, text)
		if meaning(t, quoted) != any(text) || TextOf(quoted) != text || skipText(append(quoted, `"x`...), 0) != len(quoted) {
			t.Fatalf("%q: %s", text, quoted)
		}
	})
	if Unquote([]byte("x")) != nil {
		t.Error("no text")
	}
	for raw, want := range map[string]string{" \n\t\r1 \n": "1", "": "", " ": "", "a b": "a b", "\v1": "\v1"} {
		if got := string(Trim([]byte(raw))); got != want {
			t.Errorf("%q: %q", raw, got)
		}
	}
}

// TestNumbers: what is a number of JSON is what encoding/json takes for one.
func TestNumbers(t *testing.T) {
	for _, text := range []string{"", "0", "-", "-0", "00", "01", "1", "12", "-12", "1.", ".1", "1.0", "1.05", "1e", "1e5",
		"1E+5", "1e-5", "1e+", "1ee5", "1.5e3", "+1", " 1", "1 ", "1x", "0x1", "0.0", "0e0", "-01", "1,5", "Infinity",
		"1.e5", "--1"} {
		exponent, ok := NumberForm([]byte(text))
		valid := json.Valid([]byte(text)) && strings.TrimSpace(text) == text
		if ok != valid || ok && exponent != strings.ContainsAny(text, "eE") {
			t.Errorf("%q is a number: %t, with an exponent: %t", text, ok, exponent)
		}
	}
}

// TestEditMembers: which members an object has after a change, and that all others keep their bytes.
func TestEditMembers(t *testing.T) {
	is := func(name, value string) Member { return Member{name, []byte(value)} }
	none := func(name string) Member { return Member{name, nil} }
	for _, c := range []struct {
		raw     string
		changes []Member
		want    string
	}{
		{`{"a":1}`, nil, `{"a":1}`}, {"", nil, "{}"}, {"5", nil, "{}"}, {"", []Member{is("a", "1")}, `{"a": 1}`},
		{"[1]", []Member{is("a", "1"), is("b", "2")}, `{"a": 1, "b": 2}`}, {"{ }", []Member{is("a", "1")}, `{"a": 1}`},
		{`{"a":1,"b":2}`, []Member{is("a", "3")}, `{"a":3,"b":2}`}, {`{"a" : 1}`, []Member{is("a", "3")}, `{"a" : 3}`},
		{`{"a":1,"b":2,"c":3}`, []Member{none("a")}, `{"b":2,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, []Member{none("b")}, `{"a":1,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, []Member{none("c")}, `{"a":1,"b":2}`}, {`{ "a":1 }`, []Member{none("a")}, "{}"},
		{`{"a":1}`, []Member{none("b")}, `{"a":1}`}, {`{"a":1}`, []Member{is("b", "2")}, `{"a":1,"b": 2}`},
		{"{\n  \"a\": 1\n}", []Member{is("b", "2")}, "{\n  \"a\": 1,\n  \"b\": 2\n}"},
		{"{\n  \"a\": 1\n}", []Member{none("a"), is("b", "2")}, "{\n  \"b\": 2\n}"},
		{"{\n  \"a\": 1,\n  \"b\": 2\n}", []Member{none("b")}, "{\n  \"a\": 1\n}"},
		{`{"\u0061":1}`, []Member{is("a", "2")}, `{"\u0061":2}`},
		{`{"":1}`, []Member{is("", "2"), is("a\n", "3")}, `{"":2,"a\n": 3}`},
		{`{"a":{"a":1},"b":"}"}`, []Member{is("b", `"{"`)}, `{"a":{"a":1},"b":"{"}`},
		{`{"a":1}`, []Member{is("b", "2"), is("a", "0"), none("c"), is("d", "4")}, `{"a":0,"b": 2,"d": 4}`},
	} {
		style := Style{Colon: ": ", Comma: " "}
		raw := []byte(c.raw)
		if got := string(style.EditMembers(raw, c.changes)); got != c.want || string(raw) != c.raw {
			t.Errorf("%s with %s: %s, want %s", c.raw, c.changes, got, c.want)
		}
	}
}

// TestSet: a value below others is set, made and taken out; what is equal keeps its bytes.
func TestSet(t *testing.T) {
	for _, c := range []struct{ raw, path, value, want string }{
		{`{"a":{"b":1}}`, "a.b", "2", `{"a":{"b":2}}`}, {`{"a":{"b":1}}`, "a.c", "2", `{"a":{"b":1,"c":2}}`},
		{"{}", "a.b.c", "2", `{"a":{"b":{"c":2}}}`}, {`{"a":5}`, "a.b", "2", `{"a":{"b":2}}`},
		{`{"a":{"b":1,"c":2}}`, "a.b", "", `{"a":{"c":2}}`}, {`{"a":{"b":1}}`, "a.b", "", `{"a":{}}`},
		{`{"a":5}`, "a.b", "", `{"a":5}`}, {`{"a":5}`, "x.y", "", `{"a":5}`}, {`{"a": 1.0}`, "a", "1", `{"a": 1.0}`},
		{`{"a": [ 1, 2 ]}`, "a", "[1,3]", `{"a": [ 1, 3 ]}`}, {`{"a": [ 1 ]}`, "a", "[1,3,4]", `{"a": [ 1, 3, 4 ]}`},
		{`{"a":[1]}`, "a", "[1,3]", `{"a":[1,3]}`}, {`{"a":[1,2,3]}`, "a", "[1]", `{"a":[1]}`},
		{`{"a":[1]}`, "a", "[]", `{"a":[]}`},
		{`{"a":[]}`, "a", "[1]", `{"a":[1]}`}, {`{"a":{"x": 1, "y": 2}}`, "a", `{"y":3,"x":1}`, `{"a":{"x": 1, "y": 3}}`},
		{`{"a":{"x":1,"y":2}}`, "a", `{"x":1}`, `{"a":{"x":1}}`},
		{`{"a":{"x":1}}`, "a", `{"x":1,"z":[1]}`, `{"a":{"x":1,"z":[1]}}`},
		{`{"a":[{"x": 1},{"y":2}]}`, "a", `[{"x":1},{"y":3}]`, `{"a":[{"x": 1},{"y":3}]}`},
		{`{"a":"b"}`, "a", `"c"`, `{"a":"c"}`}, {`{"a":"\u0062"}`, "a", `"b"`, `{"a":"\u0062"}`},
		{`{"a":true}`, "a", "{}", `{"a":{}}`},
		{"[1,\n 2]", "", "[1,3,4]", "[1,\n 3,\n 4]"}, {"5", "", "6", "6"}, {"", "", `{"a":1}`, `{"a":1}`},
	} {
		style := Style{Colon: ":"}
		var path []string
		if c.path != "" {
			path = strings.Split(c.path, ".")
		}
		var value []byte
		if c.value != "" {
			value = []byte(c.value)
		}
		if got := string(style.Set([]byte(c.raw), path, value)); got != c.want {
			t.Errorf("%s, %s = %s: %s, want %s", c.raw, c.path, c.value, got, c.want)
		}
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		old, next := []byte(value(t, 3)), []byte(value(t, 3))
		was := bytes.Clone(old)
		style := Style{Colon: ":"}
		set := style.Set(old, nil, next)
		if !json.Valid(set) || !SameCanonical(set, next) || !bytes.Equal(old, was) {
			t.Fatalf("%s set to %s is %s", old, next, set)
		}
		if again := style.Set(set, nil, next); !bytes.Equal(again, set) {
			t.Fatalf("%s set again is %s", set, again)
		}
		if back := style.Set(set, nil, old); !SameCanonical(back, old) {
			t.Fatalf("%s set back to %s is %s", set, old, back)
		}
		path := []string{"p", "q"}[:rapid.IntRange(1, 2).Draw(t, "path")]
		below := style.Set(old, path, next)
		if !json.Valid(below) || !SameCanonical(Lookup(below, path), next) {
			t.Fatalf("%s with %s at %q is %s", old, next, path, below)
		}
		if gone := style.Set(below, path, nil); Lookup(gone, path) != nil || !json.Valid(gone) {
			t.Fatalf("%s without %q is %s", below, path, gone)
		}
	})
}

// TestStyles: how a document is laid out is learned from its first values, and new ones are laid out so.
func TestStyles(t *testing.T) {
	nested := []byte(`{"a":[1,{}],"b":{"c":[]}}`)
	for _, c := range []struct {
		style                   Style
		inline, indented, below string
	}{
		{Style{Colon: ":"}, `{"a":[1,{}],"b":{"c":[]}}`, "{\n\"a\":[\n1,\n{}\n],\n\"b\":{\n\"c\":[]\n}\n}", "\n|\n"},
		{Style{Colon: ": ", Comma: " ", Unit: "  "}, `{"a": [1, {}], "b": {"c": []}}`,
			"{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": []\n  }\n}", "\n  |\n"},
	} {
		if got := string(c.style.Inline(nested)); got != c.inline {
			t.Errorf("on one line: %s", got)
		}
		if got := string(c.style.Indented([]byte(""), nested, "\n")); got != c.indented {
			t.Errorf("indented: %s", got)
		}
		if got := string(c.style.Lay(nested, []byte(" "))); got != c.inline {
			t.Errorf("laid on the line: %s", got)
		}
		if got := string(c.style.Lay(nested, []byte("\r\n\n"))); got != c.indented {
			t.Errorf("laid below: %s", got)
		}
		lead, tail := c.style.Below([]byte("\n"))
		if string(lead)+"|"+string(tail) != c.below {
			t.Errorf("below: %q %q", lead, tail)
		}
	}
	unit := Style{Unit: "\t"}
	if lead, tail := unit.Below([]byte("\r\n  ")); string(lead) != "\n  \t" || string(tail) != "\n  " {
		t.Errorf("%q %q", lead, tail)
	}
	if lead, tail := unit.Below([]byte("  ")); lead != nil || tail != nil {
		t.Errorf("%q %q", lead, tail)
	}
	learned := Style{Colon: ":", Comma: " ", Unit: "  "}
	learned.Learn([]byte("\n"), 1, false)    // no indentation
	learned.Learn([]byte("\n   "), 2, false) // none that two levels have
	learned.Learn([]byte("\n\n      "), 2, true)
	learned.Learn([]byte("\n "), 1, false) // the first counts
	learned.Learn([]byte("x"), 1, false)   // before the first value there is no comma
	learned.Learn([]byte(""), 1, true)
	learned.Learn([]byte("  "), 1, true)
	if learned.Unit != "   " || learned.Comma != "" {
		t.Errorf("%+v", learned)
	}
	for after, want := range map[byte]string{' ': ": ", '1': ":", '\n': ":"} {
		style := Style{Colon: "?", Comma: " "}
		style.LearnColon(after)
		style.LearnColon(' ')
		if comma := map[bool]string{true: " ", false: ""}[after == ' ']; style.Colon != want || style.Comma != comma {
			t.Errorf("%q: %+v", after, style)
		}
	}
	members := []Member{{"a", []byte("1")}, {"b", []byte("2")}}
	list := Style{Colon: ":"}
	if got := string(list.Nest(nil, members, true)); got != `{"a":1,"b":2}` {
		t.Error(got)
	}
	if got := string(list.Nest([]byte(`{"c":0}`), members, true)); got != `{"c":0,"a":1,"b":2}` {
		t.Error(got)
	}
	if got := string(list.Nest([]byte("[0]"), members, false)) + string(list.Nest(nil, nil, false)); got != "[1,2][]" {
		t.Error(got)
	}
}

// TestEdit: the values of an object are changed by a function, which sees each once; what it leaves keeps its bytes,
// and its error is the error.
func TestEdit(t *testing.T) {
	raw := []byte(`{ "a" : 1, "\u0062": [ 2 ], "c":3 }`)
	var seen []string
	out, err := Edit(raw, func(name string, value []byte) ([]byte, error) {
		seen = append(seen, name+"="+string(value))
		switch name {
		case "a":
			return []byte("9"), nil
		case "c":
			return nil, nil
		}
		return value, nil
	})
	if err != nil || string(out) != `{ "a" : 9, "\u0062": [ 2 ] }` ||
		!slices.Equal(seen, []string{"a=1", "b=[ 2 ]", "c=3"}) {
		t.Errorf("%s %v, seen %q", out, err, seen)
	}
	broken := errors.New("broken")
	calls := 0
	out, err = Edit(raw, func(string, []byte) ([]byte, error) { calls++; return nil, broken })
	if out != nil || err != broken || calls != 1 {
		t.Errorf("%s %v after %d calls", out, err, calls)
	}
	if out, err := Edit([]byte("{}"), nil); err != nil || string(out) != "{}" {
		t.Errorf("%s %v", out, err)
	}
}

// TestDeepValues: a value that is nested deeply is passed and changed as any other.
func TestDeepValues(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 2000) + strings.Repeat("]}", 2000)
	raw := []byte(`{"x":` + deep + `,"y":1}`)
	if got := Lookup(raw, []string{"y"}); string(got) != "1" {
		t.Errorf("%.20s", got)
	}
	if got := Lookup(raw, []string{"x"}); string(got) != deep {
		t.Errorf("%d bytes", len(got))
	}
	style := Style{Colon: ":"}
	if got := style.Set(raw, []string{"y"}, []byte("2")); string(got) != `{"x":`+deep+`,"y":2}` {
		t.Errorf("%d bytes", len(got))
	}
	if got := Compact(raw); !bytes.Equal(got, raw) || !bytes.Equal(AppendCanonical(nil, raw), raw) {
		t.Error("it is compact and canonical")
	}
}
