package record

import (
	"slices"

	"github.com/keywright/keywright/keyspace/route"
)

// given represents a reference and the value that it must have.
type given struct {
	ref route.Term
	datum
}

// undo returns what the references of a term must be, so that the term gives a stored
// value.
func undo(t *route.Term, d datum) ([]given, string) {
	if t.Func == "" {
		return []given{{*t, d}}, ""
	}
	from := conversions[t.Func].from
	if from == nil {
		return nil, "cannot be had back from " + t.Func
	}
	in, reason := from(t, d)
	if reason != "" {
		return nil, reason
	}
	var out []given
	for i := range in {
		inner, reason := undo(&t.Of[i], in[i])
		if reason != "" {
			return nil, reason
		}
		out = append(out, inner...)
	}
	return out, ""
}

func captureText(refs []given, name string) (string, bool) {
	for _, g := range refs {
		if g.ref.Capture == name && g.kind != nothing && g.kind != compound {
			return g.text, true
		}
	}
	return "", false
}

// ofRecord reports whether a term takes anything from the record.
func ofRecord(t *route.Term) bool {
	return slices.ContainsFunc(t.References(), func(r route.Term) bool { return r.Whole })
}
