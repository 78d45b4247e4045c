package python

import (
	"fmt"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// values writes the types of what is stored under a key.
func (m *module) values(i *item, k *keyspace.Key) {
	if k.Headed {
		m.alias(i.typeName("Payload"), *k.Value, wireType(*k.Value)) // behind the first line
	} else if k.Value != nil && len(k.JSON) == 0 {
		m.alias(i.typeName("Value"), *k.Value, wireType(*k.Value))
	}
	if len(k.JSON) > 0 {
		m.record(i.typeName("Value"), k.JSON, jsonType)
	}
	if k.Member != nil {
		m.alias(i.typeName("Member"), *k.Member, wireType(*k.Member))
	}
	if k.Score != nil {
		m.alias(i.typeName("Score"), *k.Score, "float")
	}
	if len(k.Fields) > 0 {
		m.record(i.typeName("Fields"), k.Fields, wireType)
	}
	if k.Field != nil {
		m.alias(i.typeName("Field"), *k.Field, wireType(*k.Field))
	}
	if k.Item != nil {
		m.alias(i.typeName("Item"), *k.Item, wireType(*k.Item))
	}
}

func (m *module) alias(name string, t scalar.Type, typ string) {
	fmt.Fprintf(&m.body, "%s = %s%s\n\n\n", name, typ, remark(t))
}

// record writes a TypedDict. It is a call, since a field may have any name; the
// optional fields are in a base of their own.
func (m *module) record(name string, fields []keyspace.Field, typ func(scalar.Type) string) {
	var required, optional []keyspace.Field
	for _, f := range fields {
		if f.Type.Optional {
			optional = append(optional, f)
		} else {
			required = append(required, f)
		}
	}
	if len(optional) == 0 {
		m.dict(name, required, typ, "")
		return
	}
	always, maybe := m.names.Take("_"+name+"Always"), m.names.Take("_"+name+"Maybe")
	m.dict(always, required, typ, "")
	m.dict(maybe, optional, typ, "    total=False,\n")
	fmt.Fprintf(&m.body, "class %s(%s, %s):\n    pass\n\n\n", name, always, maybe)
}

func (m *module) dict(name string, fields []keyspace.Field, typ func(scalar.Type) string, total string) {
	fmt.Fprintf(&m.body, "%s = _t.TypedDict(\n    %s,\n    {\n", name, quote(name))
	for _, f := range fields {
		fmt.Fprintf(&m.body, "        %s: %s,%s\n", quote(f.Name), typ(f.Type), remark(f.Type))
	}
	fmt.Fprintf(&m.body, "    },\n%s)\n\n\n", total)
}

// wireType is a value as the server holds it, given by a client that decodes
// (decode_responses=True).
func wireType(t scalar.Type) string {
	switch {
	case t.Encrypted, t.Kind == scalar.Bytes:
		return "_t.Union[str, bytes]"
	case t.Kind == scalar.Enum:
		return literal(t.Values)
	case t.Kind == scalar.Bool:
		return literal([]string{"true", "false"})
	}
	return "str"
}

// jsonType is a value inside of JSON.
func jsonType(t scalar.Type) string {
	if t.Encrypted {
		return "str"
	}
	switch t.Kind {
	case scalar.Int, scalar.UnixS, scalar.UnixMS:
		return "int"
	case scalar.Float:
		return "float"
	case scalar.Bool:
		return "bool"
	case scalar.JSON:
		return "_t.Any"
	case scalar.Enum:
		return literal(t.Values)
	}
	return "str"
}
