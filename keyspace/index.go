package keyspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// expires is the field every entity has for its indexes: when it ends.
const expires = "expires"

// index reads `field: pattern`, `expires: pattern` or `field+score: pattern`.
func (b *builder) index(v property) {
	sound := b.indexFields(v)
	p := b.pattern(b.d, v.value, "the index "+v.name+" of "+b.e.Name, func(name string) (scalar.Type, bool) {
		f, known := b.field(name)
		f.Type.Default = ""     // an item has what its field has
		f.Type.Optional = false // an item without the field is in no index of it
		return f.Type, known
	})
	if p == nil || !sound {
		return
	}
	ix := b.indexOf(v, p)
	ix.Key = b.add(&Key{Role: "index." + v.name, Kind: ZSet, Score: &scalar.Type{Kind: scalar.Int}, TTL: b.indexTTL(), Pattern: p, Pos: ix.Pos, Member: b.idType(), Doc: "Index of " + b.e.Name + " by " + v.name + "."})
	if ix.Score != "" {
		ix.Key.Score = b.scoreType(v, ix.Score)
	}
	b.e.Index = append(b.e.Index, ix)
	b.e.At["index."+v.name] = ix.Pos
}

// field is a field of the entity being built.
func (b *builder) field(name string) (Field, bool) {
	for _, f := range b.e.Keys[0].Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// indexFields checks the fields an index is named after.
func (b *builder) indexFields(v property) bool {
	names := strings.Split(v.name, "+")
	if len(names) > 2 {
		b.d.report("KW304", b.d.at(v.key), "as in a+b: a zset per value of a, sorted by b", "the index %s of %s has more than two fields", v.name, b.e.Name)
		return false
	}
	for _, name := range names {
		_, own := b.field(name)
		switch {
		case own && name == expires:
			b.d.report("KW304", b.d.at(v.key), "rename the field", "%s has a field expires, which is also the built-in name of the expiry time", b.e.Name)
			return false
		case !own && name != expires:
			known := []string{expires}
			for _, f := range b.e.Keys[0].Fields {
				known = append(known, f.Name)
			}
			b.d.report("KW304", b.d.at(v.key), b.d.near(name, known), "%s has an index over %q, which is none of its fields", b.e.Name, name)
			return false
		}
	}
	return true
}

// indexOf decides from name and pattern what an index is: a zset per value, or one over
// all items; sorted by a field, or by the ids.
func (b *builder) indexOf(v property, p *pattern.Pattern) Index {
	ix := Index{Name: v.name, Pos: b.d.at(v.value)}
	first, score, compound := strings.Cut(v.name, "+")
	named := slices.ContainsFunc(p.Placeholders(), func(place pattern.Placeholder) bool { return place.Name == first })
	switch {
	case named && first == expires:
		b.d.report("KW304", ix.Pos, "remove {expires} from the pattern: one zset, scored by it", "there is no index per expiry time")
	case compound && !named:
		b.d.report("KW304", ix.Pos, "add {"+first+"} to the pattern", "the index %s of %s is one zset per value of %s, but its pattern has no {%s}", v.name, b.e.Name, first, first)
	}
	if compound || named {
		ix.Field, ix.Score = first, score
	} else {
		ix.Score = first
	}
	return ix
}

// scoreType is the type of the scores of an index.
func (b *builder) scoreType(v property, name string) *scalar.Type {
	f, own := b.field(name)
	if !own {
		return &scalar.Type{Kind: scalar.UnixMS} // expires
	}
	if f.Type.Encrypted {
		b.d.report("KW304", b.d.at(v.key), "index another field: an index holds its values in plain text", "%s is encrypted and cannot be the score of an index", name)
	} else if !isNumber(f.Type) {
		b.d.report("KW304", b.d.at(v.key), fmt.Sprintf("for an index per value put {%s} into the pattern", name), "%s is %s and cannot be the score of an index", name, f.Type)
	}
	return &f.Type
}

// indexTTL: an index lives twice as long as the longest-lived item may, renewed
// with every write, so that it outlives those that are prolonged meanwhile.
func (b *builder) indexTTL() TTL {
	t := b.e.TTL
	if t.Policy != TTLExpires {
		return t
	}
	t.Max = min(t.LiveMax(), MaxTTL/2) * 2
	t.Default, t.Min, t.Jitter = t.Max, t.Max, 0
	t.Name, t.Sliding = "", true
	t.Text = t.canonical()
	return t
}

// idType is the type of an entity's id: that of its only placeholder, text when
// there are several.
func (b *builder) idType() *scalar.Type {
	t := scalar.Type{}
	if places := b.main.Placeholders(); len(places) == 1 {
		t = places[0].Type
	}
	return &t
}
