package class_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/internal/gate"
)

// names are the classes as the tests write them.
var names = map[class.Class]string{class.Number: "number", class.Digits: "digits",
	class.Seconds: "seconds", class.Millis: "millis",
	class.UUID: "uuid", class.ULID: "ulid", class.Hex: "hex", class.Day: "day", class.DayHour: "hour",
	class.Month:   "month",
	class.Compact: "compact", class.Week: "week", class.Decimal: "decimal", class.Address: "address",
	class.Text:   "text",
	class.Binary: "binary", class.Rest: "rest"}

// shaped writes the shape of a segment, with its classes in brackets, and ! if it is all words.
func shaped(segment string) string {
	var s class.Scratch
	shape, fixed := s.Shape([]byte(segment))
	var b strings.Builder
	for _, c := range shape {
		if class.IsClass(c) {
			b.WriteString("<" + names[class.Class(c)] + ">")
		} else {
			b.WriteByte(c)
		}
	}
	if fixed {
		b.WriteByte('!')
	}
	return b.String()
}

// TestShape: a segment that is data is one class; one of several words has the classes of those that are data between
// those that are none. The borders of each class are here.
func TestShape(t *testing.T) {
	const uuid = "7e7590d0-9e23-4763-b774-ee8514e10d0c"
	for segment, want := range map[string]string{
		"": "!", "user": "user!", "user_name": "user_name!", "日本": "日本!",
		strings.Repeat("a", 40): strings.Repeat("a", 40) + "!",
		strings.Repeat("a", 41): "<text>", strings.Repeat("a", 73): "<text>", strings.Repeat("1", 73): "<text>",
		strings.Repeat("a", 40) + "_b": strings.Repeat("a", 40) + "_b!",
		"\xff":                         "<binary>", "a\x00": "<binary>", "a\x7f1": "<binary>", "é1": "<text>",
		"0": "<number>", "7": "<number>", "42": "<number>", "007": "<digits>", "00": "<digits>",
		strings.Repeat("9", 18): "<number>",
		strings.Repeat("9", 19): "<digits>", "1399999999": "<number>", "1400000000": "<seconds>",
		"1999999999": "<seconds>", "2000000000": "<number>",
		"1400000000000": "<millis>", "1300000000000": "<number>", "14000000000": "<number>",
		"20260131": "<compact>", "20261301": "<number>", "20260132": "<number>", "20260001": "<number>",
		"21260131": "<number>", "19260131": "<compact>",
		uuid: "<uuid>", strings.ToUpper(uuid): "<text>-<text>-<number>-<text>-<text>",
		uuid[:35]:    "<hex>-<text>-<number>-<text>-<text>",
		"2026-01-31": "<day>", "2026-13-31": "<number>-<number>-<number>", "2026-00-31": "<number>-<digits>-<number>",
		"2026-01-32": "<number>-<digits>-<number>",
		"3026-01-31": "<number>-<digits>-<number>", "2026-01-31-23": "<hour>", "2026-01-31-24": "<day>-<number>",
		"2026-01": "<month>", "2026-13": "<number>-<number>",
		"2026-W01": "<week>", "2026W53": "<week>", "2026-W54": "<number>-W54", "2026-W00": "<number>-W00",
		"12.5": "<decimal>", "-12.5": "<decimal>", "12.": "<number>.",
		".5": ".<number>", "1.2.3": "<number>.<decimal>", "10.0.0.1": "<address>",
		"10.0.0": "<number>.<decimal>", "1000.0.0.1": "<number>.<number>.<decimal>",
		"deadbeef12": "<hex>", "deadbeef": "deadbeef!", "deadbe1": "deadbe<number>", "deadbeef1": "deadbeef<number>",
		"DEADBEEF12":                 "DEADBEEF<number>",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV": "<ulid>", "81ARZ3NDEKTSV4RRFFQ69G5FAV": "<text>",
		"01ARZ3NDEKTSV4RRFFQ69G5FAU": "<text>", "01ARZ3NDEKTSV4RRFFQ69G5FA": "<text>",
		"user42": "user<number>", "v2": "v2!", "v22": "v22!", "v222": "<text>", "ab22": "ab22!", "abc2": "abc<number>",
		"sha256": "sha256!", "oauth2": "oauth2!", "2fa": "<text>", "a1b": "<text>",
		"user_42": "user_<number>", "user_42_x": "user_<number>_x", "a." + uuid + ".b": "a.<uuid>.b",
		"x-2026-01-31-y": "x-<day>-y", "x_10.0.0.1": "x_<address>", "x_1.5_y": "x_<decimal>_y",
		"x_2026-W01": "x_<week>", "_": "_!", "_1_": "_<number>_", "1_2": "<number>_<number>", "{1}": "{<number>}",
		"a,1": "a,<number>", "a 1": "a <number>",
		"v1_v2": "v1_v2!", "1" + strings.Repeat("_1", 35): "<number>" + strings.Repeat("_<number>", 35),
	} {
		if got := shaped(segment); got != want {
			t.Errorf("%q: %q, and not %q", segment, got, want)
		}
	}
}

// TestShapesOfAnything: no segment is changed or runs over the space for its shape, equal ones have equal shapes, and
// a shape without a class is the segment.
func TestShapesOfAnything(t *testing.T) {
	random := gate.Rand(t)
	const letters = "ab1290-_.{}: \x00\xffé日W"
	var s class.Scratch
	for range 20_000 {
		segment := make([]byte, random.IntN(90))
		for i := range segment {
			segment[i] = letters[random.IntN(len(letters))]
		}
		before := string(segment)
		shape, fixed := s.Shape(segment)
		first := string(shape)
		if fixed && first != before || string(segment) != before || len(first) > len(before) && len(first) > 1 {
			t.Fatalf("%q: %q %v", before, first, fixed)
		}
		if again, _ := s.Shape(segment); string(again) != first {
			t.Fatalf("%q: %q and %q", before, first, again)
		}
	}
}

// TestSeparatorOf: the colon parts a key wherever it is, then the slash, then the bar; dots do where there are two,
// and the key is words.
func TestSeparatorOf(t *testing.T) {
	for name, want := range map[string]byte{
		"": 0, "user": 0, "user:1": ':', "a/b:c": ':', "a|b/c": '/', "a|b": '|', "/": '/', "a.b": 0, "a.b.c": '.',
		"a.b.c:d": ':', "a.b.c/d": '/',
		"conf.cdn.opt7": '.', "10.0.0.1": 0, "a1.b2.c": 0, ".a.b.c": 0, "a.b.c.": 0, "a.b..c": 0, "a.b.c d": 0,
		"a_b.c-d.e": '.', "a.b.é": 0,
	} {
		if got := class.SeparatorOf([]byte(name)); got != want {
			t.Errorf("%q: %q, and not %q", name, got, want)
		}
	}
}

// TestOneBit: the place of the one bit that is set; several, none and the last, which means all that is longer,
// have none.
func TestOneBit(t *testing.T) {
	for lens, want := range map[uint64]int{0: 0, 1: 0, 2: 1, 3: 0, 1 << 16: 16, 1 << 62: 62, 1 << 63: 0, 1<<63 | 2: 0} {
		if got := class.OneBit(lens); got != want {
			t.Errorf("%b: %d, and not %d", lens, got, want)
		}
	}
	for b := range 256 {
		if class.IsClass(byte(b)) != (names[class.Class(b)] != "") {
			t.Errorf("%d is a class: %v", b, class.IsClass(byte(b)))
		}
	}
}
