package record

import (
	"strconv"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/datum"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// Record makes the record of a match. The error is a *Reject.
func (mv *Move) Record(m *Match) (*Record, error) {
	r, err := mv.identify(m)
	if err != nil {
		return nil, err
	}
	if err := mv.complete(m, r); err != nil {
		if bad, ok := err.(*Reject); ok {
			bad.id, bad.known = r.ID(), true
		}
		return nil, err
	}
	return r, nil
}

// complete makes the rest of a record. The error is a *Reject.
func (mv *Move) complete(m *Match, r *Record) error {
	if err := mv.stored(m, r); err != nil {
		return err
	}
	return mv.end(m, r)
}

// stored makes what of a record is stored.
func (mv *Move) stored(m *Match, r *Record) error {
	if mv.Kind == keyspace.ElementRecord {
		r.Value, r.Sub = []byte(r.Sub), ""
	}
	if mv.value != nil {
		var reason string
		if r.Value, reason = mv.valueOf(m); reason != "" {
			return mv.reject(m, mv.value, reason)
		}
	}
	if mv.score != nil {
		score, reason := mv.required(m, mv.score)
		if reason != "" {
			return mv.reject(m, mv.score, reason)
		}
		r.Score = score
	}
	return mv.fill(m, r)
}

// identify makes what of a record says which one it is.
func (mv *Move) identify(m *Match) (*Record, error) {
	r := &Record{Move: mv, Place: max(0, m.Place), At: m.At}
	var room [8]string
	values := room[:0]
	for i := range mv.with {
		value, reason := mv.required(m, &mv.with[i])
		if reason != "" {
			return nil, mv.reject(m, &mv.with[i], reason)
		}
		values = append(values, value)
	}
	key, err := mv.To.Keys[0].Pattern.Build(values...)
	if err != nil {
		return nil, &Reject{Move: mv, At: m.At, Path: m.Path(), Reason: "no key can be built: " + mv.refused(values)}
	}
	r.Key = string(key)
	for _, s := range []*datum.Slot{mv.field, mv.member} {
		if s == nil {
			continue
		}
		value, reason := mv.required(m, s)
		if reason != "" {
			bad := mv.reject(m, s, reason)
			bad.id, bad.known = r.ID(), mv.Kind == keyspace.ElementRecord
			return nil, bad
		}
		r.Sub = value
	}
	return r, nil
}

// refused says which placeholder refuses its value, without the value.
func (mv *Move) refused(values []string) string {
	for i, p := range mv.To.Keys[0].Pattern.Placeholders() {
		switch v := values[i]; {
		case v == "":
			return "{" + p.Name + "} is empty"
		case !mv.with[i].Check([]byte(v)):
			return "{" + p.Name + "} is not " + p.Type.Describe()
		}
	}
	return "a value holds the separator ':' or what would move the key to another slot"
}

func (mv *Move) required(m *Match, s *datum.Slot) (string, string) {
	d, reason := m.eval(&s.Term)
	if reason != "" {
		return "", reason
	}
	if d.Kind == datum.Nothing {
		return "", "is not there"
	}
	stored, _, reason := s.Store(d)
	return stored, reason
}

// valueOf returns what is stored as the value.
func (mv *Move) valueOf(m *Match) ([]byte, string) {
	if s := mv.value; s.Type.Kind == scalar.JSON && s.Free {
		if d, reason := m.eval(&s.Term); reason == "" && d.Kind == datum.Compound {
			return jsontext.Compact(d.Raw), ""
		}
	}
	value, reason := mv.required(m, mv.value)
	return []byte(value), reason
}

func (mv *Move) reject(m *Match, s *datum.Slot, reason string) *Reject {
	return &Reject{Move: mv, At: m.At, Path: m.Path(), Reason: s.Name + " (" + s.Term.String() + ") " + reason}
}

// fill makes the fields, and how often a job has been tried.
func (mv *Move) fill(m *Match, r *Record) error {
	if len(mv.fields) > 0 {
		r.Fields = make([]Field, 0, len(mv.fields))
	}
	for i := range mv.fields {
		s := &mv.fields[i]
		d, reason := m.eval(&s.Term)
		if reason != "" {
			return mv.reject(m, s, reason)
		}
		stored, there, reason := s.Store(d)
		switch {
		case reason != "":
			return mv.reject(m, s, reason)
		case there:
			r.Fields = append(r.Fields, Field{s.Name, stored})
		case !s.Type.Optional:
			return mv.reject(m, s, "is not there, and the field is not optional")
		}
	}
	if mv.tries != nil {
		tries, reason := mv.required(m, mv.tries)
		if reason != "" {
			return mv.reject(m, mv.tries, reason)
		}
		r.Tries, _ = strconv.ParseInt(tries, 10, 64)
	}
	return nil
}

// end says when the record ends.
func (mv *Move) end(m *Match, r *Record) error {
	if mv.TTL == nil {
		return nil
	}
	t, after := mv.TTL.Until, time.Duration(0)
	if mv.TTL.From != nil {
		t, after = mv.TTL.From, mv.To.TTL.Default
	}
	d, reason := m.eval(t)
	if reason == "" && d.Kind != datum.Instant {
		reason = "is not there"
	}
	if reason != "" {
		return mv.reject(m, &datum.Slot{Name: "ttl", Term: *t}, reason)
	}
	r.Ends = d.Time.Add(after)
	return nil
}

// Over reports whether a record has ended at a time, and what is to become of it
// then.
func (r *Record) Over(now time.Time) (over bool, what keyspace.Over) {
	if r.Ends.IsZero() || r.Ends.After(now) {
		return false, ""
	}
	return true, r.Move.TTL.Over
}

// Of returns the ID of a record by its key, and whether the key is one of the entry.
func (mv *Move) Of(key, sub string) (id ID, ok bool) {
	_, ok = mv.To.Keys[0].Pattern.Match([]byte(key))
	return ID{Move: mv.Name, Key: key, Sub: sub}, ok
}

// ID returns the identity of the record.
func (r *Record) ID() ID { return ID{Move: r.Move.Name, Key: r.Key, Sub: r.Sub} }

// Whole reports whether the move stores the whole record: no member of it is
// lost.
func (mv *Move) Whole() bool {
	return mv.value != nil && mv.value.Type.Kind.String() == "json" && wholeTerm(mv.value.Term) ||
		mv.member != nil && mv.member.Type.Kind.String() == "json" && wholeTerm(mv.member.Term)
}

func wholeTerm(t route.Term) bool { return t.Func == "" && t.Whole && len(t.Members) == 0 }

// slots returns all parts of a record of the move.
func (mv *Move) slots() []*datum.Slot {
	var out []*datum.Slot
	for i := range mv.with {
		out = append(out, &mv.with[i])
	}
	for _, s := range []*datum.Slot{mv.field, mv.member, mv.score, mv.value, mv.tries} {
		if s != nil {
			out = append(out, s)
		}
	}
	for i := range mv.fields {
		out = append(out, &mv.fields[i])
	}
	return out
}
