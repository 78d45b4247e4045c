package record

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/datum"
	"github.com/keywright/keywright/migrate/record/internal/equal"
)

// MaxDifferences bounds the differences of two records; one more says that there
// are others.
const MaxDifferences = 64

// comparison collects the differences of two records.
type comparison struct {
	equal.Comparison
	id    ID
	found []Difference
}

// Compare says how the second record differs from the first, as of a day: rules
// that ignore count until their day. Either may be nil: then it is missing. Times
// of the end may differ by slack; where the document says none, Redis has one or none as
// the TTL of the entry says. A path and kind is there once.
func (mv *Move) Compare(a, b *Record, today time.Time, slack time.Duration) []Difference {
	c := &comparison{}
	c.Check, c.Differ = checked, func(path, kind string) { c.differ(path, DiffKind(kind)) }
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		c.id = b.ID()
		c.differ("", DiffExtra)
		return c.found
	case b == nil:
		c.id = a.ID()
		c.differ("", DiffMissing)
		return c.found
	}
	c.id = a.ID()
	for _, r := range mv.rules {
		if r.As != keyspace.CompareIgnore || today.Before(r.Until) {
			c.Rules = append(c.Rules, r)
		}
	}
	if mv.value != nil || mv.Kind == keyspace.ElementRecord {
		s := mv.value
		if s == nil {
			s = mv.member
		}
		c.Stored(s.Type, nil, string(a.Value), string(b.Value))
	}
	if a.Score != b.Score && !mv.placed() && !datum.SameNumber(a.Score, b.Score) {
		c.differ("", DiffScore)
	}
	if a.Tries != b.Tries {
		c.differ("tries", DiffValue)
	}
	c.fields(mv, a, b)
	file, stored := a, b
	if a.Stored {
		file, stored = b, a
	}
	if a.Stored != b.Stored && !SameEnd(mv.To.TTL, file.Ends, stored.Ends, slack) ||
		!a.Ends.IsZero() && !b.Ends.IsZero() && a.Ends.Sub(b.Ends).Abs() > slack {
		c.differ("", DiffEnd)
	}
	return c.found
}

// SameEnd reports whether a record ends in Redis when the document says, and where that says nothing as the TTL of
// its entry does. A time that is zero is no end.
func SameEnd(ttl keyspace.TTL, declared, stored time.Time, slack time.Duration) bool {
	switch {
	case !declared.IsZero():
		return !stored.IsZero() && declared.Sub(stored).Abs() <= slack
	case ttl.Policy == keyspace.TTLNone:
		return stored.IsZero()
	case ttl.Policy == keyspace.TTLExpires && ttl.Default > 0:
		return !stored.IsZero()
	}
	return true
}

func (c *comparison) differ(path string, k DiffKind) {
	d := Difference{c.id, path, k}
	switch {
	case slices.Contains(c.found, d) || len(c.found) > MaxDifferences:
	case len(c.found) == MaxDifferences:
		c.found = append(c.found, Difference{c.id, "", DiffMore})
	default:
		c.found = append(c.found, d)
	}
}

// placed reports whether the score is only a place in an array: the file has no
// other, so it is not compared.
func (mv *Move) placed() bool { return mv.score != nil && mv.score.Term.Func == "place" }

// fields compares what is stored field by field.
func (c *comparison) fields(mv *Move, a, b *Record) {
	of := func(r *Record) map[string]string {
		out := make(map[string]string, len(r.Fields))
		for _, f := range r.Fields {
			out[f.Name] = f.Value
		}
		return out
	}
	if len(a.Fields) == 0 && len(b.Fields) == 0 {
		return
	}
	first, second := of(a), of(b)
	for i := range mv.fields {
		s := &mv.fields[i]
		path := []string{s.Name}
		if c.As(path) == keyspace.CompareIgnore {
			continue
		}
		x, inA := first[s.Name]
		y, inB := second[s.Name]
		switch {
		case inA && inB:
			c.Stored(s.Type, path, x, y)
		case inA:
			c.differ(equal.PathOf(path), DiffMissing)
		case inB:
			c.differ(equal.PathOf(path), DiffExtra)
		}
	}
}

// Digest returns the same for two records that compare as equal without rules: of the
// canonical form of what is stored, without the time at which it ends.
func (r *Record) Digest() [32]byte {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	mv := r.Move
	put(mv.Name)
	put(r.Key)
	put(r.Sub)
	if s := mv.value; s != nil {
		put(canonicalStored(s.Type.Kind, string(r.Value)))
	} else {
		put(string(r.Value))
	}
	if !mv.placed() {
		put(canonicalStored(scalar.Float, r.Score))
	}
	for i := range mv.fields {
		s := &mv.fields[i]
		at := slices.IndexFunc(r.Fields, func(f Field) bool { return f.Name == s.Name })
		if at >= 0 {
			put(s.Name)
			put(canonicalStored(s.Type.Kind, r.Fields[at].Value))
		}
	}
	put(string(binary.LittleEndian.AppendUint64(nil, uint64(r.Tries))))
	var out [32]byte
	return [32]byte(h.Sum(out[:0]))
}
