package construct

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// plainString has one value: a scalar type, or a mapping of fields for a JSON
// object written out.
func (b *builder) plainString() {
	k := b.addMain(&keyspace.Key{})
	p, ok := b.props["value"]
	if !ok {
		return
	}
	if p.Value.Kind != yaml.MappingNode {
		k.Value = b.optionalType("value")
		return
	}
	if p.Value.Style&yaml.FlowStyle != 0 && len(p.Value.Content) == 2 && p.Value.Content[1].Tag == "!!null" {
		b.d.Report("KW009", b.d.At(p.Value), "put quotes around the whole value, or write the name of a type without braces",
			"value begins with {, which YAML reads as a mapping")
		return
	}
	k.Value = &scalar.Type{Kind: scalar.JSON}
	k.JSON = b.Fields(b.d, b.props, "value", b.e.Name)
}

// plainHash has fixed fields, or open ones of a name type and a value type.
func (b *builder) plainHash() {
	k := b.addMain(&keyspace.Key{Fields: b.Fields(b.d, b.props, "fields", b.e.Name)})
	k.Field, k.Item = b.optionalType("field"), b.optionalType("value")
	if k.Fields != nil && (k.Field != nil || k.Item != nil) {
		b.d.Report("KW302", b.e.At["fields"], "keep one of the two", "%s has fixed fields and open ones", b.e.Name)
	}
	if k.Item != nil && k.Field == nil {
		k.Field = &scalar.Type{}
	}
}

func (b *builder) plainCollection() {
	b.addMain(&keyspace.Key{Member: b.optionalType("member"), Score: b.optionalType("score")})
	b.numeric("score", b.e.Keys[0].Score)
}

// numeric reports a score type that is not a number.
func (b *builder) numeric(name string, t *scalar.Type) {
	if t != nil && !isNumber(*t) {
		b.d.Report("KW304", b.e.At[name], "as in score: unix_ms", "a score is a number, and %s is not", t)
	}
}

func isNumber(t scalar.Type) bool {
	return slices.Contains([]scalar.Kind{scalar.Int, scalar.Float, scalar.UnixS, scalar.UnixMS}, t.Kind) && !t.Encrypted
}

func (b *builder) plainStream() {
	b.addMain(&keyspace.Key{Fields: b.Fields(b.d, b.props, "fields", b.e.Name)})
	b.e.MaxLen = b.d.Number(b.props, "maxlen", 1)
	if p, ok := b.props["groups"]; ok {
		b.e.Groups = b.d.Texts(p.Value, "groups")
	}
}
