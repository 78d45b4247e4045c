package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// Stamps are the fields of an entity that the server fills in; "" for none.
type Stamps struct {
	Created, Updated string // a time
	Version          string // a whole number that grows with every write and never comes again
}

// TTLRule chooses the lifetime of an item by one of its fields.
type TTLRule struct {
	Field string
	Cases []TTLCase
	Pos   Pos
}

// TTLCase is one line of a rule: the numbers from Low to High, or one Word.
type TTLCase struct {
	Word      string // as it is declared: "1..3", "high"
	Low, High int64  // of a number; no number lies between those of a word
	TTL       time.Duration
}

// Of is how long an item lives by the stored text of the field, 0 where no case
// fits: then the entry's TTL counts.
func (r *TTLRule) Of(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	for _, c := range r.Cases {
		if c.Word == text || err == nil && c.Low <= n && n <= c.High {
			return c.TTL
		}
	}
	return 0
}

// entity is a hash with fixed fields and a zset per index; beside them
// when each item ends, in which indexes it is, and who sweeps.
func (b *builder) entity() {
	fields := b.fields(b.d, b.props, "fields", b.e.Name)
	b.addMain(&Key{Fields: fields})
	if p, ok := b.props["fields"]; len(fields) == 0 && (!ok || p.value.Kind == yaml.MappingNode && len(p.value.Content) == 0) {
		b.d.report("KW006", b.e.Pos, "add fields: {name: text}", "the entity %s has no fields", b.e.Name)
	}
	if p, ok := b.props["index"]; ok {
		for _, v := range b.d.mapping(p.value, "the index of "+b.e.Name) {
			b.index(v)
		}
	}
	b.stamps()
	b.ttlRule()
	b.bookkeeping()
	if p, ok := b.props["emits"]; ok {
		for name, v := range b.d.known(p.value, "emits", childProperties["emits"]) {
			if channel, ok := b.d.text(v.value, name); ok {
				b.e.Emits[name] = channel
				b.e.At["emits."+name] = b.d.at(v.value)
			}
		}
	}
}

// bookkeeping are the keys of all items together. They lie in one slot: that of
// the expiry times, if the author has named them.
func (b *builder) bookkeeping() {
	base := b.common()
	named := slices.IndexFunc(b.e.Index, func(ix Index) bool { return ix.Field == "" && ix.Score == expires })
	if named >= 0 {
		base = b.e.Index[named].Key.Pattern
	}
	id, ttl := b.idType(), b.indexTTL()
	if named < 0 && b.e.TTL.Policy != TTLNone {
		b.addRole(&Key{Role: "expiry", Kind: ZSet, TTL: ttl, Member: id, Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "When each " + b.e.Name + " ends."}, base, "expiry")
	}
	b.addRole(&Key{Role: "ledger", Kind: Hash, TTL: ttl, Field: id, Item: &scalar.Type{}, Doc: "In which indexes each " + b.e.Name + " is."}, base, "ledger")
	if b.e.TTL.Policy == TTLNone {
		b.addRole(&Key{Role: "pending", Kind: ZSet, TTL: ttl, Member: id, Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "In a cluster: which " + b.e.Name + " is being changed, and when another may finish that."}, base, "pending")
	} else {
		b.addRole(&Key{Role: "sweep", Kind: String, TTL: atMost(sweepTTL), Value: &scalar.Type{}, Doc: "Which process cleans up behind each " + b.e.Name + " that has expired."}, base, "sweep")
	}
}

// sweepTTL bounds the lease of the process that sweeps.
const sweepTTL = 10 * time.Minute

// common is the main pattern without what tells items apart: what is in every
// index too, and no field, stays.
func (b *builder) common() *pattern.Pattern {
	shared := func(p pattern.Placeholder) bool {
		_, field := b.field(p.Name)
		return !field && len(b.e.Index) > 0 && !slices.ContainsFunc(b.e.Index, func(ix Index) bool {
			return !slices.ContainsFunc(ix.Key.Pattern.Placeholders(), func(q pattern.Placeholder) bool { return q.Name == p.Name })
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
	at := map[string]*string{"created": &b.e.Stamps.Created, "updated": &b.e.Stamps.Updated, "version": &b.e.Stamps.Version}
	kinds := map[string][]scalar.Kind{"created": {scalar.UnixMS, scalar.UnixS}, "updated": {scalar.UnixMS, scalar.UnixS}, "version": {scalar.Int}}
	unit := scalar.Int // none yet
	props := b.d.known(p.value, "stamps", childProperties["stamps"])
	for _, name := range []string{"created", "updated", "version"} {
		v, ok := props[name]
		if !ok {
			continue
		}
		text, ok := b.d.text(v.value, name)
		if !ok {
			continue
		}
		f, own := b.field(text)
		b.e.At["stamps."+name] = b.d.at(v.value)
		switch {
		case !own:
			b.d.report("KW304", b.d.at(v.value), b.d.near(text, b.fieldNames()), "%s stamps %q, which is none of its fields", b.e.Name, text)
		case !slices.Contains(kinds[name], f.Type.Kind) || f.Type.Encrypted || name == "version" && !f.Type.Is([]byte("9007199254740992")):
			b.d.report("KW304", b.d.at(v.value), "version: int, created and updated: unix_ms or unix_s", "the server cannot stamp %s, which is %s", text, f.Type)
		case name != "version" && unit != scalar.Int && unit != f.Type.Kind:
			b.d.report("KW304", b.d.at(v.value), "the same type for both", "%s has stamps in two units of time", b.e.Name)
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
	lines := b.d.mapping(p.value, "ttl_by")
	if len(lines) != 1 {
		b.d.report("KW304", b.d.at(p.value), "as in ttl_by: {priority: {1..3: 5m}}", "ttl_by of %s names one field, not %d", b.e.Name, len(lines))
		return
	}
	f, own := b.field(lines[0].name)
	if !own {
		b.d.report("KW304", b.d.at(lines[0].key), b.d.near(lines[0].name, b.fieldNames()), "ttl_by of %s looks at %q, which is none of its fields", b.e.Name, lines[0].name)
		return
	}
	rule := &TTLRule{Field: f.Name, Pos: b.d.at(p.value)}
	for _, v := range b.d.mapping(lines[0].value, "ttl_by") {
		if c, ok := b.ttlCase(f, v); ok {
			rule.Cases = append(rule.Cases, c)
		}
	}
	b.e.TTLBy = rule
}

func (b *builder) ttlCase(f Field, v property) (c TTLCase, ok bool) {
	c.Word = v.name
	c.TTL = b.d.duration(map[string]property{"ttl_by": v}, "ttl_by")
	switch f.Type.Kind {
	case scalar.Int:
		low, high, ranged := strings.Cut(v.name, "..")
		var err1, err2 error
		c.Low, err1 = strconv.ParseInt(low, 10, 64)
		c.High, err2 = strconv.ParseInt(cmp.Or(high, low), 10, 64)
		ok = err1 == nil && err2 == nil && c.Low <= c.High && ranged == (high != "")
	case scalar.Enum:
		c.Low, c.High = 1, 0
		ok = slices.Contains(f.Type.Values, v.name)
	}
	if !ok {
		b.d.report("KW304", b.d.at(v.key), "a number, a range like 1..3, or a word of the enum", "%q is no case of %s, which is %s", v.name, f.Name, f.Type)
		return c, false
	}
	if t := b.e.TTL; t.Policy == TTLExpires && (c.TTL < t.Min || c.TTL > t.Max) {
		b.d.report("KW201", b.d.at(v.value), fmt.Sprintf("between %s and %s, or other bounds", FormatDuration(t.Min), FormatDuration(t.Max)), "%s for %s %s is outside of the ttl of %s, which is %s", FormatDuration(c.TTL), f.Name, v.name, b.e.Name, t.Text)
	}
	return c, true
}
