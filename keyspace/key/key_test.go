package key_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keyspace/scalar"
	"pgregory.net/rapid"
)

// TestChecksAgreeWithTheTypes: each function accepts what the type of the
// declaration accepts as a part of a key, and nothing else.
func TestChecksAgreeWithTheTypes(t *testing.T) {
	t.Parallel()
	ulid := key.NewType("ulid")
	checks := map[string]func(string) string{
		"text":       func(s string) string { return key.Text(s, 0, false, false) },
		"text max 3": func(s string) string { return key.Text(s, 3, false, false) },
		"text rest":  func(s string) string { return key.Text(s, 0, true, false) },
		"uuid":       key.UUID, "hex": func(s string) string { return key.Hex(s, 0) },
		"hex 4": func(s string) string { return key.Hex(s, 4) }, "slug": key.Slug,
		"a|b":       func(s string) string { return key.OneOf(s, "a", "b") },
		"int":       func(s string) string { _, ok := key.ParseInt(s, math.MinInt64, math.MaxInt64); return no(ok) },
		"int -5..7": func(s string) string { _, ok := key.ParseInt(s, -5, 7); return no(ok) },
		"bool":      func(s string) string { _, ok := key.ParseBool(s); return no(ok) },
		"unix_s":    func(s string) string { _, ok := key.ParseUnixS(s); return no(ok) },
		"unix_ms":   func(s string) string { _, ok := key.ParseUnixMS(s); return no(ok) },
		"ulid":      func(s string) string { return ulid.Text(s, false) },
	}
	for _, layout := range []string{"YYYY-MM-DD", "YYYYMMDD", "MM-DD", "YYYY-MM-DD-HH", "HH:mm:ss", "DD"} {
		d := key.NewDate(layout)
		checks["date "+layout] = func(s string) string { _, ok := d.Parse(s); return no(ok) }
	}
	for text, check := range checks {
		typ, err := scalar.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		language, err := typ.Key()
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(gate.Fixed(t), func(t *rapid.T) {
			s := rapid.OneOf(
				rapid.Just(typ.Example()), rapid.StringMatching(`-?[0-9]{1,17}`), rapid.StringMatching(`[0-9a-f-]{1,8}`),
				rapid.StringMatching(`[a-c_:{}-]{0,5}`),
				rapid.StringMatching(`[0-9]{4}-[01][0-9]-[0-3][0-9]`), rapid.StringMatching(`[0-3][0-9]`),
				rapid.StringMatching(`[0-2][0-9]:[0-6][0-9]:[0-6][0-9]`), rapid.StringMatching(`[01][0-9]-[0-3][0-9]`),
				rapid.StringMatching(`[0-9]{8}`),
				rapid.SampledFrom([]string{"true", "false", "True", "", "-0", "00", "+1", "a", "b", "ab", "9223372036854775807",
					"99999999999999", "\xff", "0", "-5", "8"}), rapid.String(),
				rapid.Custom(func(t *rapid.T) string { // the example with one byte changed
					b := []byte(typ.Example())
					b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
					return string(b)
				}),
			).Draw(t, "s")
			if got, want := check(s) == "", language.Accepts(s); got != want {
				t.Fatalf("%s: %q is accepted: %t, by the declaration: %t", text, s, got, want)
			}
		})
	}
}

func no(ok bool) string {
	if ok {
		return ""
	}
	return "no"
}

// TestRoundTrips: what is written is read back, and what is read is written the
// same.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		if f := rapid.Float64().Draw(t, "f"); key.Float(f) == "" {
			if back, ok := key.ParseFloat(string(key.AppendFloat(nil, f))); !ok || back != f {
				t.Fatalf("%v: %v %t", f, back, ok)
			}
		}
		n := rapid.Int64().Draw(t, "n")
		if back, ok := key.ParseInt(fmt.Sprint(n), math.MinInt64, math.MaxInt64); !ok || back != n {
			t.Fatalf("%d: %d %t", n, back, ok)
		}
		at := time.Unix(rapid.Int64Range(-62_135_596_800, 253_402_300_799).Draw(t, "at"), 0).UTC()
		for _, layout := range []string{"YYYY-MM-DD HH:mm:ss", "DD.MM.YYYYTHHmmss"} {
			d := key.NewDate(layout)
			if back, ok := d.Parse(d.Format(at)); !ok || !back.Equal(at) {
				t.Fatalf("%s: %v, %v %t", layout, at, back, ok)
			}
		}
	})
}

func TestReasonsDoNotShowTheValue(t *testing.T) {
	t.Parallel()
	for _, err := range []error{key.Refuse("e", "p", key.Text("sec:ret", 0, false, false)),
		key.Refuse("e", "p", key.UUID("secret")), key.Refuse("e", "p", key.Int(7, 8, 9))} {
		if strings.Contains(err.Error(), "sec") {
			t.Error(err)
		}
	}
	if err := key.Refuse("e", "", "is another"); err.Error() != "e: the key is another" {
		t.Error(err)
	}
	if key.Refuse("e", "p", "") != nil {
		t.Error("no reason is an error")
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	s := key.NewSlow("a{x}-{y}", map[string]string{"x": "int", "y": "int"})
	var parts [2]string
	if !s.Split("a-1--2", parts[:]) || parts != [2]string{"-1", "-2"} || s.Split("a1", parts[:]) ||
		s.Split("a1-2", parts[:1]) {
		t.Errorf("%q", parts)
	}
}

// TestATimeThatWasNeverSetIsNoKey: the zero time.Time is refused by every type of
// time, in every zone, and the moments next to it are what they were.
func TestATimeThatWasNeverSetIsNoKey(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"YYYY-MM-DD", "YYYYMMDDHHmmss", "HH", "MM-DD"} {
		d := key.NewDate(layout)
		for _, zone := range []*time.Location{time.UTC, time.FixedZone("east", 3600)} {
			if d.Check(time.Time{}.In(zone)) == "" {
				t.Errorf("%s: the zero time was taken", layout)
			}
		}
		if reason := d.Check(time.Time{}.Add(24 * time.Hour)); reason != "" {
			t.Errorf("%s: a day later: %s", layout, reason)
		}
	}
	if key.UnixS(time.Time{}) == "" || key.UnixMS(time.Time{}) == "" {
		t.Error("the zero time was taken for a Unix time")
	}
}
