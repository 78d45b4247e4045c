package record

import (
	"bytes"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/datum"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
	"github.com/keywright/keywright/migrate/record/internal/scan"
	"github.com/keywright/keywright/migrate/record/internal/twice"
)

// checked reads a value without a source: what Canonical and Compare are given.
func checked(text []byte) (raw []byte, err error) { return checkedBelow(text, 0) }

// checkedBelow reads a value that is so deep in a document.
func checkedBelow(text []byte, depth int) (raw []byte, err error) {
	opt := Options{MaxRecord: int64(len(text)), MaxName: len(text) + 1, MaxNames: len(text) + 1}.filled()
	opt.MaxDepth -= depth
	w := &walker{Scanner: scan.Text(text), opt: opt, source: unsourced,
		names: twice.New(opt.MaxNames, opt.Spill)}
	if err := w.document(); err != nil {
		return nil, err
	}
	return jsontext.Trim(text), nil
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
	return jsontext.AppendCanonical(make([]byte, 0, len(raw)), raw), nil
}

// EditMembers returns an object with the values of its members changed by a function. What is
// no object stays as it is; what is no JSON is an *Error.
func EditMembers(object []byte, edit func(name string, value []byte) ([]byte, error)) ([]byte, error) {
	raw, err := checked(object)
	if err != nil || raw[0] != '{' {
		return object, err
	}
	return jsontext.Edit(raw, edit)
}

func sameJSON(a, b string) bool {
	x, err1 := Canonical([]byte(a))
	y, err2 := Canonical([]byte(b))
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// canonicalStored returns one spelling for all of a stored value.
func canonicalStored(k scalar.Kind, stored string) string {
	if k == scalar.JSON {
		if c, err := Canonical([]byte(stored)); err == nil {
			return string(c)
		}
	}
	return datum.Spelling(k, stored)
}
