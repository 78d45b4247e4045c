package record

import (
	"bytes"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/migrate/record/internal/decimal"
	"github.com/keywright/keywright/migrate/record/internal/twice"
)

// checked reads a value without a source: what Canonical and Compare are given.
func checked(text []byte) (raw []byte, err error) { return checkedBelow(text, 0) }

// checkedBelow reads a value that is so deep in a document.
func checkedBelow(text []byte, depth int) (raw []byte, err error) {
	opt := Options{MaxRecord: int64(len(text)), MaxName: len(text) + 1, MaxNames: len(text) + 1}.filled()
	opt.MaxDepth -= depth
	w := &walker{scanner: &scanner{opt: opt, buf: text, hold: -1, line: 1, eof: true}, source: unsourced,
		names: twice.New(opt.MaxNames, opt.Spill)}
	if err := w.document(); err != nil {
		return nil, err
	}
	return trim(text), nil
}

// unsourced is the source of a value that is of none.
var unsourced = &Source{Source: &keyspace.Source{}, root: &node{}}

// Canonical returns the canonical form of a JSON text: members sorted by the bytes of
// their names, no white space, numbers and texts in one spelling (1.0 and 1e0 are
// 1). Two texts of one value have one canonical form. The error is an *Error.
func Canonical(text []byte) ([]byte, error) {
	raw, err := checked(text)
	if err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(raw)), raw), nil
}

// appendCanonical writes the canonical form of a value that has been checked.
func appendCanonical(dst, raw []byte) []byte {
	switch raw[0] {
	case '"':
		return quote(dst, textOf(raw))
	case '[':
		dst = append(dst, '[')
		first := true
		eachElement(raw, func(value []byte) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendCanonical(dst, value)
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
	eachMember(raw, func(key, value []byte) { members = append(members, member{textOf(key), value}) })
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(quote(dst, m.name), ':')
		dst = appendCanonical(dst, m.value)
	}
	return append(dst, '}')
}
