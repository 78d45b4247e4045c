package scalar

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"pgregory.net/rapid"
)

func typed(t testing.TB, text string) Type {
	t.Helper()
	typ, err := Parse(text, vars)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return typ
}

// TestFaultsInFull: the message, the place and the proposal of each fault.
func TestFaultsInFull(t *testing.T) {
	many := strings.Repeat("a|", 10_000) + "a"
	for _, c := range []struct {
		text, message, proposal string
		offset                  int
	}{
		{" \t ", "the type is empty; expected one like text, int 1..5, uuid or a|b|c", "text", 0},
		{"stirng", `"stirng" is neither a type nor a var`, "", 0},
		{"uuidd", `"uuidd" is neither a type nor a var`, "uuid", 0},
		{"int optinal", `"optinal" is not a range; expected one like 1..5, 0.. or ..9`, "1..5", 4},
		{"uuid 5", `"5" is not expected after "uuid"; only optional and encrypted may follow`, "", 5},
		{"kind 5", `"5" is not expected after "kind"; only optional and encrypted may follow`, "", 5},
		{"a|b encrypt", `"encrypt" is not expected after "a|b"; only optional and encrypted may follow`, "encrypted", 4},
		{"json a.json b", `"b" is not expected after "json a.json"; only optional and encrypted may follow`, "", 12},
		{"int 7", `"7" is not a range; expected one like 1..5, 0.. or ..9`, "0..7", 4},
		{"int -7", `"-7" is not a range; expected one like 1..5, 0.. or ..9`, "1..5", 4},
		{"int 9223372036854775808", `"9223372036854775808" is not a range; expected one like 1..5, 0.. or ..9`, "1..5", 4},
		{"int 1...5", `"1...5" is not a range of 64-bit integers; expected one like 1..5`, "1..5", 4},
		{"int a..b", `"a..b" is not a range of 64-bit integers; expected one like 1..5`, "1..5", 4},
		{"int 3..-3", "the range 3..-3 is empty: its start is above its end", "-3..3", 4},
		{"text max", "max takes a number of bytes of at least 1, as in text max 64", "max 64", 8},
		{"text max 1.5", "max takes a number of bytes of at least 1, as in text max 64", "max 64", 9},
		{"text  max  -1", "max takes a number of bytes of at least 1, as in text max 64", "max 64", 11},
		{"hex 1025", "hex takes a number of digits from 1 to 1024, as in hex 8", "hex 8", 4},
		{"hex x", "hex takes a number of digits from 1 to 1024, as in hex 8", "hex 8", 4},
		{"date dd", `the layout "dd" has the letter d; its parts are YYYY, MM, DD, HH, mm, ss, with T, Z and signs between`,
			"YYYY-MM-DD", 5},
		{"date YYYY-MM-DD-MM", `the layout "YYYY-MM-DD-MM" has MM twice`, "YYYY-MM-DD", 5},
		{"date mm:ss", `the layout "mm:ss" has none of YYYY, MM, DD, HH`, "YYYY-MM-DD", 5},
		{"date T", `the layout "T" has none of YYYY, MM, DD, HH`, "YYYY-MM-DD", 5},
		{"a |b", "the values of an enum are written without spaces: a|b|c", "", 2},
		{"a   | b", "the values of an enum are written without spaces: a|b|c", "", 4},
		{"|", "an enum has an empty value; write a|b|c without spaces", "", 0},
		{"a||b", "an enum has an empty value; write a|b|c without spaces", "", 0},
		{" a|b|a", `the enum names "a" twice`, "", 1},
		{many, "an enum has at most 10000 values", "", 0},
		{"/a", "the expression has no closing slash", "/a/", 0}, {`/a\`, "the expression has no closing slash", "", 0},
		{`/a\/`, "the expression has no closing slash", `/a\//`, 0},
		{"/[/", "the expression is not valid RE2: error parsing regexp: missing closing ]: `[`", "", 1},
		{"/a/ x", `"x" is not expected after "/a/"; only optional and encrypted may follow`, "", 4},
		{"/[ab]*a[ab]{20}/", "needs more than 20000 automaton states", "", 1},
	} {
		_, err := Parse(c.text, vars)
		var fault *SyntaxError
		if !errors.As(err, &fault) || err.Error() != c.message || fault.Offset != c.offset || fault.Proposal != c.proposal ||
			fault.Text != c.text {
			t.Errorf("%.40q: %d %v, proposed %+v", c.text, fault.Offset, err, fault.Proposal)
		}
		if strings.HasPrefix(c.proposal, "/") {
			typed(t, c.proposal)
		}
	}
	if _, err := Parse("kind", nil); err == nil || err.Error() != `"kind" is neither a type nor a var` {
		t.Errorf("without vars: %v", err)
	}
}

// TestSpelledColons: a value of an expression crosses segments where the expression names the colon, and not where it
// has one in its syntax.
func TestSpelledColons(t *testing.T) {
	for expr, crosses := range map[string]bool{
		"a:b": true, "[a:]+": true, "[:a]+": true, "[a-z:]+": true, "[:]": true, "[^:]+": true, `\:`: true, `a\\:b`: true,
		`\(?:b`: true, "(?P<n>a:b)": true, "(?i)a:b": true, "(?i:a):(?i:b)": true, "[[:alpha:]:]+": true, "[a:b:]+": true,
		"ab": false, ".+": false, "[^a]+": false, "[!-~]+": false, "(?:a|b)+": false, "(?i:a)(?i:b)": false,
		"(?i-s:a)": false, "[[:alpha:]]+": false, "[[:^digit:][:punct:]]+": false, "(?P<n>ab)": false, `\x3a?a`: false,
	} {
		if got := spellsColon(expr); got != crosses {
			t.Errorf("/%s/ spells a colon: %t", expr, got)
		}
		l, err := typed(t, "/"+expr+"/").Key()
		if err != nil {
			t.Errorf("/%s/: %v", expr, err)
			continue
		}
		if strings.HasPrefix(expr, "[^:") {
			continue
		}
		if l.Crosses != crosses {
			t.Errorf("/%s/ crosses: %t", expr, l.Crosses)
		}
	}
	l, err := typed(t, "/[a-z:]+/").Key()
	if err != nil || !l.Accepts("a:b") || l.Accepts("A") {
		t.Errorf("a class that ends with a colon: %v", err)
	}
}

// TestDescriptions: what each type is called in messages, and what Check says of a value that is not one.
func TestDescriptions(t *testing.T) {
	for text, want := range map[string]string{
		"text": "text", "text max 5": "text of at most 5 bytes", "int": "an integer", "int 1..5": "an integer in 1..5",
		"int 1..": "an integer in 1..", "int ..5": "an integer in ..5", "float": "a number", "bool": "true or false",
		"bytes": "bytes", "uuid": "a lower-case UUID", "ulid": "a ULID", "hex": "lower-case hexadecimal digits",
		"hex 8": "8 lower-case hexadecimal digits", "slug": "a slug (a-z, 0-9, _ and -)", "date": "a date like YYYY-MM-DD",
		"date HH": "a date like HH", "timestamp": "an RFC 3339 timestamp", "unix_s": "a Unix time in seconds",
		"unix_ms": "a Unix time in milliseconds", "a|b": "one of a, b", "/a+/": "text that matches /a+/", "json": "JSON",
	} {
		typ := typed(t, text)
		if got := typ.Describe(); got != want {
			t.Errorf("%s: %s", text, got)
		}
		err := typ.Check([]byte("\xff\xff\xff\xff\xff\xff"))
		if text == "text" || text == "bytes" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err == nil || err.Error() != "not "+want {
			t.Errorf("%s: %v", text, err)
		}
	}
	for kind := Text; kind <= JSON; kind++ {
		if kind.String() == "" || (Type{Kind: kind}).Describe() == "" && kind != Enum {
			t.Errorf("kind %d has no name", kind)
		}
	}
}

// TestMembersOfObjects: what a member of a JSON object must be, by its type: the form, then the value.
func TestMembersOfObjects(t *testing.T) {
	for _, c := range []struct{ typ, member, want string }{
		{"text", `"a"`, ""}, {"text", `""`, ""}, {"text", `"\u00e9"`, ""}, {"text max 1", `"\u0061"`, ""},
		{"text max 1", `"\u00e9"`, "not text of at most 1 bytes"}, {"text", "1", "a JSON number, not text"},
		{"text", "{}", "a JSON object, not text"}, {"text", "[]", "a JSON array, not text"},
		{"text", "true", "a JSON boolean, not text"}, {"text", "false", "a JSON boolean, not text"},
		{"text", "null", "a JSON null, not text"}, {"text", "", "a JSON number, not text"},
		{"int", "5", ""}, {"int", `"5"`, "a JSON string, not an integer"}, {"int", "5.0", "not an integer"},
		{"int 1..4", "5", "not an integer in 1..4"}, {"float", "1.5e3", ""},
		{"float", `"1"`, "a JSON string, not a number"},
		{"bool", "true", ""}, {"bool", `"true"`, "a JSON string, not true or false"}, {"bool", "null", "not true or false"},
		{"unix_s", "5", ""}, {"unix_ms", `"5"`, "a JSON string, not a Unix time in milliseconds"},
		{"bytes", `"AAE="`, ""}, {"bytes", `"AAE"`, "not base64"}, {"bytes", `"AA\nE="`, "not base64"},
		{"bytes", `"AA\rE="`, "not base64"},
		{"bytes", `"AA-_"`, "not base64"}, {"bytes", "1", "a JSON number, not bytes"}, {"bytes", `""`, ""},
		{"a|b", `"a"`, ""}, {"a|b", `"c"`, "not one of a, b"}, {"uuid", `"x"`, "not a lower-case UUID"},
		{"json", "{}", ""}, {"json", "x", "not JSON"}, {"text encrypted", "1", ""}, {"int encrypted", `"x"`, ""},
		{"text", `"a`, "a JSON string, not text"},
	} {
		got := ""
		if err := typed(t, c.typ).CheckJSON([]byte(c.member)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.member, c.typ, got, c.want)
		}
	}
	for member, want := range map[string]string{`"a\n"`: "a\n", `"\ud83d\ude00"`: "😀", `""`: "", `"a`: "-", "": "-",
		"1": "-", `"a"x`: "-"} {
		got, quoted := Unquoted([]byte(member))
		if quoted == (want == "-") || quoted && string(got) != want || !quoted && string(got) != member {
			t.Errorf("%s: %q %t", member, got, quoted)
		}
	}
	for form, want := range map[Form]string{Quoted: "Quoted", Bare: "Bare", Inline: "Inline"} {
		if form.String() != want {
			t.Errorf("%d is %s", form, form)
		}
	}
	if !ValidJSON([]byte(`"é"`)) || ValidJSON([]byte("\"\xe9\"")) || ValidJSON([]byte(`{}{}`)) || ValidJSON(nil) {
		t.Error("ValidJSON")
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if !ValidJSON([]byte(deep)) || ValidJSON([]byte(deep[1:])) {
		t.Error("a deep array")
	}
}

// TestKeysAndValues: what a type takes in a key and what it takes as a value, where the two differ.
func TestKeysAndValues(t *testing.T) {
	for _, c := range []struct {
		typ, text  string
		key, value bool
	}{
		{"int", "9223372036854775808", true, false}, {"int", "-9223372036854775808", true, true},
		{"int", "-9223372036854775809", true, false}, {"int", strings.Repeat("9", 40), true, false},
		{"int 5..", "9223372036854775808", true, false}, {"int ..-5", "-9223372036854775809", true, false},
		{"int 5..", "4", false, false}, {"int ..-5", "-4", false, false}, {"int ..5", "6", false, false},
		{"int ..5", "-0", false, false}, {"int ..-5", "5", false, false}, {"int -3..", "-4", false, false},
		{"int -3..", "-3", true, true}, {"int 0..", "-1", false, false}, {"int 0..0", "0", true, true},
		{"int -9223372036854775808..-9223372036854775808", "-9223372036854775808", true, true},
		{"int 9223372036854775807..", "9223372036854775807", true, true},
		{"int 9223372036854775807..", "9223372036854775806", false, false},
		{"int 9223372036854775807..", "10000000000000000000", true, false},
		{"unix_s", "99999999999", true, true}, {"unix_s", "100000000000", false, true},
		{"unix_ms", "99999999999999", true, true}, {"unix_ms", "100000000000000", false, true},
		{"float", "-1.5", true, true}, {"float", "1.50", false, true}, {"float", "1e3", false, true},
		{"float", "01", false, true}, {"float", "0", true, true}, {"float", ".5", false, true}, {"float", "-0", true, true},
		{"text", "", false, true}, {"text", "a:b", false, true}, {"text rest", "a:b", true, true},
		{"text max 2", "ab", true, true}, {"text max 2", "abc", false, false}, {"bytes", "a:b", false, true},
		{"bytes", "\xff\x00", true, true}, {"/.+/", "a:b", false, true}, {"/.*/", "", false, true},
		{"date YYYYMMDDHHmmss", "20260230000000", false, false}, {"date YYYYMMDDHHmmss", "20260228235959", true, true},
		{"date YYYYMMDDHHmmss", "20260228240000", false, false}, {"date MM", "13", false, false},
		{"date MM", "12", true, true},
		{"date DD", "31", true, true}, {"date DD", "32", false, false}, {"date YYYY년", "2026년", true, true},
		{"date YYYY-MM", "2026-02", true, true}, {"date MM-DD", "02-29", true, true}, {"date MM-DD", "02-30", false, false},
		{"timestamp", "2026-11-20T09:30:60Z", false, false}, {"timestamp", "2026-11-20T09:30:00.1234567890Z", false, false},
		{"timestamp", "2026-11-20T09:30:00.Z", false, false}, {"timestamp", "2026-11-20T09:30:00+24:00", false, false},
		{"timestamp", "2026-11-20T09:30:00-23:59", true, true}, {"timestamp", "2026-11-20 09:30:00Z", false, false},
	} {
		typ := typed(t, c.typ)
		key := false
		if l, err := typ.Key(); err == nil {
			key = l.Accepts(c.text)
		}
		if value := typ.Is([]byte(c.text)); key != c.key || value != c.value || typ.Prepared()([]byte(c.text)) != value {
			t.Errorf("%s: %q in a key %t, as a value %t, prepared %t", c.typ, c.text, key, value,
				typ.Prepared()([]byte(c.text)))
		}
	}
}

// TestRefusedInKeys: the types that no placeholder can have, and why.
func TestRefusedInKeys(t *testing.T) {
	for text, want := range map[string]string{
		"json": "json cannot be part of a key", "uuid encrypted": "an encrypted value cannot be part of a key",
		"text optional":          "a placeholder cannot be optional: declare a second entry for the shorter key",
		"text max 1025":          "text in a key is at most 1024 bytes, not 1025",
		"/(?:ab)?/":              "/(?:ab)?/ matches the empty text; a placeholder needs at least one byte",
		"json encrypted":         "json cannot be part of a key",
		"int optional encrypted": "an encrypted value cannot be part of a key",
	} {
		if l, err := typed(t, text).Key(); err == nil || err.Error() != want || l != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"json", "bytes", "text", "float"} {
		if l, err := typed(t, text).Value(); l != nil || err != nil {
			t.Errorf("%s has a language of values", text)
		}
	}
	one, err := typed(t, "int 3..4").Key()
	if again, _ := typed(t, "int 3..4").Key(); err != nil || one != again {
		t.Error("a language is made twice")
	}
	braces, err := typed(t, "/[a{}]+/").Key()
	if err != nil || braces.WithoutBraces().Bytes().Has('{') || !braces.Expr.Bytes().Has('{') {
		t.Errorf("without braces: %v", err)
	}
}

// genType draws the text of a type.
func genType(t *rapid.T) string {
	n := func(name string) int64 { return rapid.Int64Range(-2000, 2000).Draw(t, name) }
	text := rapid.SampledFrom([]string{"text", "float", "bool", "bytes", "uuid", "ulid", "slug", "timestamp", "unix_s",
		"unix_ms", "hex", "int", "date", "json", "a|b|c:d", "/[a-c]+x?/", "kind"}).Draw(t, "kind")
	switch text {
	case "text":
		text += rapid.SampledFrom([]string{"", " max 7", " rest", " max 7 rest"}).Draw(t, "args")
	case "hex":
		text += rapid.SampledFrom([]string{"", " 1", " 12"}).Draw(t, "args")
	case "int":
		lo, hi := n("lo"), n("hi")
		lo, hi = min(lo, hi), max(lo, hi)
		text += rapid.SampledFrom([]string{"", fmt.Sprintf(" %d..", lo), fmt.Sprintf(" ..%d", hi),
			fmt.Sprintf(" %d..%d", lo, hi)}).Draw(t, "args")
	case "date":
		text += rapid.SampledFrom([]string{"", " DD.MM.YYYY", " YYYYMMDD", " HH:mm"}).Draw(t, "args")
	case "json":
		text += rapid.SampledFrom([]string{"", " a/b.json"}).Draw(t, "args")
	}
	return text + rapid.SampledFrom([]string{"", " optional", " encrypted", " optional encrypted"}).Draw(t, "suffix")
}

// TestTypesPrintAndAgree: a type prints as it is read; of its values an example is one, and Check, Is and Prepared
// agree. What is in the language of keys is a value, except a number or a time beyond what is stored.
func TestTypesPrintAndAgree(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		text := genType(rt)
		typ := typed(t, text)
		if typ.String() != text {
			rt.Fatalf("%s prints as %s", text, typ)
		}
		if d := typ.Definition(); typ.Var == "" && d != text || typ.Var != "" && !strings.HasPrefix(d, "a|b") {
			rt.Fatalf("%s is defined as %s", text, d)
		}
		key, err := typ.Key()
		if err == nil && (!key.Accepts(typ.Example()) || !typ.Is([]byte(typ.Example()))) {
			rt.Fatalf("%s: the example %q", text, typ.Example())
		}
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9]{1,4}`), rapid.StringMatching(`[a-c]{0,3}x?`),
			rapid.Just(typ.Example())).Draw(rt, "value")
		is := typ.Is([]byte(value))
		if typ.Prepared()([]byte(value)) != is || (typ.Check([]byte(value)) == nil) != (is || typ.Encrypted) {
			rt.Fatalf("%s: %q is one: %t", text, value, is)
		}
		if err == nil && key.Accepts(value) && !is {
			rt.Fatalf("%s: %q is in a key, and no value", text, value)
		}
	})
}

// TestDecimals: the numbers from one to another, in canonical decimal, for all ends of few digits.
func TestDecimals(t *testing.T) {
	for _, ends := range [][2]uint64{{0, 0}, {0, 9}, {0, 10}, {7, 7}, {9, 10}, {5, 105}, {99, 101}, {100, 999},
		{123, 4321}, {1, 1000}, {10, 19}, {190, 210}} {
		l, err := compile(natural(ends[0], ends[1]))
		if err != nil {
			t.Fatal(err)
		}
		for n := range uint64(5000) {
			if l.Accepts(strconv.FormatUint(n, 10)) != (ends[0] <= n && n <= ends[1]) {
				t.Fatalf("%d..%d: %d", ends[0], ends[1], n)
			}
		}
		if l.Accepts("") || l.Accepts("00") || l.Accepts("007") {
			t.Errorf("%d..%d: leading zeros", ends[0], ends[1])
		}
	}
	if names := keywords(); !slices.IsSorted(names) || len(names) != 14 {
		t.Errorf("%q", names)
	}
}
