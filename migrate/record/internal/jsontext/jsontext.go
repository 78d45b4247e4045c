// Package jsontext visits and changes values of JSON as bytes: texts that have been checked. What no change touches keeps
// its bytes. It checks nothing.
package jsontext

import (
	"bytes"
	"encoding/json"
)

// EachMember visits the members of an object that has been checked, in their
// order. It visits nothing for another value.
func EachMember(raw []byte, visit func(key, value []byte)) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	for i := SkipSpace(raw, 1); i < len(raw) && raw[i] != '}'; {
		end := skipValue(raw, i)
		from := SkipSpace(raw, SkipSpace(raw, end)+1)
		to := skipValue(raw, from)
		visit(raw[i:end], raw[from:to])
		if i = SkipSpace(raw, to); raw[i] == ',' {
			i = SkipSpace(raw, i+1)
		}
	}
}

// eachElement visits the elements of an array that has been checked.
func eachElement(raw []byte, visit func(value []byte)) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	for i := SkipSpace(raw, 1); i < len(raw) && raw[i] != ']'; {
		end := skipValue(raw, i)
		visit(raw[i:end])
		if i = SkipSpace(raw, end); raw[i] == ',' {
			i = SkipSpace(raw, i+1)
		}
	}
}

// Elements returns the elements of an array that has been checked.
func Elements(raw []byte) (out [][]byte) {
	eachElement(raw, func(value []byte) { out = append(out, value) })
	return out
}

// Lookup returns the value at some members below a value that has been checked, nil if
// there is none.
func Lookup(raw []byte, members []string) []byte {
	for _, name := range members {
		var found []byte
		EachMember(raw, func(key, value []byte) {
			if (&Named{key, value}).Is(name) {
				found = value
			}
		})
		raw = found
	}
	return raw
}

// Named represents a member as it is written: its name, in quotes, and its value.
type Named struct{ Key, Value []byte }

// Is reports whether the member has that name.
func (n *Named) Is(name string) bool {
	inner := n.Key[1 : len(n.Key)-1]
	return string(inner) == name || bytes.IndexByte(inner, '\\') >= 0 && TextOf(n.Key) == name
}

// SkipSpace returns the place after the white space at i.
func SkipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the value at i, of a text that has been checked.
func skipValue(raw []byte, i int) int {
	for depth := 0; i < len(raw); {
		switch c := raw[i]; c {
		case '"':
			i = skipText(raw, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			for i < len(raw) && raw[i] != ',' && raw[i] != '}' && raw[i] != ']' && raw[i] > ' ' {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// skipText returns the end of the text at i, of a text that has been checked.
func skipText(raw []byte, i int) int {
	for i++; ; {
		n := i + bytes.IndexByte(raw[i:], '"')
		escapes := 0
		for n-escapes > i && raw[n-escapes-1] == '\\' {
			escapes++
		}
		if i = n + 1; escapes%2 == 0 {
			return i
		}
	}
}

// TextOf returns the text of a JSON text.
func TextOf(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(Unquote(raw))
}

// Unquote reads a text that has been checked.
func Unquote(raw []byte) []byte {
	var out string
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return []byte(out)
}

// Quote writes a text as JSON: only what must be escaped is.
func Quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// Compact returns a value without the white space between its parts.
func Compact(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end := skipText(raw, i)
			out, i = append(out, raw[i:end]...), end
		case c <= ' ':
			i++
		default:
			out, i = append(out, c), i+1
		}
	}
	return out
}

// Trim takes white space off both ends.
func Trim(raw []byte) []byte {
	from := SkipSpace(raw, 0)
	to := len(raw)
	for to > from && (raw[to-1] == ' ' || raw[to-1] == '\n' || raw[to-1] == '\t' || raw[to-1] == '\r') {
		to--
	}
	return raw[from:to]
}

func trimRight(raw []byte) []byte { return bytes.TrimRight(raw, " \t\r\n") }

// NumberForm reports whether a text is a number of JSON, and whether it has an
// exponent.
func NumberForm(b []byte) (exponent, ok bool) {
	digits := func() bool {
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n > 0
	}
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) > 1 && b[0] == '0' && b[1] >= '0' && b[1] <= '9' || !digits() {
		return false, false
	}
	if len(b) > 0 && b[0] == '.' {
		if b = b[1:]; !digits() {
			return false, false
		}
	}
	if len(b) > 0 && b[0]|0x20 == 'e' {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		return true, digits() && len(b) == 0
	}
	return false, len(b) == 0
}
