package datum

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// record is what terms of these tests refer to: members of an object, and captures.
type record struct {
	raw      string
	captures map[string]string
	place    int64
}

func (r record) Refer(t *route.Term) Datum {
	if t.Whole {
		return Of(jsontext.Lookup([]byte(r.raw), t.Members))
	}
	text, ok := r.captures[t.Capture]
	if !ok {
		return Datum{}
	}
	return Datum{Kind: Spelled, Text: text}
}

func (r record) Order() int64 { return r.place }

func term(t testing.TB, text string) *route.Term {
	t.Helper()
	out, err := route.ParseTerm(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &out
}

func slot(t testing.TB, of, typ string) *Slot {
	t.Helper()
	parsed, err := scalar.Parse(typ, nil)
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	return NewSlot("slot", term(t, of), &parsed)
}

// stored is what a member with this JSON becomes in a slot, "-" where nothing is stored, or the reason in brackets.
func stored(t testing.TB, s *Slot, raw string) string {
	t.Helper()
	from := record{raw: `{"v":` + raw + `,"h":9,"m":30}`, captures: map[string]string{"c": "07"}, place: 3}
	if raw == "" {
		from.raw = "{}"
	}
	d, reason := Eval(&s.Term, from)
	if reason != "" {
		return "(" + reason + ")"
	}
	text, there, reason := s.Store(d)
	switch {
	case reason != "":
		return "(" + reason + ")"
	case !there:
		return "-"
	}
	return text
}

// given is what the references of a slot's term are, for a stored text, or the reason in brackets.
func given(s *Slot, text string, there bool) string {
	p := &Part{Slot: s, Stored: text, There: there}
	refs, reason := p.Gives(func(text []byte) ([]byte, error) {
		if !scalar.ValidJSON(text) {
			return nil, errors.New("no JSON")
		}
		return text, nil
	})
	if reason != "" {
		return "(" + reason + ")"
	}
	var out []string
	for _, g := range refs {
		out = append(out, g.Ref.String()+"="+string(g.JSON()))
	}
	return strings.Join(out, " ")
}

// TestConversions: what is stored of a value of a document, by the conversion and the type; and what the document has
// by what is stored: the value again, unless it says otherwise.
func TestConversions(t *testing.T) {
	for _, c := range []struct{ term, typ, raw, stored, back string }{
		{".v", "text", `"a"`, "a", ""}, {".v", "text", `""`, "", ""}, {".v", "text", "5",
			"(is a number, and text is a text; number(…) takes its digits)", ""},
		{".v", "text", "null", "(is null, not text)", ""}, {".v", "text", "{}", "(is an object or array, not text)", ""},
		{".v", "text", "true", "(is true or false, not text)", ""}, {".v", "text", "", "-", ".v="},
		{".v", "text max 2", `"abc"`, "(is not text of at most 2 bytes)", ""}, {".v", "a|b", `"b"`, "b", ""},
		{".v", "a|b", `"c"`, "(is not one of a, b)", ""}, {".v", "int", "5", "5", ""}, {".v", "int", "5.0", "5", ".v=5"},
		{".v", "int", "1e3", "1000", ".v=1000"}, {".v", "int", "5.5", "(is no whole number)", ""},
		{".v", "int", `"5"`, "(is a text; text(…) reads the number that it spells)", ""},
		{".v", "int", "9223372036854775807", "9223372036854775807", ""},
		{".v", "int", "9223372036854775808", "(is not an integer)", ""}, {".v", "int", "1e400", "(is no whole number)", ""},
		{".v", "int 1..3", "4", "(is not an integer in 1..3)", ""},
		{".v", "int", "true", "(is true or false, not a number)", ""},
		{".v", "float", "1.50", "1.5", ".v=1.5"}, {".v", "float", "0.1", "0.1", ""},
		{".v", "float", "1e2", "100", ".v=100"},
		{".v", "float", "0.1000000000000000055", "(has more digits than a float keeps)", ""},
		{".v", "float", "1e999", "(is beyond the range of a float)", ""}, {".v", "bool", "true", "true", ""},
		{".v", "bool", `"true"`, "(is a text; text(…) reads what it spells)", ""},
		{".v", "bool", "1", "(is a number, and bool is a text; number(…) takes its digits)", ""},
		{".v", "json", `{ "a": [1, 2] }`, `{"a":[1,2]}`, `.v={"a":[1,2]}`}, {".v", "json", "null", "null", ""},
		{".v", "json", `"a"`, `"a"`, ""}, {".v", "json", "1.50", "1.50", ""},
		{".v", "unix_s", "1700000000", "1700000000", ""}, {".v", "unix_ms", "1700000000000", "1700000000000", ""},
		{".v", "unix_s", "1.5", "(is no whole number; unix_s(…) and unix_ms(…) read fractions)", ""},
		{".v", "timestamp", `"2026-01-31T09:30:00Z"`, "2026-01-31T09:30:00Z", ""},
		{".v", "uuid", `"x"`, "(is not a lower-case UUID)", ""},
		{"text(.v)", "int", `"5"`, "5", ""}, {"text(.v)", "bool", `"true"`, "true", ""},
		{"text(.v)", "int", `"x"`, "(spells no number)", ""},
		{"text(.v)", "text", "5", "(text takes a text, and there is a number)", ""},
		{"text(.v)", "json", `"5"`, `"5"`, ""}, {"text(.v)", "int", "", "-", "-"},
		{"number(.v)", "text", "5.50", "5.50", ""},
		{"number(.v)", "text", `"5"`, "(number takes a number, and there is a text)", ""},
		{"id(.v)", "text", "5", "5", `.v="5"`}, {"id(.v)", "text", `"5"`, "5", ""},
		{"id(.v)", "text", "5e1", "50", `.v="50"`},
		{"id(.v)", "text", "5.5", "(id takes a whole number or a text, and there is a number)", ""},
		{"id(.v)", "text", "null", "(id takes a whole number or a text, and there is null)", ""},
		{"iso8601(.v)", "unix_s", `"2026-01-31T09:30:00Z"`, "1769851800", ""},
		{"iso8601(.v)", "unix_ms", `"2026-01-31T10:30:00.25+01:00"`, "1769851800250", `.v="2026-01-31T09:30:00.25Z"`},
		{"iso8601(.v)", "timestamp", `"2026-01-31 09:30"`, "2026-01-31T09:30:00Z", `.v="2026-01-31T09:30:00Z"`},
		{"iso8601(.v)", "unix_s", `"2026-01-31"`, "1769817600", `.v="2026-01-31T00:00:00Z"`},
		{"iso8601(.v)", "unix_s", `"2026-01-31 09:30:00 +0100"`, "1769848200", `.v="2026-01-31T08:30:00Z"`},
		{"iso8601(.v)", "unix_s", `"31.01.2026"`, "(is no time as ISO 8601 writes it)", ""},
		{"iso8601(.v)", "unix_s", `"2026-02-30"`, "(is no time as ISO 8601 writes it)", ""},
		{"iso8601(.v)", "unix_s", "5", "(iso8601 takes a text, and there is a number)", ""},
		{"unix_s(.v)", "unix_ms", "1700000000.5", "1700000000500", ""},
		{"unix_s(.v)", "timestamp", "0", "1970-01-01T00:00:00Z", ""},
		{"unix_s(.v)", "unix_s", "1e20", "(is no time: the number is out of range)", ""},
		{"unix_s(.v)", "timestamp", "-1.5", "1969-12-31T23:59:58.5Z", ""},
		{"unix_s(.v)", "timestamp", "-0.000000001", "1969-12-31T23:59:59.999999999Z", ""},
		{"unix_s(.v)", "timestamp", "253402300799", "9999-12-31T23:59:59Z", ""},
		{"unix_s(.v)", "timestamp", "253402300800", "(is no time: the number is out of range)", ""},
		{"unix_ms(.v)", "timestamp", "1500", "1970-01-01T00:00:01.5Z", ""},
		{"unix_ms(.v)", "unix_s", "1500", "1", ".v=1000"},
		{"unix_ms(text(.v))", "unix_ms", `"1500"`, "1500", ""},
		{"minutes(.v)", "int", `"09:30"`, "570", ""}, {"minutes(.v)", "int", `"00:00"`, "0", ""},
		{"minutes(.v)", "int", `"23:59"`, "1439", ""},
		{"minutes(.v)", "int", `"24:00"`, "(is no hour from 0 to 23 and minute from 0 to 59)", ""},
		{"minutes(.v)", "int", `"9"`, "(is no hour from 0 to 23 and minute from 0 to 59)", ""},
		{"minutes(.v)", "int", `"09:60"`, "(is no hour from 0 to 23 and minute from 0 to 59)", ""},
		{"minutes(.v)", "int", "5", `(minutes takes a text like "09:30", or two numbers)`, ""},
		{"minutes(.h, .m)", "int", "null", "570", ".h=9 .m=30"},
		{"minutes(.h, .v)", "int", `"30"`, `(minutes takes a text like "09:30", or two numbers)`, ""},
		{"slug(.v)", "slug", `"San  Diégo!"`, "san_diego", "(cannot be had back from slug)"},
		{"slug(.v)", "slug", `"__"`, "(has no letter or digit that a slug keeps)", ""},
		{"slug(.v)", "slug", `"A1 \u00e9 e\u0301x"`, "a1_e_ex", "(cannot be had back from slug)"},
		{"lower(.v)", "text", `"ÄB"`, "äb", "(cannot be had back from lower)"},
		{"base64(.v)", "bytes", `"AP8="`, "\x00\xff", ""}, {"base64(.v)", "bytes", `"AP8"`, "(is no base64)", ""},
		{"base64(.v)", "text", `"AP8="`, "(is bytes, not text)", ""},
		{"rename(.v, a=b)", "text", `"a"`, "b", ""}, {"rename(.v, a=b)", "text", `"x"`, "x", ""},
		{"rename(.v, a=b)", "text", `"b"`, "(is a word that another one is renamed to)", ""},
		{"rename(.v, a=b)", "text", "5", "(rename takes a text, and there is a number)", ""},
		{"rename(.v, a=b)", "text", "", "-", "-"},
		{"default(.v, 0)", "int", "5", "5", ""}, {"default(.v, 0)", "int", "", "0", ".v=0"},
		{"null(.v)", "int", "null", "-", ".v=null"}, {"null(.v)", "int", "5", "5", ""},
		{"const(on)", "a|on", "null", "on", "-"},
		{"place()", "float", "null", "3", "-"}, {"{c}", "int", "null", "(spells no number)", ""},
		{"{c}", "text", "null", "07", `{c}="07"`},
	} {
		s := slot(t, c.term, c.typ)
		raw := c.raw
		got := stored(t, s, raw)
		if got != c.stored {
			t.Errorf("%s of %s as %s: %q, want %q", c.term, c.raw, c.typ, got, c.stored)
			continue
		}
		if strings.HasPrefix(got, "(") {
			continue
		}
		back := given(s, got, got != "-")
		if want := c.back; want == "" && back != ".v="+c.raw || want != "" && want != "-" && back != want {
			t.Errorf("%s of %s as %s: back it is %s", c.term, c.raw, c.typ, back)
		}
	}
}

// TestWhatIsStoredByOthers: a stored text that no conversion would have made is refused, in words, or read as it is.
func TestWhatIsStoredByOthers(t *testing.T) {
	for _, c := range []struct{ term, typ, stored, want string }{
		{".v", "int", "x", "(is no number)"}, {".v", "int", "007", ".v=7"}, {".v", "float", "1e2", ".v=100"},
		{".v", "float", "inf", "(is no number)"}, {".v", "bool", "1", "(is neither true nor false)"},
		{".v", "unix_s", "x", "(is no Unix time)"}, {".v", "unix_s", "99999999999999999", "(is no Unix time)"},
		{".v", "unix_s", "1.5", "(is no whole number)"}, {"unix_s(.v)", "timestamp", "x", "(is no RFC 3339 timestamp)"},
		{".v", "timestamp", "x", `.v="x"`}, {".v", "json", "{", "(is no JSON)"}, {".v", "json", " [1] ", ".v=[1]"},
		{"number(.v)", "text", "x", "(is no number, and the document has one here)"},
		{"number(.v)", "text", "1e3", ".v=1e3"},
		{"minutes(.v)", "int", "1440", "(is no minute of a day)"}, {"minutes(.v)", "int", "-1", "(is no minute of a day)"},
		{"minutes(.h, .m)", "int", "61", ".h=1 .m=1"}, {"iso8601(.v)", "text", "x", "(is no time)"},
		{"rename(.v, a=b)", "text", "a", "(is a word that is renamed, and would be read as another one)"},
		{"base64(.v)", "bytes", "\xff", `.v="/w=="`}, {"default(.v, 0)", "int", "0", ".v=0"},
		{"const(on)", "text", "off", ""},
		{"text(.v)", "bool", "false", `.v="false"`}, {"text(number(.v))", "int", "5", ".v=5"},
	} {
		if got := given(slot(t, c.term, c.typ), c.stored, true); got != c.want {
			t.Errorf("%s of %q as %s: %s, want %s", c.term, c.stored, c.typ, got, c.want)
		}
	}
	if got := given(slot(t, "null(.v)", "int"), "", false); got != ".v=null" {
		t.Error(got)
	}
	if got := given(slot(t, "minutes(.v)", "int"), "", false); got == ".v=5" {
		t.Error(got)
	}
}

// TestNumbersAndTimesComeBack: a number, a time and any JSON in a document are the same after they were stored.
func TestNumbersAndTimesComeBack(t *testing.T) {
	ints, floats, seconds := slot(t, ".v", "int"), slot(t, ".v", "float"), slot(t, "unix_s(.v)", "timestamp")
	iso, texts := slot(t, "iso8601(.v)", "timestamp"), slot(t, ".v", "text")
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		n := rapid.Int64().Draw(rt, "n")
		f := rapid.Float64Range(-1e15, 1e15).Draw(rt, "f")
		at := time.Unix(rapid.Int64Range(-2_000_000_000, 9_000_000_000).Draw(rt, "s"),
			rapid.SampledFrom([]int64{0, 1, 500_000_000, 999_999_999, 120_000_000}).Draw(rt, "ns")).UTC()
		digits := strings.TrimSuffix(strconv.FormatFloat(f, 'f', -1, 64), ".0")
		text := string(jsontext.Quote(nil, rapid.String().Draw(rt, "text")))
		for _, c := range []struct {
			s   *Slot
			raw string
		}{{ints, strconv.FormatInt(n, 10)}, {floats, digits}, {texts, text},
			{iso, `"` + at.Format(time.RFC3339Nano) + `"`}} {
			if got := given(c.s, stored(t, c.s, c.raw), true); got != ".v="+c.raw && digits != "-0" {
				rt.Fatalf("%s: %s, stored as %q", c.raw, got, stored(t, c.s, c.raw))
			}
		}
		d, _ := unixText(time.Second)(at), ""
		if got := stored(t, seconds, d.Text); got != at.Format(time.RFC3339Nano) {
			rt.Fatalf("%v is %s seconds, which is %s", at, d.Text, got)
		}
	})
}

// TestSameValues: which spellings are one value, by the type, and the one spelling of each.
func TestSameValues(t *testing.T) {
	for _, c := range []struct {
		kind scalar.Kind
		a, b string
		same bool
	}{
		{scalar.Int, "5", "5.0", true}, {scalar.Int, "5", "6", false}, {scalar.Float, "1e3", "1000", true},
		{scalar.Float, "0.1", "0.10", true}, {scalar.Float, "x", "x", false}, {scalar.UnixS, "5", "05", true},
		{scalar.Bool, "true", "true", true}, {scalar.Bool, "true", "false", false}, {scalar.Bool, "1", "true", false},
		{scalar.Timestamp, "2026-01-31T09:30:00Z", "2026-01-31T10:30:00+01:00", true},
		{scalar.Timestamp, "2026-01-31T09:30:00Z", "1769851800", true},
		{scalar.Timestamp, "2026-01-31T09:30:00Z", "1769851800000", true},
		{scalar.Timestamp, "2026-01-31T09:30:00Z", "2026-01-31T09:30:01Z", false}, {scalar.Timestamp, "x", "x", false},
		{scalar.Text, "a", "a", false}, {scalar.UnixMS, "1500", "1500.0", true},
	} {
		if got := SameStored(c.kind, c.a, c.b); got != c.same || SameStored(c.kind, c.b, c.a) != got {
			t.Errorf("%s and %s are one %s: %t", c.a, c.b, c.kind, got)
		}
		if c.same && c.kind != scalar.Timestamp && Spelling(c.kind, c.a) != Spelling(c.kind, c.b) {
			t.Errorf("%s: %s and %s", c.kind, Spelling(c.kind, c.a), Spelling(c.kind, c.b))
		}
	}
	for _, c := range [][3]any{{scalar.Int, "007", "7"}, {scalar.Int, "x", "x"}, {scalar.Bool, "true", "true"},
		{scalar.Bool, "false", "false"}, {scalar.Bool, "yes", "yes"}, {scalar.Text, "007", "007"},
		{scalar.Timestamp, "2026-01-31T10:30:00+01:00", "2026-01-31T09:30:00Z"}, {scalar.Timestamp, "x", "x"}} {
		if got := Spelling(c[0].(scalar.Kind), c[1].(string)); got != c[2] {
			t.Errorf("%s of %v: %s", c[1], c[0], got)
		}
	}
	number := func(n string) Datum { return Datum{Kind: Number, Text: n} }
	if !SameInstant(number("99999999999"), number("99999999999000")) || SameInstant(number("100000000000"), number("1")) ||
		SameInstant(number("x"), number("x")) {
		t.Error("seconds end at 10^11")
	}
}

// TestKinds: what each JSON value is, and how it is written again.
func TestKinds(t *testing.T) {
	for raw, want := range map[string]kind{"": Nothing, "null": null, `"a\n"`: Text, "1.50": Number, "-1": Number,
		"true": boolean, "false": boolean, "{}": Compound, "[1, 2]": Compound} {
		d := Of([]byte(raw))
		if d.Kind != want || string(d.JSON()) != raw {
			t.Errorf("%s is %s, and %s again", raw, kindNames[d.Kind], d.JSON())
		}
	}
	at := Datum{Kind: Instant, Time: time.Date(2026, 1, 31, 10, 30, 0, 5000, time.FixedZone("", 3600))}
	if got := string(at.JSON()); got != `"2026-01-31T09:30:00.000005Z"` {
		t.Error(got)
	}
	if len(kindNames) != int(Spelled)+1 {
		t.Errorf("%d names", len(kindNames))
	}
}

// TestWants: a text that a capture may be is found by what its conversion gives, if it is the only one.
func TestWants(t *testing.T) {
	ask := func(texts ...string) func() ([]string, error) {
		return func() ([]string, error) { return texts, nil }
	}
	for _, c := range []struct {
		name, term, stored string
		ask                func() ([]string, error)
		want               string // "-": it stays unknown
	}{
		{"the one", "slug({c})", "san_diego", ask("Berlin", "San Diego"), "San Diego"},
		{"it twice", "slug({c})", "san_diego", ask("San Diego", "San Diego"), "San Diego"},
		{"two that give the same", "slug({c})", "san_diego", ask("San Diego", "san diego"), "-"},
		{"none", "slug({c})", "san_diego", ask("Berlin"), "-"}, {"nothing to ask", "slug({c})", "x", nil, "-"},
		{"one that cannot be converted", "slug({c})", "x", ask("!!", "X"), "X"},
		{"of the record", "lower(.v)", "x", ask("X"), "-"}, {"of another capture", "lower({d})", "x", ask("X"), "-"},
	} {
		w := &Want{Term: term(t, c.term), Stored: c.stored, Slot: slot(t, c.term, "text"), Ask: c.ask}
		if err := w.Find("c"); err != nil || w.Known != (c.want != "-") || w.Known && w.Text != c.want {
			t.Errorf("%s: %q %t %v", c.name, w.Text, w.Known, err)
		}
		if w.Known && (!w.Is("c", c.want) || w.Is("c", "other")) {
			t.Errorf("%s: Is", c.name)
		}
	}
	broken := errors.New("broken")
	w := &Want{Term: term(t, "lower({c})"), Slot: slot(t, "lower({c})", "text"),
		Ask: func() ([]string, error) { return nil, broken }}
	if err := w.Find("c"); err != broken || w.Known {
		t.Errorf("%v", err)
	}
	asked := []string{"B", "a", "B"}
	w = &Want{Term: term(t, "lower({c})"), Stored: "b", Slot: slot(t, "lower({c})", "text"), Ask: ask(asked...)}
	if err := w.Find("c"); err != nil || w.Text != "B" || !slices.Equal(asked, []string{"B", "a", "B"}) {
		t.Errorf("%q %v %q", w.Text, err, asked)
	}
	refs := []Given{{*term(t, "{a}"), Datum{}}, {*term(t, "{a}"), Datum{Kind: Text, Text: "x"}},
		{*term(t, "{b}"), Datum{Kind: Compound}}}
	for name, want := range map[string]string{"a": "x true", "b": " false", "c": " false"} {
		if text, ok := CaptureText(refs, name); fmt.Sprint(text, ok) != strings.TrimPrefix(want, " ") &&
			fmt.Sprintf("%s %t", text, ok) != want {
			t.Errorf("%s: %q %t", name, text, ok)
		}
	}
	if !OfRecord(term(t, "minutes(.h, {c})")) || OfRecord(term(t, "lower({c})")) || OfRecord(term(t, "const(x)")) {
		t.Error("OfRecord")
	}
	if NewSlot("x", nil, nil) != nil {
		t.Error("a slot of no term")
	}
	if s := NewSlot("x", term(t, ".v"), nil); s.Type.Kind != scalar.Text || !s.Free {
		t.Error("a slot of no type")
	}
}
