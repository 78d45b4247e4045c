package value_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/value"
	"pgregory.net/rapid"
)

type color string

// thing has a field of every form in which a scalar is in JSON and in a hash.
type thing struct {
	Text   string
	Int    int64
	Float  float64
	Bool   bool
	Bytes  []byte
	UUID   string
	Day    time.Time
	Stamp  time.Time
	S, MS  time.Time
	Color  color
	Match  string
	JSON   json.RawMessage
	Sealed value.Sealed
	None   *int64
	Some   *string
}

var (
	text, number, float, boolean = value.Text(100), value.Int(math.MinInt64, math.MaxInt64), value.Float(), value.Bool()
	uuid, day, stamp             = value.Checked(key.UUID), value.Date("YYYY-MM-DD"), value.Timestamp()
	seconds, millis              = value.UnixS(), value.UnixMS()
	colors                       = value.Enum(color("red"), color("a|b"))
	matched, raw                 = value.Matched("/[a-z]:[0-9]/"), value.Raw()
	binary, opaque               = value.Bytes(), value.Opaque()
	inJSON, sealed               = value.Base64[[]byte](), value.Base64[value.Sealed]()
)

var members = []value.ObjectColumn[thing]{
	value.Member("text", value.Quoted, text, func(t *thing) *string { return &t.Text }),
	value.Member("int", value.Bare, number, func(t *thing) *int64 { return &t.Int }),
	value.Member("float", value.Bare, float, func(t *thing) *float64 { return &t.Float }),
	value.Member("bool", value.Bare, boolean, func(t *thing) *bool { return &t.Bool }),
	value.Member("bytes", value.Quoted, inJSON, func(t *thing) *[]byte { return &t.Bytes }),
	value.Member("uuid", value.Quoted, uuid, func(t *thing) *string { return &t.UUID }),
	value.Member("day", value.Quoted, day, func(t *thing) *time.Time { return &t.Day }),
	value.Member("stamp", value.Quoted, stamp, func(t *thing) *time.Time { return &t.Stamp }),
	value.Member("s", value.Bare, seconds, func(t *thing) *time.Time { return &t.S }),
	value.Member("ms", value.Bare, millis, func(t *thing) *time.Time { return &t.MS }),
	value.Member("color", value.Quoted, colors, func(t *thing) *color { return &t.Color }),
	value.Member("match", value.Quoted, matched, func(t *thing) *string { return &t.Match }),
	value.Member("json", value.Inline, raw, func(t *thing) *json.RawMessage { return &t.JSON }),
	value.Member("sealed", value.Quoted, sealed, func(t *thing) *value.Sealed { return &t.Sealed }),
	value.OptionalMember("none", value.Bare, number, func(t *thing) **int64 { return &t.None }),
	value.OptionalMember("some", value.Quoted, text, func(t *thing) **string { return &t.Some }),
}

func (t thing) MarshalJSON() ([]byte, error)     { return value.MarshalObject(members, &t) }
func (t *thing) UnmarshalJSON(text []byte) error { return value.UnmarshalObject(members, text, t) }

var fields = value.Fields[thing]{Columns: []value.Column[thing]{
	value.Required("text", text, func(t *thing) *string { return &t.Text }),
	value.Required("int", number, func(t *thing) *int64 { return &t.Int }),
	value.Required("float", float, func(t *thing) *float64 { return &t.Float }),
	value.Required("bool", boolean, func(t *thing) *bool { return &t.Bool }),
	value.Required("bytes", binary, func(t *thing) *[]byte { return &t.Bytes }),
	value.Required("uuid", uuid, func(t *thing) *string { return &t.UUID }),
	value.Required("day", day, func(t *thing) *time.Time { return &t.Day }),
	value.Required("stamp", stamp, func(t *thing) *time.Time { return &t.Stamp }),
	value.Required("s", seconds, func(t *thing) *time.Time { return &t.S }),
	value.Required("ms", millis, func(t *thing) *time.Time { return &t.MS }),
	value.Required("color", colors, func(t *thing) *color { return &t.Color }),
	value.Required("match", matched, func(t *thing) *string { return &t.Match }),
	value.Required("json", raw, func(t *thing) *json.RawMessage { return &t.JSON }),
	value.Required("sealed", opaque, func(t *thing) *value.Sealed { return &t.Sealed }),
	value.Optional("none", number, func(t *thing) **int64 { return &t.None }),
	value.Optional("some", text, func(t *thing) **string { return &t.Some }),
}}

func draw(t *rapid.T) thing {
	some := rapid.StringN(0, 20, 100).Draw(t, "some")
	moment := rapid.Int64Range(0, 99_999_999_999).Draw(t, "moment")
	return thing{
		Text: rapid.StringN(0, 20, 100).Draw(t, "text"), Int: rapid.Int64().Draw(t, "int"),
		Float: rapid.Float64().Draw(t, "float"), Bool: rapid.Bool().Draw(t, "bool"),
		Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"), UUID: "01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f",
		Day:   time.Unix(moment, 0).UTC().Truncate(24 * time.Hour),
		Stamp: time.Unix(moment, rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(), S: time.Unix(moment, 0).UTC(),
		MS:    time.UnixMilli(moment).UTC(),
		Color: rapid.SampledFrom([]color{"red", "a|b"}).Draw(t, "color"), Match: "x:7",
		JSON: json.RawMessage(`{"a":[1,"<&>"]}`), Sealed: rapid.SliceOf(rapid.Byte()).Draw(t, "sealed"), Some: &some,
	}
}

func same(a, b thing) bool {
	return a.Text == b.Text && a.Int == b.Int && a.Float == b.Float && a.Bool == b.Bool &&
		string(a.Bytes) == string(b.Bytes) && a.UUID == b.UUID && a.Day.Equal(b.Day) && a.Stamp.Equal(b.Stamp) &&
		a.S.Equal(b.S) && a.MS.Equal(b.MS) && a.Color == b.Color && a.Match == b.Match && string(a.JSON) == string(b.JSON) &&
		string(a.Sealed) == string(b.Sealed) && a.None == nil && b.None == nil && *a.Some == *b.Some
}

// TestRoundTrips: what is written is read back, as JSON and as fields.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	codec := value.JSON[thing]()
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		v := draw(t)
		written, err := codec.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.Parse(string(written))
		if err != nil || !same(v, back) {
			t.Fatalf("%s: %+v, %v", written, back, err)
		}
		args, err := fields.Append(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		stored := map[string]string{"unknown": "x"}
		for i := 0; i < len(args); i += 2 {
			stored[args[i]] = args[i+1]
		}
		if back, err = fields.Parse(stored); err != nil || !same(v, back) {
			t.Fatalf("%q: %+v, %v", args, back, err)
		}
	})
}

// TestFaults name the field, say why, and never show the value.
func TestFaults(t *testing.T) {
	t.Parallel()
	codec := value.JSON[thing]()
	good, err := codec.Append(nil, thing{UUID: "01932f6e-7c1a-7d3e-8f60-2b1c9a4d5e6f", Day: time.Unix(0, 0),
		S: time.Unix(0, 0), MS: time.Unix(0, 0), Color: "red", Match: "x:7", JSON: json.RawMessage("1"),
		Stamp: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, field string }{
		{`"int":0`, `"int":"hunter2"`, "int"}, {`"int":0`, `"int":1.5`, "int"}, {`"bool":false`, `"bool":0`, "bool"},
		{`"text":""`, `"text":7`, "text"}, {`"day":"1970-01-01"`, `"day":"hunter2"`, "day"},
		{`"bytes":""`, `"bytes":"hunter2!"`, "bytes"}, {`"s":0`, `"s":-1`, "s"}, {`"text":"",`, ``, "text"},
		{`"text":""`, `"text":null`, "text"}, {`{`, `hunter2`, ""}, {`"int":0`, `"int":{"a":1}`, "int"},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		_, err := codec.Parse(text)
		e, ok := errors.AsType[*value.Error](err)
		if text == string(good) || !ok || e.Field != c.field || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s → %s: %v", c.old, c.new, err)
		}
	}
	inf := thing{UUID: "00000000-0000-0000-0000-000000000000", Float: math.Inf(-1)}
	for name, v := range map[string]thing{"uuid": {}, "float": inf, "text": {Text: strings.Repeat("hunter2", 20)}} {
		_, err := codec.Append(nil, v)
		if e, ok := errors.AsType[*value.Error](err); !ok || e.Field != name || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, err := range []error{expect.Err(value.Text(3).Append(nil, "abcd")), expect.Err(value.Int(1, 5).Append(nil, 6)),
		expect.Err(float.Append(nil, math.NaN())), expect.Err(colors.Append(nil, "blue")),
		expect.Err(millis.Append(nil, time.Time{})),
		expect.Err(matched.Append(nil, "X")), expect.Err(raw.Append(nil, json.RawMessage("{"))),
		expect.Err(stamp.Append(nil, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))), expect.Err(number.Parse("1.0")),
		expect.Err(boolean.Parse("yes")), expect.Err(float.Parse("nan")), expect.Err(day.Parse("2026-02-30"))} {
		if err == nil {
			t.Error("a value that does not fit was taken")
		}
	}
}

func TestScores(t *testing.T) {
	t.Parallel()
	whole := value.IntScore(0, math.MaxInt64)
	if _, err := whole.Append(nil, 1<<53+1); err == nil {
		t.Error("a score that a double does not hold was taken")
	}
	if n, err := whole.From(1 << 53); err != nil || n != 1<<53 {
		t.Error(n, err)
	}
	if _, err := whole.From(1.5); err == nil {
		t.Error("half a number")
	}
	moments := value.UnixMSScore()
	if at, err := moments.From(1795167000123); err != nil || !at.Equal(time.UnixMilli(1795167000123)) {
		t.Error(at, err)
	}
}

// TestTextIsAppend: the two ways to write one value agree.
// TestJSONIsUTF8: JSON of other bytes would be read with other characters than were written,
// and is refused by readers in other languages.
func TestJSONIsUTF8(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{"{\"text\":\"\u00e9\"}": true, "{\"text\":\"\xff\"}": false} {
		var v thing
		column := []value.ObjectColumn[thing]{value.Member("text", value.Quoted, value.Text(0),
			func(t *thing) *string { return &t.Text })}
		_, rawErr := value.Raw().Parse(text)
		_, ofErr := value.JSON[map[string]string]().Parse(text)
		_, writeErr := value.Raw().Append(nil, json.RawMessage(text))
		_, textErr := value.Raw().Text(json.RawMessage(text))
		for what, err := range map[string]error{
			"raw": rawErr, "typed": ofErr, "written": writeErr, "as text": textErr,
			"object": value.UnmarshalObject(column, []byte(text), &v),
		} {
			if (err == nil) != good {
				t.Errorf("%q, %s: %v", text, what, err)
			}
		}
	}
}

// TestUnixTimesEndWithTheYear9999: as TypeScript, Python and an audit read them.
func TestUnixTimesEndWithTheYear9999(t *testing.T) {
	t.Parallel()
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
	for _, c := range []value.Codec[time.Time]{value.UnixS(), value.UnixMS()} {
		text, err := c.Append(nil, last)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := c.Parse(string(text)); err != nil || back.Year() != 9999 {
			t.Errorf("%s: %v, %v", text, back, err)
		}
		// whose milliseconds are beyond 64 bits, too
		for _, beyond := range []time.Time{last.Add(time.Millisecond), time.Unix(18446744073709552, 0), time.Unix(1<<60, 0),
			time.Unix(-18446744073709552, 0)} {
			if text, err := c.Append(nil, beyond); err == nil {
				t.Errorf("%s is written", text)
			}
		}
		if _, err := c.Parse("253402300800000"); err == nil {
			t.Error("a time that others do not read is read")
		}
	}
}

func TestTextIsAppend(t *testing.T) {
	t.Parallel()
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		for _, c := range []value.Codec[string]{value.Text(0), value.Text(5), value.Checked(key.Slug),
			value.Matched("/[a-z]+/")} {
			slow, err1 := c.Append(nil, s)
			fast, err2 := c.Encode(s)
			if (err1 == nil) != (err2 == nil) || err1 == nil && string(slow) != fast {
				t.Fatalf("%q: %q %v, %q %v", s, slow, err1, fast, err2)
			}
		}
	})
}

// TestFloatsHaveTheSpellingOfKeys: an index is looked up under the key's spelling of what
// is stored.
func TestFloatsHaveTheSpellingOfKeys(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0.000001: "0.000001", -1.5e-8: "-0.000000015",
		1.2e24: "1200000000000000000000000", 3: "3", math.Copysign(0, -1): "-0", math.Inf(1): "inf", math.Inf(-1): "-inf"} {
		if got, err := value.Float().Append(nil, v); err != nil || string(got) != want {
			t.Errorf("%v is stored as %s, %v", v, got, err)
		}
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		if got, _ := value.Float().Append(nil, v); !math.IsInf(v, 0) && string(got) != string(key.AppendFloat(nil, v)) {
			t.Fatalf("%v is stored as %s", v, got)
		}
	})
}
