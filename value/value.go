// Package value is how generated code writes and reads what is stored under a
// key: one codec per scalar type, and one for JSON and for structs whose fields
// are those of a hash. Writing checks a value against its declared type; reading
// is lenient where the type only narrows (a range, an enum's words), so that an
// older reader survives a value of a newer writer.
//
// It knows no key and no server.
//
// API: may change until 1.0.
package value

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace/key"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Codec writes and reads one type of value.
type Codec[T any] struct {
	Append func(dst []byte, v T) ([]byte, error)
	Parse  func(text string) (T, error)
	// Text is Append for types that are text already: it copies nothing. nil: none.
	Text func(v T) (string, error)

	bind func(seal, open Seals) *Codec[T] // of what is stored sealed
}

// Encode returns a value as text of its own.
func (c *Codec[T]) Encode(v T) (string, error) {
	if c.Text != nil {
		return c.Text(v)
	}
	var few [48]byte
	b, err := c.Append(few[:0], v)
	if err != nil {
		return "", err
	}
	if cap(b) > len(few) { // it has outgrown the stack and is no other's
		return key.String(b), nil
	}
	return string(b), nil
}

// Error represents a value that does not fit its declared type, or one field of it. It
// does not show the value.
type Error struct {
	Field  string // "" for a whole value
	Reason string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return "the value " + e.Reason
	}
	return "the field " + e.Field + " " + e.Reason
}

// Bad makes an Error.
func Bad(reason string) error { return &Error{Reason: reason} }

// In says in which field an error is.
func In(field string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Field: field, Reason: e.Reason}
	}
	return err
}

// Text returns text of at most limit bytes, 0 for any.
func Text(limit int) Codec[string] {
	return Codec[string]{
		Append: func(dst []byte, v string) ([]byte, error) {
			if limit > 0 && len(v) > limit {
				return dst, Bad("is longer than " + strconv.Itoa(limit) + " bytes")
			}
			return append(dst, v...), nil
		},
		Parse: func(text string) (string, error) { return text, nil },
		Text: func(v string) (string, error) {
			if limit > 0 && len(v) > limit {
				return "", Bad("is longer than " + strconv.Itoa(limit) + " bytes")
			}
			return v, nil
		},
	}
}

// Checked returns text that a function of package key checks when it is written.
func Checked(check func(string) (reason string)) Codec[string] {
	return Codec[string]{
		Append: func(dst []byte, v string) ([]byte, error) {
			if reason := check(v); reason != "" {
				return dst, Bad(reason)
			}
			return append(dst, v...), nil
		},
		Parse: func(text string) (string, error) { return text, nil },
		Text: func(v string) (string, error) {
			if reason := check(v); reason != "" {
				return "", Bad(reason)
			}
			return v, nil
		},
	}
}

// Bytes returns any bytes. What Parse gives is a copy.
func Bytes() Codec[[]byte] {
	return Codec[[]byte]{
		Append: func(dst []byte, v []byte) ([]byte, error) { return append(dst, v...), nil },
		Parse:  func(text string) ([]byte, error) { return []byte(text), nil },
		Text:   func(v []byte) (string, error) { return string(v), nil },
	}
}

// Base64 returns bytes inside a JSON text.
func Base64[T ~[]byte]() Codec[T] {
	return Codec[T]{
		Append: func(dst []byte, v T) ([]byte, error) { return base64.StdEncoding.AppendEncode(dst, v), nil },
		Parse: func(text string) (T, error) {
			b, err := scalar.Base64([]byte(text))
			if err != nil {
				return nil, Bad("is not base64")
			}
			return b, nil
		},
	}
}

// Int returns a whole number of 64 bits from low to high. Reading takes what INCR
// takes.
func Int(low, high int64) Codec[int64] {
	return Codec[int64]{
		Append: func(dst []byte, v int64) ([]byte, error) {
			if reason := key.Int(v, low, high); reason != "" {
				return dst, Bad(reason)
			}
			return strconv.AppendInt(dst, v, 10), nil
		},
		Parse: func(text string) (int64, error) {
			if n, ok := key.ParseInt(text, math.MinInt64, math.MaxInt64); ok {
				return n, nil
			}
			return 0, Bad("is not a whole number of 64 bits")
		},
	}
}

// Float returns a number, written as a key has it, so that an index finds what is stored, and
// as other languages write it; reading takes exponents and infinities too.
func Float() Codec[float64] {
	return Codec[float64]{
		Append: func(dst []byte, v float64) ([]byte, error) {
			if math.IsNaN(v) {
				return dst, Bad("is not a number")
			}
			if math.IsInf(v, 0) {
				if v < 0 {
					dst = append(dst, '-')
				}
				return append(dst, "inf"...), nil
			}
			return key.AppendFloat(dst, v), nil
		},
		Parse: func(text string) (float64, error) {
			f, ok := scalar.ParseFloat(text)
			if !ok {
				return 0, Bad("is not a number")
			}
			return f, nil
		},
	}
}

// Bool is true or false.
func Bool() Codec[bool] {
	return Codec[bool]{
		Append: func(dst []byte, v bool) ([]byte, error) { return strconv.AppendBool(dst, v), nil },
		Parse: func(text string) (bool, error) {
			v, ok := key.ParseBool(text)
			if !ok {
				return false, Bad("is neither true nor false")
			}
			return v, nil
		},
	}
}

// Enum is one of some words.
func Enum[T ~string](words ...T) Codec[T] {
	return Codec[T]{
		Append: func(dst []byte, v T) ([]byte, error) {
			for _, w := range words {
				if v == w {
					return append(dst, v...), nil
				}
			}
			return dst, Bad(fmt.Sprintf("is not one of %v", words))
		},
		Parse: func(text string) (T, error) { return T(text), nil },
	}
}

// UnixS returns a time in whole seconds, read in UTC.
func UnixS() Codec[time.Time] {
	return unix("seconds", scalar.LastSecond, time.Time.Unix, func(n int64) time.Time { return time.Unix(n, 0).UTC() })
}

// UnixMS returns a time in whole milliseconds, read in UTC.
func UnixMS() Codec[time.Time] {
	const last = scalar.LastSecond*1000 + 999
	return unix("milliseconds", last, func(t time.Time) int64 {
		switch s := t.Unix(); { // its milliseconds may be beyond 64 bits
		case s < 0:
			return -1
		case s > scalar.LastSecond:
			return last + 1
		}
		return t.UnixMilli()
	},
		func(n int64) time.Time { return time.UnixMilli(n).UTC() })
}

func unix(unit string, last int64, to func(time.Time) int64, from func(int64) time.Time) Codec[time.Time] {
	return Codec[time.Time]{
		Append: func(dst []byte, v time.Time) ([]byte, error) {
			n := to(v)
			if n < 0 {
				return dst, Bad("is before 1970, or was not set")
			}
			if n > last {
				return dst, Bad("is after the year 9999")
			}
			return strconv.AppendInt(dst, n, 10), nil
		},
		Parse: func(text string) (time.Time, error) {
			n, ok := key.ParseInt(text, 0, last)
			if !ok {
				return time.Time{}, Bad("is not a Unix time in " + unit)
			}
			return from(n), nil
		},
	}
}

// isTimestamp reports whether what time.Parse has read has the form: it takes a comma, hours of
// one digit, ten decimals and offsets of a day, too.
func isTimestamp(text string) bool {
	if len(text) < len("2006-01-02T15:04:05Z") || text[13] != ':' {
		return false
	}
	zone := text[19:]
	if zone[0] == '.' {
		n := 1
		for n < len(zone) && '0' <= zone[n] && zone[n] <= '9' {
			n++
		}
		if n > 10 {
			return false
		}
		zone = zone[n:]
	}
	return zone == "Z" || len(zone) == len("+07:00") && zone[1:3] <= "23" && zone[4:] <= "59"
}

// Timestamp is RFC 3339 with up to nine decimals.
func Timestamp() Codec[time.Time] {
	return Codec[time.Time]{
		Append: func(dst []byte, v time.Time) ([]byte, error) {
			if y := v.Year(); y < 0 || y > 9999 {
				return dst, Bad("has a year that four digits cannot say")
			}
			return v.AppendFormat(dst, time.RFC3339Nano), nil
		},
		Parse: func(text string) (time.Time, error) {
			t, err := time.Parse(time.RFC3339Nano, text)
			if err != nil || !isTimestamp(text) {
				return time.Time{}, Bad("is not an RFC 3339 timestamp")
			}
			return t, nil
		},
	}
}

// Date returns a day or hour in a layout.
func Date(layout string) Codec[time.Time] {
	d := key.NewDate(layout)
	return Codec[time.Time]{
		Append: func(dst []byte, v time.Time) ([]byte, error) {
			if reason := d.Check(v); reason != "" {
				return dst, Bad(reason)
			}
			return d.Append(dst, v), nil
		},
		Parse: func(text string) (time.Time, error) {
			t, ok := d.Parse(text)
			if !ok {
				return t, Bad("is not a date like " + layout)
			}
			return t, nil
		},
	}
}

// notUTF8 says of JSON that it would be read with other characters than it was written with.
const notUTF8 = "is not UTF-8, which JSON texts are"

// JSON returns any JSON that T takes.
func JSON[T any]() Codec[T] {
	return Codec[T]{
		Append: func(dst []byte, v T) ([]byte, error) {
			text, err := Marshal(v)
			if err != nil {
				if e, ok := errors.AsType[*Error](err); ok {
					return dst, e
				}
				return dst, Bad("cannot be written as JSON: " + err.Error())
			}
			return append(dst, text...), nil
		},
		Parse: func(text string) (v T, err error) {
			if !utf8.ValidString(text) {
				return v, Bad(notUTF8)
			}
			if err = json.Unmarshal([]byte(text), &v); err != nil {
				return v, jsonError(err)
			}
			return v, nil
		},
	}
}

// Raw is JSON that is passed on as it is, but checked.
func Raw() Codec[json.RawMessage] {
	return Codec[json.RawMessage]{
		Append: func(dst []byte, v json.RawMessage) ([]byte, error) {
			if !scalar.ValidJSON(v) {
				return dst, Bad("is not JSON")
			}
			return append(dst, v...), nil
		},
		Text: func(v json.RawMessage) (string, error) {
			if !scalar.ValidJSON(v) {
				return "", Bad("is not JSON")
			}
			return string(v), nil
		},
		Parse: func(text string) (json.RawMessage, error) {
			if v := json.RawMessage(text); scalar.ValidJSON(v) {
				return v, nil
			}
			return nil, Bad("is not JSON")
		},
	}
}

// Marshal returns json.Marshal without writing <, > and & as escapes: what is stored
// is read by programs, not by browsers.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// jsonError tells where JSON does not fit without showing what it holds.
func jsonError(err error) error {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return &Error{Field: typ.Field, Reason: "is a JSON " + firstWord(typ.Value) + ", not " + typ.Type.String()}
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return Bad("is not JSON")
}

// firstWord leaves out the number that encoding/json quotes after the kind.
func firstWord(s string) string {
	for i := range len(s) {
		if s[i] == ' ' {
			return s[:i]
		}
	}
	return s
}

// Sealed describes what is declared encrypted where no place is known, as in arguments
// of scripts: the caller seals it first, by Client.Seal, so that no plain
// text can get there by mistake.
type Sealed []byte

// Opaque returns the codec of texts that the caller seals and opens.
func Opaque() Codec[Sealed] {
	return Codec[Sealed]{
		Append: func(dst []byte, v Sealed) ([]byte, error) { return append(dst, v...), nil },
		Parse:  func(text string) (Sealed, error) { return Sealed(text), nil },
	}
}

// Matched returns text of a scalar type whose values an automaton decides: regular
// expressions, ULIDs. The automaton is made at the first write.
func Matched(text string) Codec[string] {
	compile := sync.OnceValue(func() *scalar.Language {
		t, err := scalar.Parse(text, nil)
		if err != nil {
			return nil
		}
		l, _ := t.Value()
		return l
	})
	return Checked(func(s string) string {
		if l := compile(); l != nil && l.Accepts(s) {
			return ""
		}
		return "is not " + text
	})
}
