package record

import (
	"bytes"
	"strconv"
	"time"

	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/migrate/record/internal/decimal"
)

// kind describes what a value of a document is.
type kind uint8

const (
	nothing  kind = iota // no member of this name
	null                 // null
	text                 // a text
	number               // a number; text has its digits as they are written
	boolean              // true or false, in text
	compound             // an object or array, in raw
	instant              // a time that a conversion has read
	octets               // bytes that a conversion has read, in text
	spelled              // a text that spells the number, boolean or time that is stored
)

// kindNames lists the kinds as reasons call them.
var kindNames = [...]string{"nothing", "null", "a text", "a number", "true or false", "an object or array", "a time",
	"bytes", "a text"}

// datum represents one value on its way between a document and a key.
type datum struct {
	kind kind
	text string
	raw  []byte // as it is in the document
	time time.Time
}

// datumOf reads a value that has been checked; nil is nothing.
func datumOf(raw []byte) datum {
	if len(raw) == 0 {
		return datum{}
	}
	switch raw[0] {
	case '"':
		return datum{kind: text, text: textOf(raw), raw: raw}
	case '{', '[':
		return datum{kind: compound, raw: raw}
	case 'n':
		return datum{kind: null, raw: raw}
	case 't', 'f':
		return datum{kind: boolean, text: string(raw), raw: raw}
	}
	return datum{kind: number, text: string(raw), raw: raw}
}

// textOf returns the text of a JSON text.
func textOf(raw []byte) string {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(unquote(raw))
}

// refer returns the value of a reference.
func (m *Match) refer(t *route.Term) datum {
	switch {
	case !t.Whole:
		return datum{kind: spelled, text: m.capture(t.Capture)}
	case len(t.Members) == 0:
		return datumOf(m.Raw)
	}
	return datumOf(lookup(m.at(t.Members[0]), t.Members[1:]))
}

// named represents a member as it is written: its name, in quotes, and its value.
type named struct{ key, value []byte }

// is reports whether the member has that name.
func (n *named) is(name string) bool {
	inner := n.key[1 : len(n.key)-1]
	return string(inner) == name || bytes.IndexByte(inner, '\\') >= 0 && textOf(n.key) == name
}

// at returns a member of the record; the members are read once.
func (m *Match) at(name string) []byte {
	if !m.split {
		m.split, m.members = true, m.members[:0]
		eachMember(m.Raw, func(key, value []byte) { m.members = append(m.members, named{key, value}) })
	}
	for i := range m.members {
		if m.members[i].is(name) {
			return m.members[i].value
		}
	}
	return nil
}

// lookup returns the value at some members below a value that has been checked, nil if
// there is none.
func lookup(raw []byte, members []string) []byte {
	for _, name := range members {
		var found []byte
		eachMember(raw, func(key, value []byte) {
			if (&named{key, value}).is(name) {
				found = value
			}
		})
		raw = found
	}
	return raw
}

// eachMember visits the members of an object that has been checked, in their
// order. It visits nothing for another value.
func eachMember(raw []byte, visit func(key, value []byte)) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	for i := skipSpace(raw, 1); i < len(raw) && raw[i] != '}'; {
		end := skipValue(raw, i)
		from := skipSpace(raw, skipSpace(raw, end)+1)
		to := skipValue(raw, from)
		visit(raw[i:end], raw[from:to])
		if i = skipSpace(raw, to); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
}

// eachElement visits the elements of an array that has been checked.
func eachElement(raw []byte, visit func(value []byte)) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	for i := skipSpace(raw, 1); i < len(raw) && raw[i] != ']'; {
		end := skipValue(raw, i)
		visit(raw[i:end])
		if i = skipSpace(raw, end); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
}

func skipSpace(raw []byte, i int) int {
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

// compact returns a value without the white space between its parts.
func compact(raw []byte) []byte {
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

// quote writes a text as JSON: only what must be escaped is.
func quote(dst []byte, s string) []byte {
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

// json returns the datum as it is written in a document; nil for nothing.
func (d datum) json() []byte {
	switch d.kind {
	case nothing:
		return nil
	case text, spelled:
		return quote(nil, d.text)
	case compound:
		return d.raw
	case null:
		return []byte("null")
	case instant:
		return quote(nil, d.time.UTC().Format(time.RFC3339Nano))
	}
	return []byte(d.text)
}

// whole returns a number without a fraction, as decimal digits.
func whole(digits string) (string, bool) {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	d, ok := decimal.Parse(digits)
	if !ok || d.Exp < 0 || len(d.Digits)+d.Exp > 400 {
		return "", false
	}
	return d.Plain(), true
}
