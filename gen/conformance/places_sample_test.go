package conformance_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keyspace/scalar"
)

// sample represents one value of a type: as a placeholder of a key, or stored.
type sample struct {
	name             string
	typ              scalar.Type
	declared         string // how the type is written, if not by its own text
	key              bool   // a placeholder
	sealed           bool   // encrypted
	optional, absent bool
	text             string // as it is in a key or under one
	at               time.Time
}

func (s sample) declaration() string {
	text := s.declared
	if s.optional {
		text += " optional"
	}
	if s.sealed {
		text += " encrypted"
	}
	return fmt.Sprintf("%s: %q", s.name, text)
}

// exact returns the sample as a double holds it.
func (s sample) exact() sample {
	if n, err := strconv.ParseInt(s.text, 10, 64); err == nil && s.typ.Kind == scalar.Int && (n > 1<<53 || n < -1<<53) {
		s.text = "9007199254740991"
	}
	return s
}

// clocked lists the types that are a time to Go, in a key too; there a timestamp is text.
var clocked = map[scalar.Kind]bool{scalar.Date: true, scalar.UnixS: true, scalar.UnixMS: true}

// take gives a field what the store writes into it of an id, if it does.
func (s *sample) take(id sample) {
	switch {
	case s.typ.Kind == scalar.Text, s.typ.Kind == id.typ.Kind:
		s.text, s.at = id.text, id.at
		if s.typ.Kind == scalar.Date {
			s.moved(id.at)
		}
	case clocked[id.typ.Kind] && (clocked[s.typ.Kind] || s.typ.Kind == scalar.Timestamp):
		s.moved(id.at)
	}
}

// moved is the time as the type holds it.
func (s *sample) moved(at time.Time) {
	s.at = at
	switch s.typ.Kind {
	case scalar.Date:
		d := key.NewDate(s.typ.Layout)
		s.text = d.Format(at)
		s.at, _ = d.Parse(s.text)
	case scalar.UnixS:
		s.text, s.at = strconv.FormatInt(at.Unix(), 10), time.Unix(at.Unix(), 0).UTC()
	case scalar.UnixMS:
		s.text = strconv.FormatInt(at.UnixMilli(), 10)
	case scalar.Timestamp:
		s.text = at.Format(time.RFC3339Nano)
	}
}

// moments are times that all of three languages hold.
var moments = []int64{951_782_400_000, 1_700_000_000_123, 1_709_210_096_120, 4_102_444_799_999, 86_400_000}

// wordings are values of the types that are text; those of a key are never empty and
// have neither a separator nor braces.
var wordings = map[scalar.Kind][]string{
	scalar.UUID: {"123e4567-e89b-12d3-a456-426614174000"},
	scalar.ULID: {"01ARZ3NDEKTSV4RRFFQ69G5FAV", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
	scalar.Slug: {"a", "blue-shirt_2", "0"}, scalar.Regexp: {"a", "abcx", "cc"},
	scalar.Float: {"0", "0.1", "-12.25", "3", "0.000001", "-0.000000015", "1200000000000000000000000"},
	scalar.Bool:  {"true", "false"}, scalar.JSON: {`{"a":[1,2.5,"x"],"b":{}}`, `[]`, `"text"`, `17`},
}

// sampled draws a value of a type.
func sampled(r *rand.Rand, name string, t scalar.Type, inKey bool) sample {
	s := sample{name: name, typ: t, declared: t.Definition(), key: inKey}
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	s.at = time.UnixMilli(moments[r.IntN(len(moments))]).UTC()
	switch t.Kind {
	case scalar.Text:
		s.text = one("a", "x y", "héé", "상품", `q"\'`, "a-b.c/d", "true", "12")
		if !inKey && r.IntN(4) == 0 {
			s.text = one("", "a:b", "{x}", "l\n2")
		}
		if t.Max > 0 && len(s.text) > t.Max {
			s.text = "short"
		}
	case scalar.Bytes:
		s.text = one("a", "\xff\xfe\x00z", "é")
	case scalar.Int:
		s.text = integer(r, t)
	case scalar.Hex:
		s.text = hex.EncodeToString([]byte{byte(r.IntN(256)), 0, 255, 17})
	case scalar.Enum:
		s.text = one(t.Values...)
	case scalar.Date, scalar.Timestamp, scalar.UnixS, scalar.UnixMS:
		s.moved(s.at)
	default:
		s.text = one(wordings[t.Kind]...)
	}
	return s
}

func integer(r *rand.Rand, t scalar.Type) string {
	pool := []int64{0, 1, 5, -1, -3, 42, 1<<53 + 1, -1<<53 - 1, 1<<63 - 1, -1 << 63}
	for {
		n := pool[r.IntN(len(pool))]
		if (!t.HasMin || n >= t.Low) && (!t.HasMax || n <= t.High) {
			return strconv.FormatInt(n, 10)
		}
	}
}

// goText returns the sample as Go has it in hand.
func (s sample) goText() string {
	switch s.typ.Kind {
	case scalar.Int, scalar.Bool:
		return s.text
	case scalar.Float:
		return s.text
	case scalar.JSON:
		return fmt.Sprintf("json.RawMessage(%q)", s.text)
	case scalar.Bytes:
		if !s.key {
			return fmt.Sprintf("[]byte(%q)", s.text)
		}
	case scalar.Timestamp:
		if !s.key {
			return fmt.Sprintf("at(%d)", s.at.UnixMilli())
		}
	case scalar.Date, scalar.UnixS, scalar.UnixMS:
		return fmt.Sprintf("at(%d)", s.at.UnixMilli())
	}
	return strconv.Quote(s.text)
}

// tsText returns the sample as TypeScript has it in hand.
func (s sample) tsText() string {
	switch s.typ.Kind {
	case scalar.Int:
		if n, _ := strconv.ParseInt(s.text, 10, 64); n > 1<<53-1 || n < -(1<<53-1) {
			return s.text + "n"
		}
		return s.text
	case scalar.Bool:
		return s.text
	case scalar.Bytes:
		return strings.ReplaceAll(fmt.Sprintf("Uint8Array.from(%v)", []byte(s.text)), " ", ", ")
	}
	if !s.key {
		switch s.typ.Kind {
		case scalar.Float, scalar.JSON:
			return s.text
		case scalar.Date, scalar.Timestamp, scalar.UnixS, scalar.UnixMS:
			return fmt.Sprintf("new Date(%d)", s.at.UnixMilli())
		}
	} else if s.typ.Kind == scalar.UnixS || s.typ.Kind == scalar.UnixMS {
		return s.text
	}
	return quoted(s.text)
}

// pyText returns the sample as Python has it in hand.
func (s sample) pyText() string {
	switch s.typ.Kind {
	case scalar.Int:
		return s.text
	case scalar.Bool:
		return strings.ToUpper(s.text[:1]) + s.text[1:]
	case scalar.Bytes:
		var b strings.Builder
		for _, c := range []byte(s.text) {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return `b"` + b.String() + `"`
	}
	if !s.key {
		switch s.typ.Kind {
		case scalar.Float:
			if !strings.Contains(s.text, ".") {
				return s.text + ".0" // a float, and not an int that equals it
			}
			return s.text
		case scalar.JSON:
			return "json.loads(" + quoted(s.text) + ")"
		case scalar.Date:
			if s.typ.Layout == scalar.DefaultLayout {
				return fmt.Sprintf("at(%d).date()", s.at.UnixMilli())
			}
			return fmt.Sprintf("at(%d)", s.at.UnixMilli())
		case scalar.Timestamp, scalar.UnixS, scalar.UnixMS:
			return fmt.Sprintf("at(%d)", s.at.UnixMilli())
		}
	} else if s.typ.Kind == scalar.UnixS || s.typ.Kind == scalar.UnixMS {
		return s.text
	}
	return quoted(s.text)
}

// quoted returns a text as TypeScript and Python write it; none is beyond the BMP.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		if r == '"' || r == '\\' || r < ' ' || r > '~' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
