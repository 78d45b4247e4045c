package datum

import (
	"slices"

	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Given represents a reference and the value that it must have.
type Given struct {
	Ref route.Term
	Datum
}

// Undo returns what the references of a term must be, so that the term gives a stored
// value.
func Undo(t *route.Term, d Datum) ([]Given, string) {
	if t.Func == "" {
		return []Given{{*t, d}}, ""
	}
	from := conversions[t.Func].from
	if from == nil {
		return nil, "cannot be had back from " + t.Func
	}
	in, reason := from(t, d)
	if reason != "" {
		return nil, reason
	}
	var out []Given
	for i := range in {
		inner, reason := Undo(&t.Of[i], in[i])
		if reason != "" {
			return nil, reason
		}
		out = append(out, inner...)
	}
	return out, ""
}

// CaptureText returns what a capture must be, if the references say it.
func CaptureText(refs []Given, name string) (string, bool) {
	for _, g := range refs {
		if g.Ref.Capture == name && g.Kind != Nothing && g.Kind != Compound {
			return g.Text, true
		}
	}
	return "", false
}

// OfRecord reports whether a term takes anything from the record.
func OfRecord(t *route.Term) bool {
	return slices.ContainsFunc(t.References(), func(r route.Term) bool { return r.Whole })
}

// Part represents a stored part of a record, with the slot that says where it is from.
type Part struct {
	*Slot
	Stored string
	There  bool
}

// Gives returns the references of a part and their values. check reads a JSON text.
func (p *Part) Gives(check func(text []byte) (raw []byte, err error)) ([]Given, string) {
	d := Datum{}
	if p.There {
		if p.Type.Kind == scalar.JSON {
			if _, err := check([]byte(p.Stored)); err != nil {
				return nil, "is no JSON"
			}
		}
		var reason string
		if d, reason = p.Load(p.Stored); reason != "" {
			return nil, reason
		}
	}
	return Undo(&p.Term, d)
}
