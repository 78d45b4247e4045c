package jsontext

import (
	"bytes"
	"slices"

	"github.com/keywright/keywright/migrate/record/internal/decimal"
)

// AppendCanonical writes the canonical form of a value that has been checked.
func AppendCanonical(dst, raw []byte) []byte {
	switch raw[0] {
	case '"':
		return Quote(dst, TextOf(raw))
	case '[':
		dst = append(dst, '[')
		first := true
		eachElement(raw, func(value []byte) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = AppendCanonical(dst, value)
		})
		return append(dst, ']')
	case '{':
		return appendObject(dst, raw)
	case 't', 'f', 'n':
		return append(dst, raw...)
	}
	d, ok := decimal.Parse(string(raw))
	if !ok {
		return append(dst, raw...)
	}
	return append(dst, d.String()...)
}

func appendObject(dst, raw []byte) []byte {
	type member struct {
		name  string
		value []byte
	}
	var members []member
	EachMember(raw, func(key, value []byte) { members = append(members, member{TextOf(key), value}) })
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(Quote(dst, m.name), ':')
		dst = AppendCanonical(dst, m.value)
	}
	return append(dst, '}')
}

// SameCanonical compares two values that have been checked.
func SameCanonical(a, b []byte) bool {
	return bytes.Equal(AppendCanonical(nil, a), AppendCanonical(nil, b))
}

// CanonicalSet returns the canonical forms of elements, sorted; each once if they are
// a set.
func CanonicalSet(in [][]byte, once bool) [][]byte {
	out := make([][]byte, 0, len(in))
	for _, raw := range in {
		out = append(out, AppendCanonical(nil, raw))
	}
	slices.SortFunc(out, bytes.Compare)
	if once {
		out = slices.CompactFunc(out, bytes.Equal)
	}
	return out
}
