// Package key is how generated code builds keys and reads them: one small
// function per type of placeholder that checks a value and appends it, and one
// that reads it back. Whatever it accepts is what keyspace/pattern accepts; a
// test holds the two against each other.
//
// It is not a pattern engine: where a placeholder ends is decided by the code
// that is generated for a pattern. The few patterns for which that takes more
// than looking for a byte use Slow, which is keyspace/pattern itself.
//
// API: may change until 1.0.
package key

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Error represents a value that cannot be part of a key. It does not show the value.
type Error struct {
	Entry       string
	Placeholder string // "": each value can, and the key as a whole is another one
	Reason      string
}

func (e *Error) Error() string {
	if e.Placeholder == "" {
		return e.Entry + ": the key " + e.Reason
	}
	return fmt.Sprintf("%s: the value for {%s} %s", e.Entry, e.Placeholder, e.Reason)
}

// Refuse makes the error of a placeholder, or of a key as a whole ("" for the placeholder), nil without a reason.
func Refuse(entry, placeholder, reason string) error {
	if reason == "" {
		return nil
	}
	return &Error{entry, placeholder, reason}
}

// Reasons for refusing a value.
const (
	empty     = "is empty"
	separator = "holds the separator ':'"
	brace     = "holds a brace, which would move the key to another cluster slot"
)

// String returns the text of b, which no one changes any more, without copying it.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Text says why s cannot stand for `text` or `bytes`: limit is its most bytes (0: none),
// whole whether it may hold the separator, tagged whether braces would move the
// key to another slot.
func Text(s string, limit int, whole, tagged bool) (reason string) {
	switch {
	case s == "":
		return empty
	case !whole && strings.IndexByte(s, scalar.Separator) >= 0:
		return separator
	case tagged && strings.ContainsAny(s, "{}"):
		return brace
	case limit > 0 && len(s) > limit:
		return "is longer than " + strconv.Itoa(limit) + " bytes"
	}
	return ""
}

// Int says why n cannot stand for an int from low to high.
func Int(n, low, high int64) (reason string) {
	if n < low || n > high {
		return outside(low, high)
	}
	return ""
}

func outside(low, high int64) string {
	switch {
	case low == math.MinInt64:
		return fmt.Sprintf("is above %d", high)
	case high == math.MaxInt64:
		return fmt.Sprintf("is below %d", low)
	}
	return fmt.Sprintf("is not in %d..%d", low, high)
}

// ParseInt reads an int in its only spelling. A number beyond 64 bits is none.
func ParseInt(s string, low, high int64) (n int64, ok bool) {
	digits := s
	if s != "" && s[0] == '-' {
		digits = s[1:]
	}
	if digits == "" || len(digits) > 19 || digits[0] == '0' && (len(digits) > 1 || len(s) > 1) {
		return 0, false
	}
	var u uint64
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d)
	}
	switch negative := len(s) != len(digits); {
	case negative && u <= 1<<63:
		n = -int64(u)
	case !negative && u < 1<<63:
		n = int64(u)
	default:
		return 0, false
	}
	return n, n >= low && n <= high
}

// Float says why f cannot stand for a float.
func Float(f float64) (reason string) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "is no finite number"
	}
	return ""
}

// AppendFloat appends f in its only spelling: no exponent, no trailing zeros.
func AppendFloat(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'f', -1, 64) }

// ParseFloat reads a float that AppendFloat would write the same way.
func ParseFloat(s string) (f float64, ok bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || Float(f) != "" {
		return 0, false
	}
	var buffer [400]byte
	return f, string(AppendFloat(buffer[:0], f)) == s
}

// ParseBool reads a bool.
func ParseBool(s string) (v, ok bool) { return s == "true", s == "true" || s == "false" }

// UUID says why s is no lower-case UUID.
func UUID(s string) (reason string) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' ||
		!hexDigits(s[:8]) || !hexDigits(s[9:13]) || !hexDigits(s[14:18]) || !hexDigits(s[19:23]) || !hexDigits(s[24:]) {
		return "is not a lower-case UUID"
	}
	return ""
}

// Hex says why s is not lower-case hexadecimal digits, exactly n of them unless
// n is 0.
func Hex(s string, n int) (reason string) {
	if s == "" || n > 0 && len(s) != n || !hexDigits(s) {
		if n > 0 {
			return "is not " + strconv.Itoa(n) + " lower-case hexadecimal digits"
		}
		return "is not lower-case hexadecimal digits"
	}
	return ""
}

func hexDigits(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

// Slug says why s is no slug.
func Slug(s string) (reason string) {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && (c == '-' || c == '_')) {
			return "is not a slug (a-z, 0-9, _ and -)"
		}
	}
	if s == "" {
		return empty
	}
	return ""
}

// OneOf says why s is not a word of an enum.
func OneOf(s string, words ...string) (reason string) {
	for _, w := range words {
		if s == w {
			return ""
		}
	}
	return "is not one of " + strings.Join(words, ", ")
}

// bounds of times in keys, as keyspace/scalar has them.
const (
	maxUnixS  = 99_999_999_999
	maxUnixMS = 99_999_999_999_999
)

// UnixS says why t cannot stand for a Unix time in seconds.
func UnixS(t time.Time) (reason string) { return Int(t.Unix(), 0, maxUnixS) }

// UnixMS says why t cannot stand for a Unix time in milliseconds.
func UnixMS(t time.Time) (reason string) {
	if s := t.Unix(); s < 0 || s > maxUnixMS/1000 { // its milliseconds may be beyond 64 bits
		return outside(0, maxUnixMS)
	}
	return ""
}

// ParseUnixS reads a Unix time in seconds.
func ParseUnixS(s string) (t time.Time, ok bool) {
	n, ok := ParseInt(s, 0, maxUnixS)
	return time.Unix(n, 0).UTC(), ok
}

// ParseUnixMS reads a Unix time in milliseconds.
func ParseUnixMS(s string) (t time.Time, ok bool) {
	n, ok := ParseInt(s, 0, maxUnixMS)
	return time.UnixMilli(n).UTC(), ok
}

// Type represents a scalar type whose values are decided by its automaton, made when it
// is first needed: regular expressions and timestamps.
type Type struct {
	text    string
	compile func() *scalar.Language
}

// NewType makes a Type of its text in a declaration.
func NewType(text string) *Type {
	t := &Type{text: text}
	t.compile = sync.OnceValue(func() *scalar.Language {
		parsed, err := scalar.Parse(text, nil)
		if err != nil {
			return nil
		}
		l, _ := parsed.Key()
		return l
	})
	return t
}

// Text says why s is no value of the type.
func (t *Type) Text(s string, tagged bool) (reason string) {
	if tagged && strings.ContainsAny(s, "{}") {
		return brace
	}
	if l := t.compile(); l != nil && l.Accepts(s) {
		return ""
	}
	return "is not " + t.text
}

// Slow splits keys of a pattern whose placeholders do not end at a fixed byte.
type Slow struct {
	compile func() *pattern.Pattern
}

// NewSlow makes a Slow of a pattern's text and the types of its placeholders, by
// name.
func NewSlow(text string, types map[string]string) *Slow {
	return &Slow{sync.OnceValue(func() *pattern.Pattern {
		p, err := pattern.Parse(text, func(name string) (scalar.Type, bool) {
			t, err := scalar.Parse(types[name], nil)
			return t, err == nil
		})
		if err != nil {
			return nil
		}
		return p
	})}
}

// Split cuts the values of the placeholders, at most len(parts), out of key.
func (s *Slow) Split(key string, parts []string) bool {
	p := s.compile()
	if p == nil || len(parts) != len(p.Placeholders()) || len(parts) > pattern.MaxPlaceholders {
		return false
	}
	var starts, ends [pattern.MaxPlaceholders]uint32
	if !p.Split(unsafe.Slice(unsafe.StringData(key), len(key)), starts[:], ends[:]) {
		return false
	}
	for i := range parts {
		parts[i] = key[starts[i]:ends[i]]
	}
	return true
}

// Namespace says why a name cannot be that of a namespace, "" if it can. allowed
// is what the declaration says; nil: any name.
func Namespace(name string, allowed func(string) string) string {
	if reason := pattern.NamespaceName(name); reason != "" || allowed == nil {
		return reason
	}
	return allowed(name)
}
