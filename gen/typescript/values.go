package typescript

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/portable"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// codecs holds the types of what an item holds and the codecs for them.
type codecs struct {
	types  []string // readonly value: Codec<ProfileValue>
	values []string // value: $codec(…)
}

// values writes the types of what is stored under a key.
func (m *module) values(i *item, k *keyspace.Key) (c codecs) {
	for _, p := range portable.Parts(k) {
		c.add(m.part(i, p))
	}
	return c
}

func (c *codecs) add(attribute, typ, value string) {
	c.types = append(c.types, fmt.Sprintf("readonly %s: %s", attribute, typ))
	c.values = append(c.values, attribute+": "+value)
}

// intersection returns what the type of an item has beyond that of every other.
func (c *codecs) intersection() string {
	if len(c.types) == 0 {
		return ""
	}
	return " & { " + strings.Join(c.types, "; ") + " }"
}

// object returns the argument that gives the codecs.
func (c *codecs) object(indent string) string {
	if len(c.values) == 0 {
		return indent + "{},\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s{\n", indent)
	for _, value := range c.values {
		fmt.Fprintf(&b, "%s  %s,\n", indent, value)
	}
	return b.String() + indent + "},\n"
}

// part writes the type of one part; it gives the type of its codec and what makes
// that.
func (m *module) part(i *item, p portable.Part) (attribute, typ, value string) {
	suffix := gen.Title(p.Attribute)
	switch {
	case len(p.Object) > 0:
		name, list := m.object(i, suffix, p.Doc, p.Object)
		codec, call := codecOf(p)
		return p.Attribute, codec + "<" + name + ">", call + "(" + m.members("$objectValue", list, "      ") + ")"
	case len(p.Fields) > 0:
		if carries(p.Fields) { // a message, with the members of the envelope as fields
			suffix = "Message"
		}
		name, list := m.object(i, suffix, p.Doc, p.Fields)
		typ = "FieldsCodec<" + name + ">"
		if text, bytes := stores(p.Fields); text && bytes {
			typ = "FieldsCodec<" + name + ", string | Uint8Array>"
		} else if bytes {
			typ = "FieldsCodec<" + name + ", Uint8Array>"
		}
		return p.Attribute, typ, m.members("$fieldsCodec", list, "      ")
	}
	name := i.typeName(suffix)
	if p.Attribute == "score" {
		comment(&m.body, "", portable.Lines(p.Doc+": "+p.Type.Definition()))
		fmt.Fprintf(&m.body, "export type %s = %s;\n\n", name, scoreType(p.Type))
		return p.Attribute, "Codec<" + name + ", number>", "$scoreCodec(" + m.scalar(p.Type) + ")"
	}
	comment(&m.body, "", portable.Lines(strings.TrimSuffix(p.Doc, ", as JSON.")+": "+p.Type.Definition()))
	fmt.Fprintf(&m.body, "export type %s = %s;\n\n", name, valueType(p.Type))
	codec, call := codecOf(p)
	typ = codec + "<" + name + ">"
	if binary(p.Type) {
		typ = codec + "<" + name + ", Uint8Array>"
	}
	return p.Attribute, typ, call + "(" + m.scalar(p.Type) + ")"
}

// codecOf returns the type of the codec of a part, and the function that makes it.
func codecOf(p portable.Part) (typ, call string) {
	if p.Attribute == "payload" {
		return "PayloadCodec", "$payloadCodec"
	}
	return "Codec", "$codec"
}

// carries reports whether the fields are those of a message whose data is declared.
func carries(members []portable.Member) bool {
	for _, f := range members {
		if f.Data != nil {
			return true
		}
	}
	return false
}

// stores reports whether fields are stored as text and as bytes.
func stores(members []portable.Member) (text, bytes bool) {
	for _, f := range members {
		if binary(f.Type) {
			bytes = true
		} else {
			text = true
		}
	}
	return text, bytes
}

func binary(t scalar.Type) bool { return t.Encrypted || t.Kind == scalar.Bytes }

// made represents a member of an object with the code of its codec.
type made struct {
	portable.Member
	code string
}

// object writes the interface of an object, and before it that of an object in it.
func (m *module) object(i *item, suffix, doc string, list []portable.Member) (name string, out []made) {
	var members []member
	for _, f := range list {
		typ, code := valueType(f.Type), ""
		if f.Data != nil {
			var inner []made
			typ, inner = m.object(i, "Data", "The data of a message.", f.Data)
			code = m.members("$objectValue", inner, "        ")
		} else {
			code = m.scalar(f.Type)
		}
		members = append(members, member{name: f.Name, typ: typ, doc: f.Type.Definition(), optional: f.Type.Optional})
		out = append(out, made{f, code})
	}
	name = i.typeName(suffix)
	m.record(name, []string{doc}, members)
	return name, out
}

// members returns a call with a line per member.
func (m *module) members(call string, list []made, indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(\n", call)
	for _, f := range list {
		fmt.Fprintf(&b, "%s$member(%s, %t, %s),\n", indent, quote(f.Name), f.Type.Optional, f.code)
	}
	return b.String() + strings.TrimSuffix(indent, "  ") + ")"
}

// scalar returns the call that makes the codec of a scalar type.
func (m *module) scalar(t scalar.Type) string {
	if binary(t) {
		return "$bytesValue()"
	}
	switch t.Kind {
	case scalar.Text:
		return fmt.Sprintf("$textValue(%d)", t.Max)
	case scalar.Int:
		low, high := portable.Range(t)
		return fmt.Sprintf("$intValue(%s, %s)", quote(low), quote(high))
	case scalar.Enum:
		return "$wordValue(" + list(t.Values) + ")"
	case scalar.Date:
		return "$dateValue(" + quote(t.Layout) + ")"
	}
	if call, ok := plain[t.Kind]; ok {
		return call
	}
	table, empty := portable.Matched(t)
	return fmt.Sprintf("$matchedValue(%s, %t, %s)", m.automaton(table, t), empty, quote(t.Describe()))
}

// plain lists the calls without an argument of the declaration's.
var plain = map[scalar.Kind]string{
	scalar.Float: "$floatValue()", scalar.Bool: "$boolValue()", scalar.JSON: "$jsonValue()",
	scalar.Timestamp: "$timestampValue()",
	scalar.UnixS:     "$unixValue(1000)", scalar.UnixMS: "$unixValue(1)",
}

// valueType returns the type of a value that a program has in hand.
func valueType(t scalar.Type) string {
	switch {
	case binary(t):
		return "Uint8Array"
	case t.Kind == scalar.Int && portable.Exact(t):
		return "number"
	case t.Kind == scalar.Enum:
		return union(t.Values)
	}
	if typ, ok := types[t.Kind]; ok {
		return typ
	}
	return "string"
}

var types = map[scalar.Kind]string{
	scalar.Int: "number | bigint", scalar.Float: "number", scalar.Bool: "boolean", scalar.JSON: "unknown",
	scalar.Date: "Date", scalar.Timestamp: "Date", scalar.UnixS: "Date", scalar.UnixMS: "Date",
}

// scoreType returns valueType for a score, which is exact as a number.
func scoreType(t scalar.Type) string {
	if t.Kind == scalar.Int {
		return "number"
	}
	return valueType(t)
}
