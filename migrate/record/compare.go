package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// MaxDifferences bounds the differences of two records; one more says that there
// are others.
const MaxDifferences = 64

// comparison collects the differences of two records.
type comparison struct {
	id    ID
	rules []keyspace.CompareRule
	found []Difference
}

// Compare says how the second record differs from the first, as of a day: rules
// that ignore count until their day. Either may be nil: then it is missing. Times
// of the end may differ by slack; where the document says none, Redis has one or none as
// the TTL of the entry says. A path and kind is there once.
func (mv *Move) Compare(a, b *Record, today time.Time, slack time.Duration) []Difference {
	c := &comparison{}
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
			c.rules = append(c.rules, r)
		}
	}
	if mv.value != nil || mv.Kind == keyspace.ElementRecord {
		s := mv.value
		if s == nil {
			s = mv.member
		}
		c.stored(s.typ, nil, string(a.Value), string(b.Value))
	}
	if a.Score != b.Score && !mv.placed() && !sameNumber(a.Score, b.Score) {
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
func (mv *Move) placed() bool { return mv.score != nil && mv.score.term.Func == "place" }

// pathOf writes the place of a value inside a record.
func pathOf(path []string) string {
	var b bytes.Buffer
	for _, p := range path {
		if p != "[]" {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// as returns how the value at a path is compared, "" for as it is.
func (c *comparison) as(path []string) keyspace.CompareAs {
	for _, r := range c.rules {
		if slices.Equal(r.Field, path) {
			return r.As
		}
	}
	return ""
}

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
		path := []string{s.name}
		if c.as(path) == keyspace.CompareIgnore {
			continue
		}
		x, inA := first[s.name]
		y, inB := second[s.name]
		switch {
		case inA && inB:
			c.stored(s.typ, path, x, y)
		case inA:
			c.differ(pathOf(path), DiffMissing)
		case inB:
			c.differ(pathOf(path), DiffExtra)
		}
	}
}

// stored compares two stored values of a type.
func (c *comparison) stored(typ scalar.Type, path []string, a, b string) {
	if a == b || c.as(path) == keyspace.CompareIgnore {
		return
	}
	if typ.Kind == scalar.JSON {
		x, err1 := checked([]byte(a))
		y, err2 := checked([]byte(b))
		if err1 == nil && err2 == nil {
			c.json(path, x, y)
			return
		}
	}
	if !sameStored(typ.Kind, a, b) &&
		(c.as(path) != keyspace.CompareInstant || !sameInstant(datum{kind: text, text: a}, datum{kind: text, text: b})) {
		c.differ(pathOf(path), DiffValue)
	}
}

// json compares two values that have been checked.
func (c *comparison) json(path []string, a, b []byte) {
	how := c.as(path)
	if how == keyspace.CompareIgnore || bytes.Equal(a, b) ||
		how == keyspace.CompareInstant && sameInstant(datumOf(a), datumOf(b)) {
		return
	}
	x, y := datumOf(a), datumOf(b)
	switch {
	case x.kind != y.kind || x.kind == compound && a[0] != b[0]:
		c.differ(pathOf(path), DiffType)
	case x.kind == compound && a[0] == '{':
		c.objects(path, a, b)
	case x.kind == compound:
		c.arrays(path, how, a, b)
	case x.text != y.text && (x.kind != number || !sameNumber(x.text, y.text)):
		c.differ(pathOf(path), DiffValue)
	}
}

func (c *comparison) objects(path []string, a, b []byte) {
	second := map[string][]byte{}
	var order []string
	eachMember(b, func(key, value []byte) {
		name := textOf(key)
		second[name], order = value, append(order, name)
	})
	eachMember(a, func(key, value []byte) {
		name := textOf(key)
		inner := append(slices.Clone(path), name)
		other, there := second[name]
		if delete(second, name); there {
			c.json(inner, value, other)
		} else if c.as(inner) != keyspace.CompareIgnore {
			c.differ(pathOf(inner), DiffMissing)
		}
	})
	for _, name := range order {
		inner := append(slices.Clone(path), name)
		if _, left := second[name]; left && c.as(inner) != keyspace.CompareIgnore {
			c.differ(pathOf(inner), DiffExtra)
		}
	}
}

func (c *comparison) arrays(path []string, how keyspace.CompareAs, a, b []byte) {
	first, second := elements(a), elements(b)
	if how == keyspace.CompareSet || len(first) == len(second) {
		sorted := canonicalSet(first, how == keyspace.CompareSet)
		other := canonicalSet(second, how == keyspace.CompareSet)
		if slices.EqualFunc(sorted, other, bytes.Equal) {
			if how != keyspace.CompareSet && !slices.EqualFunc(first, second, sameCanonical) {
				c.differ(pathOf(path), DiffOrder)
			}
			return
		}
	}
	inner := append(slices.Clone(path), "[]")
	if how == keyspace.CompareSet {
		c.differ(pathOf(inner), DiffValue)
		return
	}
	for i := range max(len(first), len(second)) {
		switch {
		case i >= len(second):
			c.differ(pathOf(inner), DiffMissing)
		case i >= len(first):
			c.differ(pathOf(inner), DiffExtra)
		default:
			c.json(inner, first[i], second[i])
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
		put(canonicalStored(s.typ.Kind, string(r.Value)))
	} else {
		put(string(r.Value))
	}
	if !mv.placed() {
		put(canonicalStored(scalar.Float, r.Score))
	}
	for i := range mv.fields {
		s := &mv.fields[i]
		at := slices.IndexFunc(r.Fields, func(f Field) bool { return f.Name == s.name })
		if at >= 0 {
			put(s.name)
			put(canonicalStored(s.typ.Kind, r.Fields[at].Value))
		}
	}
	put(string(binary.LittleEndian.AppendUint64(nil, uint64(r.Tries))))
	var out [32]byte
	return [32]byte(h.Sum(out[:0]))
}
