package typescript

import (
	"fmt"

	"github.com/keywright/keywright/gen/portable"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// values writes the types of what is stored under a key.
func (m *module) values(i *item, k *keyspace.Key) {
	if k.Headed {
		m.alias(i.typeName("Payload"), "What stands behind the first line", *k.Value, wireType(*k.Value))
	} else if k.Value != nil && len(k.JSON) == 0 {
		m.alias(i.typeName("Value"), "Value", *k.Value, wireType(*k.Value))
	}
	if len(k.JSON) > 0 {
		m.record(i.typeName("Value"), []string{"The value, a JSON object: what JSON.parse gives."}, fieldsOf(k.JSON, jsonType))
	}
	if k.Member != nil {
		m.alias(i.typeName("Member"), "Element", *k.Member, wireType(*k.Member))
	}
	if k.Score != nil {
		m.alias(i.typeName("Score"), "Score", *k.Score, "number")
	}
	if len(k.Fields) > 0 {
		m.record(i.typeName("Fields"), []string{"The fields, each as the server holds it: text."}, fieldsOf(k.Fields, wireType))
	}
	if k.Field != nil {
		m.alias(i.typeName("Field"), "Name of a field", *k.Field, wireType(*k.Field))
	}
	if k.Item != nil {
		m.alias(i.typeName("Item"), "Value of a field", *k.Item, wireType(*k.Item))
	}
}

func (m *module) alias(name, what string, t scalar.Type, typ string) {
	comment(&m.body, "", portable.Lines(what+": "+t.Definition()))
	fmt.Fprintf(&m.body, "export type %s = %s;\n\n", name, typ)
}

func fieldsOf(fields []keyspace.Field, typ func(scalar.Type) string) []member {
	var out []member
	for _, f := range fields {
		out = append(out, member{name: f.Name, typ: typ(f.Type), doc: f.Type.Definition(), optional: f.Type.Optional})
	}
	return out
}

// wireType is a value as the server holds it: text, which a client gives as a
// string unless it is asked for bytes.
func wireType(t scalar.Type) string {
	switch {
	case t.Encrypted, t.Kind == scalar.Bytes:
		return "string | Uint8Array"
	case t.Kind == scalar.Enum:
		return union(t.Values)
	case t.Kind == scalar.Bool:
		return union([]string{"true", "false"})
	}
	return "string"
}

// jsonType is a value inside of JSON.
func jsonType(t scalar.Type) string {
	if t.Encrypted {
		return "string"
	}
	switch t.Kind {
	case scalar.Int, scalar.Float, scalar.UnixS, scalar.UnixMS:
		return "number"
	case scalar.Bool:
		return "boolean"
	case scalar.JSON:
		return "unknown"
	case scalar.Enum:
		return union(t.Values)
	}
	return "string"
}
