package construct

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// entity is a hash with fixed fields and a zset per index; beside them
// when each item ends, in which indexes it is, and who sweeps.
func (b *builder) entity() {
	fields := b.Fields(b.d, b.props, "fields", b.e.Name)
	b.addMain(&keyspace.Key{Fields: fields})
	if p, ok := b.props["fields"]; len(fields) == 0 &&
		(!ok || p.Value.Kind == yaml.MappingNode && len(p.Value.Content) == 0) {
		b.d.Report("KW006", b.e.Pos, "add fields: {name: text}", "the entity %s has no fields", b.e.Name)
	}
	if p, ok := b.props["index"]; ok {
		for _, v := range b.d.Mapping(p.Value, "the index of "+b.e.Name) {
			b.index(v)
		}
	}
	b.stamps()
	b.ttlRule()
	b.bookkeeping()
	if p, ok := b.props["emits"]; ok {
		for name, v := range b.d.Known(p.Value, "emits", scope.Properties["emits"]) {
			if channel, ok := b.d.Text(v.Value, name); ok {
				b.e.Emits[name] = channel
				b.e.At["emits."+name] = b.d.At(v.Value)
			}
		}
	}
}

// bookkeeping are the keys of all items together. They lie in one slot: that of
// the expiry times, if the author has named them.
func (b *builder) bookkeeping() {
	base := b.common()
	named := slices.IndexFunc(b.e.Index, func(ix keyspace.Index) bool { return ix.Field == "" && ix.Score == expires })
	if named >= 0 {
		base = b.e.Index[named].Key.Pattern
	}
	id, ttl := b.idType(), b.indexTTL()
	if named < 0 && b.e.TTL.Policy != keyspace.TTLNone {
		b.addRole(&keyspace.Key{Role: "expiry", Kind: keyspace.ZSet, TTL: ttl, Member: id,
			Score: &scalar.Type{Kind: scalar.UnixMS},
			Doc:   "When each " + b.e.Name + " ends."}, base, "expiry")
	}
	b.addRole(&keyspace.Key{Role: "ledger", Kind: keyspace.Hash, TTL: ttl, Field: id, Item: &scalar.Type{},
		Doc: "In which indexes each " + b.e.Name + " is."}, base, "ledger")
	if b.e.TTL.Policy == keyspace.TTLNone {
		b.addRole(&keyspace.Key{Role: "pending", Kind: keyspace.ZSet, TTL: ttl, Member: id,
			Score: &scalar.Type{Kind: scalar.UnixMS},
			Doc:   "In a cluster: which " + b.e.Name + " is being changed, and when another may finish that."}, base, "pending")
	} else {
		b.addRole(&keyspace.Key{Role: "sweep", Kind: keyspace.String, TTL: scope.AtMost(sweepTTL), Value: &scalar.Type{},
			Doc: "Which process cleans up after each " + b.e.Name + " that has expired."}, base, "sweep")
	}
}

// sweepTTL bounds the lease of the process that sweeps.
const sweepTTL = 10 * time.Minute

// common returns the main pattern without what tells items apart: what is in every
// index too, and no field, stays.
func (b *builder) common() *pattern.Pattern {
	shared := func(p pattern.Placeholder) bool {
		_, field := b.field(p.Name)
		return !field && len(b.e.Index) > 0 && !slices.ContainsFunc(b.e.Index, func(ix keyspace.Index) bool {
			return !slices.ContainsFunc(ix.Key.Pattern.Placeholders(),
				func(q pattern.Placeholder) bool { return q.Name == p.Name })
		})
	}
	base := b.without(func(p pattern.Placeholder) bool { return !shared(p) })
	for _, p := range base.Placeholders() {
		if !shared(p) { // it is all there is
			if plain, err := pattern.Parse("{#"+b.e.Name+"}", nil); err == nil {
				return plain
			}
		}
	}
	return base
}

// stamps reads the fields that the server fills in.
func (b *builder) stamps() {
	p, ok := b.props["stamps"]
	if !ok {
		return
	}
	at := map[string]*string{"created": &b.e.Stamps.Created, "updated": &b.e.Stamps.Updated,
		"version": &b.e.Stamps.Version}
	kinds := map[string][]scalar.Kind{"created": {scalar.UnixMS, scalar.UnixS}, "updated": {scalar.UnixMS, scalar.UnixS},
		"version": {scalar.Int}}
	unit := scalar.Int // none yet
	props := b.d.Known(p.Value, "stamps", scope.Properties["stamps"])
	for _, name := range []string{"created", "updated", "version"} {
		v, ok := props[name]
		if !ok {
			continue
		}
		text, ok := b.d.Text(v.Value, name)
		if !ok {
			continue
		}
		f, own := b.field(text)
		b.e.At["stamps."+name] = b.d.At(v.Value)
		switch {
		case !own:
			b.d.Report("KW304", b.d.At(v.Value), b.d.Near(text, b.fieldNames()), "%s stamps %q, which is not a field of it",
				b.e.Name, text)
		case !slices.Contains(kinds[name], f.Type.Kind) || f.Type.Encrypted ||
			name == "version" && !f.Type.Is([]byte("9007199254740992")):
			b.d.Report("KW304", b.d.At(v.Value), "version: int, created and updated: unix_ms or unix_s",
				"the server cannot stamp %s, which is %s", text, f.Type)
		case name != "version" && unit != scalar.Int && unit != f.Type.Kind:
			b.d.Report("KW304", b.d.At(v.Value), "the same type for both", "%s has stamps in two units of time", b.e.Name)
		default:
			*at[name] = text
			if name != "version" {
				unit = f.Type.Kind
			}
		}
	}
}

func (b *builder) fieldNames() (names []string) {
	for _, f := range b.e.Keys[0].Fields {
		names = append(names, f.Name)
	}
	return names
}

// ttlRule reads `ttl_by: {field: {case: duration}}`.
func (b *builder) ttlRule() {
	p, ok := b.props["ttl_by"]
	if !ok {
		return
	}
	lines := b.d.Mapping(p.Value, "ttl_by")
	if len(lines) != 1 {
		b.d.Report("KW304", b.d.At(p.Value), "as in ttl_by: {priority: {1..3: 5m}}", "ttl_by of %s names one field, not %d",
			b.e.Name, len(lines))
		return
	}
	f, own := b.field(lines[0].Name)
	if !own {
		b.d.Report("KW304", b.d.At(lines[0].Key), b.d.Near(lines[0].Name, b.fieldNames()),
			"ttl_by of %s looks at %q, which is not a field of it", b.e.Name, lines[0].Name)
		return
	}
	rule := &keyspace.TTLRule{Field: f.Name, Pos: b.d.At(p.Value)}
	for _, v := range b.d.Mapping(lines[0].Value, "ttl_by") {
		if c, ok := b.ttlCase(f, v); ok {
			rule.Cases = append(rule.Cases, c)
		}
	}
	b.e.TTLBy = rule
}

func (b *builder) ttlCase(f keyspace.Field, v node.Property) (c keyspace.TTLCase, ok bool) {
	c.Word = v.Name
	c.TTL = b.d.Duration(map[string]node.Property{"ttl_by": v}, "ttl_by")
	switch f.Type.Kind {
	case scalar.Int:
		low, high, ranged := strings.Cut(v.Name, "..")
		var err1, err2 error
		c.Low, err1 = strconv.ParseInt(low, 10, 64)
		c.High, err2 = strconv.ParseInt(cmp.Or(high, low), 10, 64)
		ok = err1 == nil && err2 == nil && c.Low <= c.High && ranged == (high != "")
	case scalar.Enum:
		c.Low, c.High = 1, 0
		ok = slices.Contains(f.Type.Values, v.Name)
	}
	if !ok {
		b.d.Report("KW304", b.d.At(v.Key), "a number, a range like 1..3, or a word of the enum",
			"%q is no case of %s, which is %s", v.Name, f.Name, f.Type)
		return c, false
	}
	if t := b.e.TTL; t.Policy == keyspace.TTLExpires && (c.TTL < t.Min || c.TTL > t.Max) {
		b.d.Report("KW201", b.d.At(v.Value), fmt.Sprintf("between %s and %s, or other bounds", keyspace.FormatDuration(t.Min),
			keyspace.FormatDuration(t.Max)), "%s for %s %s is outside of the ttl of %s, which is %s",
			keyspace.FormatDuration(c.TTL), f.Name,
			v.Name, b.e.Name, t.Text)
	}
	return c, true
}

// expires is the field every entity has for its indexes: when it ends.
const expires = "expires"

// index reads `field: pattern`, `expires: pattern` or `field+score: pattern`.
func (b *builder) index(v node.Property) {
	sound := b.indexFields(v)
	p := b.Pattern(b.d, v.Value, "the index "+v.Name+" of "+b.e.Name, func(name string) (scalar.Type, bool) {
		f, known := b.field(name)
		f.Type.Default = ""     // an item has what its field has
		f.Type.Optional = false // an item without the field is in no index of it
		return f.Type, known
	})
	if p == nil || !sound {
		return
	}
	ix := b.indexOf(v, p)
	ix.Key = b.add(&keyspace.Key{Role: "index." + v.Name, Kind: keyspace.ZSet, Score: &scalar.Type{Kind: scalar.Int},
		TTL:     b.indexTTL(),
		Pattern: p, Pos: ix.Pos, Member: b.idType(), Doc: "Index of " + b.e.Name + " by " + v.Name + "."})
	if ix.Score != "" {
		ix.Key.Score = b.scoreType(v, ix.Score)
	}
	b.e.Index = append(b.e.Index, ix)
	b.e.At["index."+v.Name] = ix.Pos
}

// field returns a field of the entity being built.
func (b *builder) field(name string) (keyspace.Field, bool) {
	fields := b.e.Keys[0].Fields
	if b.fieldAt == nil {
		b.fieldAt = make(map[string]int, len(fields))
		for i, f := range fields {
			b.fieldAt[f.Name] = i
		}
	}
	i, known := b.fieldAt[name]
	if !known {
		return keyspace.Field{}, false
	}
	return fields[i], true
}

// indexFields checks the fields an index is named after.
func (b *builder) indexFields(v node.Property) bool {
	names := strings.Split(v.Name, "+")
	if len(names) > 2 {
		b.d.Report("KW304", b.d.At(v.Key), "as in a+b: a zset per value of a, sorted by b",
			"the index %s of %s has more than two fields", v.Name, b.e.Name)
		return false
	}
	for _, name := range names {
		_, own := b.field(name)
		switch {
		case own && name == expires:
			b.d.Report("KW304", b.d.At(v.Key), "rename the field",
				"%s has a field expires, which is also the built-in name of the expiry time", b.e.Name)
			return false
		case !own && name != expires:
			known := []string{expires}
			for _, f := range b.e.Keys[0].Fields {
				known = append(known, f.Name)
			}
			b.d.Report("KW304", b.d.At(v.Key), b.d.Near(name, known), "%s has an index over %q, which is not a field of it",
				b.e.Name, name)
			return false
		}
	}
	return true
}

// indexOf decides from name and pattern what an index is: a zset per value, or one over
// all items; sorted by a field, or by the ids.
func (b *builder) indexOf(v node.Property, p *pattern.Pattern) keyspace.Index {
	ix := keyspace.Index{Name: v.Name, Pos: b.d.At(v.Value)}
	first, score, compound := strings.Cut(v.Name, "+")
	named := slices.ContainsFunc(p.Placeholders(), func(place pattern.Placeholder) bool { return place.Name == first })
	switch {
	case named && first == expires:
		b.d.Report("KW304", ix.Pos, "remove {expires} from the pattern: one zset, scored by it",
			"there is no index per expiry time")
	case compound && !named:
		b.d.Report("KW304", ix.Pos, "add {"+first+"} to the pattern",
			"the index %s of %s is one zset per value of %s, but its pattern has no {%s}", v.Name, b.e.Name, first, first)
	}
	if compound || named {
		ix.Field, ix.Score = first, score
	} else {
		ix.Score = first
	}
	return ix
}

// scoreType returns the type of the scores of an index.
func (b *builder) scoreType(v node.Property, name string) *scalar.Type {
	f, own := b.field(name)
	if !own {
		return &scalar.Type{Kind: scalar.UnixMS} // expires
	}
	if f.Type.Encrypted {
		b.d.Report("KW304", b.d.At(v.Key), "index another field: an index holds its values in plain text",
			"%s is encrypted and cannot be the score of an index", name)
	} else if !isNumber(f.Type) {
		b.d.Report("KW304", b.d.At(v.Key), fmt.Sprintf("for an index per value put {%s} into the pattern", name),
			"%s is %s and cannot be the score of an index", name, f.Type)
	}
	return &f.Type
}

// indexTTL: an index lives twice as long as the longest-lived item may, renewed
// with every write, so that it outlives those that are prolonged meanwhile.
func (b *builder) indexTTL() keyspace.TTL {
	t := b.e.TTL
	if t.Policy != keyspace.TTLExpires {
		return t
	}
	t.Max = min(t.LiveMax(), keyspace.MaxTTL/2) * 2
	t.Default, t.Min, t.Jitter = t.Max, t.Max, 0
	t.Name, t.Sliding = "", true
	t.Text = keyspace.FormatDuration(t.Max) + " sliding"
	return t
}

// idType returns the type of an entity's id: that of its only placeholder, text when
// there are several.
func (b *builder) idType() *scalar.Type {
	t := scalar.Type{}
	if places := b.main.Placeholders(); len(places) == 1 {
		t = places[0].Type
	}
	return &t
}
