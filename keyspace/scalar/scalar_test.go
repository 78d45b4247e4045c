package scalar

import (
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/internal/automaton"
	"pgregory.net/rapid"
)

func vars(name string) (Type, bool) {
	if name == "kind" {
		return Type{Kind: Enum, Values: []string{"a", "b"}}, true
	}
	return Type{}, false
}

func TestParsePrints(t *testing.T) {
	for text, want := range map[string]string{
		"text": "", "text max 64": "", "text rest": "", "text max 9 rest optional": "", "int": "", "int 1..5": "",
		"int 0..": "", "int ..9": "",
		"int -5..-1": "", "float": "", "bool": "", "bytes": "", "uuid": "", "ulid": "", "hex": "", "hex 8": "", "slug": "",
		"date":            "",
		"date YYYY-MM-DD": "date", "date YYYYMMDD": "", "date YYYY-MM-DDTHH": "", "timestamp": "", "unix_s": "",
		"unix_ms optional": "", "a|b|c": "",
		"/[a-z]+ \\/x/ optional": "", "json": "", "json schemas/a.json optional": "", "text encrypted": "",
		"json optional encrypted": "", "kind": "", "kind optional": "",
		"  text   max  5 ": "text max 5",
	} {
		if want == "" {
			want = text
		}
		got, err := Parse(text, vars)
		if err != nil || got.String() != want {
			t.Errorf("Parse(%q) = %q %v, want %q", text, got, err, want)
			continue
		}
		again, err := Parse(got.String(), vars)
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("Parse(%q) does not survive printing: %v %v", text, again, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text, message, proposal string
		offset                  int
	}{
		{"", "is empty", "text", 0},
		{"txt", "neither a type nor a var", "text", 0},
		{"txet max 5", "neither a type nor a var", "text", 0},
		{"text max", "max takes a number", "", 8},
		{"text max 0", "max takes a number", "", 9},
		{"text maximum 5", "is not expected after", "", 5},
		{"int 5..1", "is empty", "1..5", 4},
		{"int 5", "is not a range", "0..5", 4},
		{"int ..", "is not a range of 64-bit", "", 4},
		{"int 1..9223372036854775808", "is not a range of 64-bit", "", 4},
		{"hex 0", "number of digits", "hex 8", 4},
		{"date DD.MM.YY", "has the letter Y", "YYYY-MM-DD", 5},
		{"date YYYY-YYYY", "YYYY twice", "", 5},
		{"date --", "has none of", "", 5},
		{"a|", "empty value", "", 0},
		{"a|a", "twice", "", 0},
		{"a | b", "without spaces", "", 2},
		{"/a", "no closing slash", "/a/", 0},
		{"/(/", "not valid RE2", "", 1},
		{`/\bx/`, "no meaning here", "", 1},
		{"text optionl", "is not expected", "optional", 5},
		{"/((((a{1,100}){1,100}){1,100}))/", "", "", 1},
	} {
		_, err := Parse(c.text, vars)
		var fault *SyntaxError
		if !errors.As(err, &fault) {
			t.Errorf("Parse(%q) = %v, want a SyntaxError", c.text, err)
			continue
		}
		if !strings.Contains(fault.Message, c.message) || fault.Offset != c.offset ||
			c.proposal != "" && fault.Proposal != c.proposal {
			t.Errorf("Parse(%q) = %d %q (%q), want %d %q (%q)", c.text, fault.Offset, fault.Message, fault.Proposal, c.offset,
				c.message, c.proposal)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		typ, good, bad string // values divided by spaces; _ is the empty one
	}{
		{"text max 3", "_ abc a:b \xff", "abcd"},
		{"int", "0 -1 9223372036854775807 -9223372036854775808", "_ 01 +1 -0 1.0 1e3 9223372036854775808 x"},
		{"int -5..3", "-5 -1 0 3", "-6 4"},
		{"int 95..1203", "95 99 100 999 1000 1199 1203", "94 1204 0 9"},
		{"float", "1 -1.5 1e3 inf -inf", "_ nan x 1,5"},
		{"bool", "true false", "1 True _"},
		{"uuid", "01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f",
			"01932F6E-7c1a-7d3e-8f60-2b1c9a4d5e6f 01932f6e7c1a7d3e8f602b1c9a4d5e6f"},
		{"ulid", "01JD3FKXJQ8Z5N0V7W4T2R6YCB",
			"81JD3FKXJQ8Z5N0V7W4T2R6YCB 01jd3fkxjq8z5n0v7w4t2r6ycb 01JD3FKXJQ8Z5N0V7W4T2R6YCI"},
		{"hex 4", "00ff", "00FF 00f 00fff"},
		{"slug", "a a-b_c 0", "_ -a A a:b"},
		{"date", "2024-02-29 1999-12-31 2000-02-29 0400-02-29", "2023-02-29 1900-02-29 2024-04-31 2024-00-01 24-01-01"},
		{"date DD.MM.YYYY", "29.02.2024", "29.02.2023 31.04.2024"},
		{"timestamp", "2026-11-20T09:30:00Z 2026-11-20T09:30:00.123456789+09:00",
			"2026-11-20 2026-11-20T24:00:00Z 2026-11-20T09:30:00 2026-11-20t09:30:00z"},
		{"unix_ms", "0 1795167000000 253402300799999", "01 -1 1.5 253402300800000"},
		{"a|b:c", "a b:c", "b _ c"},
		{"/[a-z]+:?/", "a ab:", "_ a:: A"},
		{"/(?i)k/", "k K \u212a", "x"},
		{"/[^a]é?/", "b bé \u00e9\u00e9", "a ba"},
		{"json", `{"a":1} 1 null`, "{ _ nope \"\xff\""},
		{"unix_s", "0 1700000000 100000000000 253402300799", "253402300800 -1 01 1.5"},
		{"text encrypted", "anything _", ""},
	} {
		typ, err := Parse(c.typ, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.typ, err)
		}
		for i, list := range []string{c.good, c.bad} {
			for _, v := range strings.Fields(list) {
				v = strings.TrimPrefix(v, "_")
				if err := typ.Check([]byte(v)); (err == nil) != (i == 0) {
					t.Errorf("%s: Check(%q) = %v", c.typ, v, err)
				}
			}
		}
	}
}

func TestCheckNeverShowsTheValue(t *testing.T) {
	err := Type{Kind: Int}.Check([]byte("hunter2"))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestKeyLanguage(t *testing.T) {
	for _, c := range []struct {
		typ     string
		crosses bool
		refused string
	}{
		{"text", false, ""}, {"text rest", true, ""}, {"timestamp", true, ""}, {"date YYYY-MM-DDTHH:mm", true, ""},
		{"/.+/", false, ""}, {"/[^a]+/", false, ""},
		{"/a:b/", true, ""}, {"/(?:ab)+/", false, ""}, {"/(?i:ab)+/", false, ""}, {"/[[:alpha:]]+/", false, ""},
		{"a|b:c", true, ""},
		{"json", false, "json cannot"}, {"int optional", false, "cannot be optional"}, {"int encrypted", false, "encrypted"},
		{"/a*/", false, "empty text"},
	} {
		typ, err := Parse(c.typ, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := typ.Key()
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.typ, err, c.refused)
			}
		case err != nil:
			t.Errorf("%s: %v", c.typ, err)
		case l.Crosses != c.crosses:
			t.Errorf("%s crosses = %v", c.typ, l.Crosses)
		case automaton.Match(l.DFA, ""):
			t.Errorf("%s matches the empty text in a key", c.typ)
		}
	}
}

func TestExamplesAreValues(t *testing.T) {
	for _, text := range []string{"text", "text max 1", "int", "int 7..9", "int -9..-7", "float", "bool", "bytes", "uuid",
		"ulid", "hex", "hex 8", "slug", "date", "date YYYYMMDD", "date HH:mm", "timestamp", "unix_s", "unix_ms", "a|b",
		"/[x-z]{3}/"} {
		typ, err := Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := typ.Key()
		if err != nil || !automaton.Match(l.DFA, typ.Example()) || typ.Check([]byte(typ.Example())) != nil {
			t.Errorf("%s: the example %q is not one", text, typ.Example())
		}
	}
}

// TestDatesAgreeWithTheCalendar walks every day of the years in which the leap
// rule shows.
func TestDatesAgreeWithTheCalendar(t *testing.T) {
	typ := Type{Kind: Date, Layout: DefaultLayout}
	for _, year := range []int{1600, 1700, 1896, 1900, 1904, 1999, 2000, 2023, 2024, 2100, 2400} {
		for month := range 14 {
			for day := range 33 {
				text := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006") + "-" + two(month) + "-" + two(day)
				_, err := time.Parse(time.DateOnly, text)
				if (typ.Check([]byte(text)) == nil) != (err == nil) {
					t.Fatalf("%s: keywright says %v, the calendar %v", text, typ.Check([]byte(text)), err)
				}
			}
		}
	}
}

func two(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }

func TestIntRangeIsExact(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		wide := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1200, 1200))
		a, b, v := wide.Draw(t, "a"), wide.Draw(t, "b"), wide.Draw(t, "v")
		typ := Type{Kind: Int, HasMin: true, Low: min(a, b), HasMax: true, High: max(a, b)}
		for _, x := range []int64{v, a, b} {
			want := typ.Low <= x && x <= typ.High
			if got := typ.Check([]byte(strconv.FormatInt(x, 10))) == nil; got != want {
				t.Fatalf("%s: Check(%d) = %v", typ, x, got)
			}
		}
		beyond := new(big.Int).Add(big.NewInt(typ.High), big.NewInt(1)).String()
		if typ.Check([]byte(beyond)) == nil {
			t.Fatalf("%s takes %s", typ, beyond)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"text max 64", "int 1..5 optional", "/a|b/", "a|b", "date YYYY", "hex 8 encrypted",
		"json a b", "/", "int ..", "|"} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		typ, err := Parse(text, nil)
		if err != nil {
			var fault *SyntaxError
			if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := Parse(typ.String(), nil)
		if err != nil || !reflect.DeepEqual(again, typ) {
			t.Fatalf("%q prints as %q, which reads as %+v %v", text, typ, again, err)
		}
		_ = typ.Check([]byte(value))
		_, _ = typ.Key()
	})
}

// TestLargeEnums: of an enum with as many words as there may be each is a value, and nothing else; as part of a key it
// may be too large, which is found once.
func TestLargeEnums(t *testing.T) {
	words := make([]string, 0, 9_999)
	for i := range cap(words) {
		words = append(words, "word-"+strconv.Itoa(i))
	}
	typ, err := Parse(strings.Join(words, "|"), nil)
	if err != nil {
		t.Fatal(err)
	}
	is := typ.Prepared()
	for text, want := range map[string]bool{"word-0": true, "word-9998": true, "word-": false, "word-9999": false,
		"": false} {
		if typ.Is([]byte(text)) != want || is([]byte(text)) != want {
			t.Errorf("%q: %t %t, not %t", text, typ.Is([]byte(text)), is([]byte(text)), want)
		}
	}
	_, first := typ.Key()
	_, again := typ.Key()
	if first == nil || first != again {
		t.Errorf("%v, then %v: found out twice", first, again)
	}
}
