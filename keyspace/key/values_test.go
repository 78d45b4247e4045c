package key_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// TestReasons: why each kind of value is refused, in full, and that the values at its borders are not.
func TestReasons(t *testing.T) {
	const brace = "holds a brace, which would move the key to another cluster slot"
	const uuid = "01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f"
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	letters := key.NewType("/[a-c{:]+/")
	for _, c := range []struct{ name, got, want string }{
		{"text", key.Text("a", 0, false, false), ""}, {"no text", key.Text("", 0, true, true), "is empty"},
		{"a colon", key.Text("a:b", 0, false, false), "holds the separator ':'"},
		{"a colon in a rest", key.Text("a:b", 0, true, false), ""},
		{"a brace", key.Text("{", 0, false, false), ""}, {"in a tag", key.Text("a{", 0, false, true), brace},
		{"the other", key.Text("}", 0, true, true), brace}, {"at the limit", key.Text("abc", 3, false, false), ""},
		{"beyond it", key.Text("abcd", 3, false, false), "is longer than 3 bytes"},
		{"bytes count", key.Text("éé", 3, false, false), "is longer than 3 bytes"},
		{"low", key.Int(3, 3, 5), ""}, {"high", key.Int(5, 3, 5), ""}, {"below", key.Int(2, 3, 5), "is not in 3..5"},
		{"above", key.Int(6, 3, 5), "is not in 3..5"},
		{"only a low end", key.Int(2, 3, math.MaxInt64), "is below 3"},
		{"only a high end", key.Int(6, math.MinInt64, 5), "is above 5"},
		{"any", key.Int(math.MinInt64, math.MinInt64, math.MaxInt64), ""},
		{"NaN", key.Float(math.NaN()), "is no finite number"}, {"inf", key.Float(math.Inf(1)), "is no finite number"},
		{"-inf", key.Float(math.Inf(-1)), "is no finite number"}, {"the largest", key.Float(math.MaxFloat64), ""},
		{"uuid", key.UUID(uuid), ""}, {"short", key.UUID(uuid[:35]), "is not a lower-case UUID"},
		{"capitals", key.UUID(strings.ToUpper(uuid)), "is not a lower-case UUID"},
		{"no uuid", key.UUID(strings.Replace(uuid, "-", "a", 1)), "is not a lower-case UUID"},
		{"hex", key.Hex("0af", 0), ""}, {"no digit", key.Hex("", 0), "is not lower-case hexadecimal digits"},
		{"another letter", key.Hex("0ag", 0), "is not lower-case hexadecimal digits"},
		{"a capital", key.Hex("0A", 2), "is not 2 lower-case hexadecimal digits"},
		{"too many", key.Hex("abc", 2), "is not 2 lower-case hexadecimal digits"}, {"as many", key.Hex("ab", 2), ""},
		{"slug", key.Slug("a-_9"), ""}, {"no slug", key.Slug(""), "is empty"},
		{"a dash first", key.Slug("-a"), "is not a slug (a-z, 0-9, _ and -)"},
		{"a capital", key.Slug("aB"), "is not a slug (a-z, 0-9, _ and -)"},
		{"a word", key.OneOf("b", "a", "b"), ""}, {"another", key.OneOf("c", "a", "b"), "is not one of a, b"},
		{"no words", key.OneOf(""), "is not one of "},
		{"1970", key.UnixS(at(0)), ""}, {"before it", key.UnixS(at(-1)), "is not in 0..99999999999"},
		{"the last", key.UnixS(at(99_999_999_999)), ""},
		{"after it", key.UnixS(at(100_000_000_000)), "is not in 0..99999999999"},
		{"before 1970, in ms", key.UnixMS(time.UnixMilli(-1)), "is not in 0..99999999999999"},
		{"the last in ms", key.UnixMS(time.UnixMilli(99_999_999_999_999)), ""},
		{"one whose milliseconds are 384 again", key.UnixMS(at(18_446_744_073_709_552)), "is not in 0..99999999999999"},
		{"in ms", key.UnixMS(at(99_999_999_999)), ""},
		{"beyond in ms", key.UnixMS(at(100_000_000_000)), "is not in 0..99999999999999"},
		{"of an expression", letters.Text("ab:", true), ""}, {"not of it", letters.Text("d", false), "is not /[a-c{:]+/"},
		{"a brace of it", letters.Text("a{", false), ""}, {"in a tag", letters.Text("a{", true), brace},
		{"nothing of it", letters.Text("", false), "is not /[a-c{:]+/"},
		{"of no type", key.NewType("txet").Text("a", false), "is not txet"},
		{"of a type that no key has", key.NewType("json").Text("{}", false), "is not json"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	err := key.Refuse("user", "id", "is empty")
	var refused *key.Error
	if !errors.As(err, &refused) || err.Error() != "user: the value for {id} is empty" ||
		*refused != (key.Error{Entry: "user", Placeholder: "id", Reason: "is empty"}) {
		t.Errorf("%v", err)
	}
}

// TestNumbersOfOneSpelling: each number is read in one spelling, and no other text is a number.
func TestNumbersOfOneSpelling(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "-7": -7, "9223372036854775807": math.MaxInt64,
		"-9223372036854775808": math.MinInt64} {
		if n, ok := key.ParseInt(text, math.MinInt64, math.MaxInt64); !ok || n != want {
			t.Errorf("%s: %d %t", text, n, ok)
		}
		if n, ok := key.ParseInt(text, want, want); !ok || n != want {
			t.Errorf("%s, at both ends: %d %t", text, n, ok)
		}
	}
	if _, ok := key.ParseInt("7", 8, 9); ok {
		t.Error("7 is below 8")
	}
	if _, ok := key.ParseInt("7", 5, 6); ok {
		t.Error("7 is above 6")
	}
	for _, text := range []string{"", "-", "00", "-0", "01", "-01", "+1", " 1", "1 ", "1a", "a", ":", "/", "1.0", "1e3",
		"٣", "9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
		"99999999999999999999", strings.Repeat("1", 10_000)} {
		if n, ok := key.ParseInt(text, math.MinInt64, math.MaxInt64); ok {
			t.Errorf("%.30q is %d", text, n)
		}
	}
	for text, want := range map[string]float64{"0": 0, "1.5": 1.5, "-0.25": -.25, "100000000000000000000000": 1e23} {
		if f, ok := key.ParseFloat(text); !ok || f != want || string(key.AppendFloat([]byte("x"), f)) != "x"+text {
			t.Errorf("%s: %v %t", text, f, ok)
		}
	}
	for _, text := range []string{"", "1.0", "1.50", "01", "+1", ".5", "5.", "1e3", "inf", "NaN", "0x1", "1_0", "1e999",
		"0.1000000000000000055", " 1"} {
		if f, ok := key.ParseFloat(text); ok {
			t.Errorf("%q is %v", text, f)
		}
	}
	for text, want := range map[string][2]bool{"true": {true, true}, "false": {false, true}, "True": {}, "1": {}, "": {}} {
		if v, ok := key.ParseBool(text); v != want[0] || ok != want[1] {
			t.Errorf("%q: %t %t", text, v, ok)
		}
	}
	if at, ok := key.ParseUnixS("1700000000"); !ok || at.Location() != time.UTC || at.Unix() != 1_700_000_000 {
		t.Errorf("%v %t", at, ok)
	}
	at, ok := key.ParseUnixMS("1700000000123")
	if !ok || at.Location() != time.UTC || at.UnixMilli() != 1_700_000_000_123 {
		t.Errorf("%v %t", at, ok)
	}
	for _, text := range []string{"-1", "100000000000", "01", ""} {
		if at, ok := key.ParseUnixS(text); ok {
			t.Errorf("%q is %v", text, at)
		}
	}
}

// TestDates: what each layout writes and reads: a time as its own location has it, back in UTC.
func TestDates(t *testing.T) {
	seoul := time.FixedZone("KST", 9*3600)
	at := time.Date(2026, 2, 3, 4, 5, 6, 7, seoul)
	for layout, want := range map[string]string{
		"YYYY-MM-DD": "2026-02-03", "YYYYMMDDHHmmss": "20260203040506", "DD.MM.": "03.02.", "HH:mm": "04:05",
		"YYYY-MM-DDTHH:mm:ssZ": "2026-02-03T04:05:06Z", "YYYY년": "2026년", "Y-M": "Y-M", "": "", "ss": "06",
		"YYYYY": "2026Y", "MMMM": "0202",
	} {
		d := key.NewDate(layout)
		if got := d.Format(at); got != want || string(d.Append([]byte("x:"), at)) != "x:"+want {
			t.Errorf("%s: %s", layout, got)
		}
		back, ok := d.Parse(want)
		if !ok || back.Location() != time.UTC || d.Format(back) != want {
			t.Errorf("%s: %v %t", layout, back, ok)
		}
		for i := range want {
			if _, ok := d.Parse(want[:i]); ok {
				t.Errorf("%s: %q is one", layout, want[:i])
			}
			other := []byte(want)
			if other[i] ^= 0x10; layout != "YYYYY" || i == 4 { // no digit is one any more, no letter the same
				if back, ok := d.Parse(string(other)); ok {
					t.Errorf("%s: %q is %v", layout, other, back)
				}
			}
		}
	}
	for layout, texts := range map[string][]string{
		"YYYY-MM-DD": {"2026-00-01", "2026-13-01", "2026-01-00", "2026-01-32", "2026-02-29", "1900-02-29", "2026-04-31",
			"2026-1-01", "2026-01-0a", "2026/01/01", "-026-01-01"},
		"HHmmss": {"240000", "006000", "000060", "99999", "1234567"}, "MM": {"00", "13", "1", "-1"}, "DD": {"00", "32"},
		"MM-DD": {"02-30", "06-31"},
	} {
		for _, text := range texts {
			if at, ok := key.NewDate(layout).Parse(text); ok {
				t.Errorf("%s: %q is %v", layout, text, at)
			}
		}
	}
	if leap, ok := key.NewDate("MM-DD").Parse("02-29"); !ok || leap.Year() != 0 {
		t.Errorf("29 February of no year: %v %t", leap, ok)
	}
	d := key.NewDate("YYYY")
	for year, want := range map[int]string{0: "", 9999: "", 10_000: "has the year 10000, which four digits cannot say",
		-1: "has the year -1, which four digits cannot say"} {
		if got := d.Check(time.Date(year, 5, 5, 0, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("the year %d: %q", year, got)
		}
	}
	if got := d.Check(time.Time{}); got != "is the zero time, which was never set" {
		t.Error(got)
	}
	if year := d.Format(time.Date(7, 1, 1, 0, 0, 0, 0, time.UTC)); year != "0007" {
		t.Error(year)
	}
}

// TestSlowAgreesWithThePattern: what Slow splits are the values that the pattern reads, and it refuses what that
// refuses, parts that do not fit, and a pattern that is none.
func TestSlowAgreesWithThePattern(t *testing.T) {
	types := map[string]string{"x": "int", "y": "/[a-c]+/", "z": "text rest"}
	resolve := func(name string) (scalar.Type, bool) {
		typ, err := scalar.Parse(types[name], nil)
		return typ, err == nil
	}
	for _, text := range []string{"{x}{y}", "{y}-{x}:{z}", "k", "{#{x}}{y}", "a{z}"} {
		p, slow := pattern.MustParse(text, resolve), key.NewSlow(text, types)
		rapid.Check(gate.Fixed(t), func(t *rapid.T) {
			k := rapid.OneOf(rapid.StringMatching(`-?[0-9]{1,2}[a-c]{1,2}`), rapid.StringMatching(`[a-c]-[0-9]:.*`),
				rapid.StringMatching(`\{[0-9]\}[a-c]`), rapid.SampledFrom([]string{"k", "", "a", "ab:c"})).Draw(t, "key")
			want, ok := p.Match([]byte(k))
			parts := make([]string, len(p.Placeholders()))
			if got := slow.Split(k, parts); got != ok || ok && !slices.Equal(parts, want) {
				t.Fatalf("%s on %q: %q %t, want %q %t", text, k, parts, got, want, ok)
			}
			if slow.Split(k, make([]string, len(parts)+1)) {
				t.Fatalf("%s: a part too many", text)
			}
		})
	}
	if key.NewSlow("{x", types).Split("1", make([]string, 1)) {
		t.Error("of no pattern")
	}
}

// TestNamesOfNamespaces: a name is one by its bytes first, and by the declaration then.
func TestNamesOfNamespaces(t *testing.T) {
	short := func(name string) string {
		if len(name) > 3 {
			return "is longer than three"
		}
		return ""
	}
	for _, c := range []struct {
		name    string
		allowed func(string) string
		want    string
	}{
		{"app", nil, ""}, {"app", short, ""}, {"apps", nil, ""}, {"apps", short, "is longer than three"},
		{"", short, "is empty"}, {"a:bc", short, "has a byte that is no letter, digit, - or _"},
	} {
		if got := key.Namespace(c.name, c.allowed); got != c.want {
			t.Errorf("%q: %q", c.name, got)
		}
	}
	if s := key.String([]byte("abc")); s != "abc" || key.String(nil) != "" {
		t.Errorf("%q", s)
	}
	if got := fmt.Sprint(key.Refuse("a", "b", "")); got != "<nil>" {
		t.Error(got)
	}
}
