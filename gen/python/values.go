package python

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/portable"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// values writes the types of what is stored under a key. It gives the lines of
// the class that have the codecs.
func (m *module) values(i *item, k *keyspace.Key) (lines string) {
	for _, p := range portable.Parts(k) {
		lines += m.part(i, p)
	}
	return lines
}

// part writes the type of one part, and gives the line with its codec.
func (m *module) part(i *item, p portable.Part) string {
	suffix := gen.Title(p.Attribute)
	switch {
	case len(p.Object) > 0:
		name, list := m.object(i, suffix, p.Object)
		return attribute(p, codecOf(p)+"["+name+", str]", codecOf(p)+"("+members("_ObjectValue", list, "        ")+")")
	case len(p.Fields) > 0:
		if carries(p.Fields) { // a message, with the members of the envelope as fields
			suffix = "Message"
		}
		name, list := m.object(i, suffix, p.Fields)
		return attribute(p, "FieldsCodec["+name+", "+stores(p.Fields)+"]", members("FieldsCodec", list, "        "))
	}
	name := i.typeName(suffix)
	if p.Attribute == "score" {
		fmt.Fprintf(&m.body, "%s = %s%s\n\n\n", name, valueType(p.Type), remark(p.Type))
		return attribute(p, "Codec["+name+", float]", "Codec(_ScoreValue("+m.scalar(p.Type)+"))")
	}
	fmt.Fprintf(&m.body, "%s = %s%s\n\n\n", name, valueType(p.Type), remark(p.Type))
	return attribute(p, codecOf(p)+"["+name+", "+storedType(p.Type)+"]", codecOf(p)+"("+m.scalar(p.Type)+")")
}

// codecOf returns the class of the codec of a part.
func codecOf(p portable.Part) string {
	if p.Attribute == "payload" {
		return "PayloadCodec"
	}
	return "Codec"
}

func attribute(p portable.Part, typ, value string) string {
	return fmt.Sprintf("    %s: %s = %s\n", p.Attribute, typ, value)
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

// stores returns the type of what fields are stored as.
func stores(members []portable.Member) string {
	typ := ""
	for _, f := range members {
		switch one := storedType(f.Type); {
		case typ == "":
			typ = one
		case typ != one:
			return "_t.Union[str, bytes]"
		}
	}
	return typ
}

func binary(t scalar.Type) bool { return t.Encrypted || t.Kind == scalar.Bytes }

func storedType(t scalar.Type) string {
	if binary(t) {
		return "bytes"
	}
	return "str"
}

// made represents a member of an object with its type and the code of its codec.
type made struct {
	portable.Member
	typ, code string
}

// object writes the TypedDict of an object, and before it that of an object in
// it. It is a call, since a field may have any name; the optional fields are in a
// base of their own.
func (m *module) object(i *item, suffix string, list []portable.Member) (name string, all []made) {
	var required, optional []made
	for _, f := range list {
		out := made{Member: f, typ: valueType(f.Type)}
		if f.Data != nil {
			inner := []made(nil)
			out.typ, inner = m.object(i, "Data", f.Data)
			out.code = members("_ObjectValue", inner, "            ")
		} else {
			out.code = m.scalar(f.Type)
		}
		all = append(all, out)
		if f.Type.Optional {
			optional = append(optional, out)
		} else {
			required = append(required, out)
		}
	}
	name = i.typeName(suffix)
	if len(optional) == 0 {
		m.dict(name, required, "")
		return name, all
	}
	always, maybe := m.names.Take("_"+name+"Always"), m.names.Take("_"+name+"Maybe")
	m.dict(always, required, "")
	m.dict(maybe, optional, "    total=False,\n")
	fmt.Fprintf(&m.body, "class %s(%s, %s):\n    pass\n\n\n", name, always, maybe)
	return name, all
}

func (m *module) dict(name string, fields []made, total string) {
	fmt.Fprintf(&m.body, "%s = _t.TypedDict(\n    %s,\n    {\n", name, quote(name))
	for _, f := range fields {
		fmt.Fprintf(&m.body, "        %s: %s,%s\n", quote(f.Name), f.typ, remark(f.Type))
	}
	fmt.Fprintf(&m.body, "    },\n%s)\n\n\n", total)
}

// members returns a call with a line per member.
func members(call string, list []made, indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s(\n", call)
	for _, f := range list {
		fmt.Fprintf(&b, "%s_Member(%s, %s, %s),\n", indent, quote(f.Name), truth(f.Type.Optional), f.code)
	}
	return b.String() + strings.TrimSuffix(indent, "    ") + ")"
}

// scalar returns the call that makes the codec of a scalar type.
func (m *module) scalar(t scalar.Type) string {
	if binary(t) {
		return "_BytesValue()"
	}
	switch t.Kind {
	case scalar.Text:
		return fmt.Sprintf("_TextValue(%d)", t.Max)
	case scalar.Int:
		low, high := portable.Range(t)
		return fmt.Sprintf("_IntValue(%s, %s)", low, high)
	case scalar.Enum:
		return "_WordValue(" + list(t.Values) + ")"
	case scalar.Date:
		return "_DateValue(" + quote(t.Layout) + ")"
	}
	if call, ok := plain[t.Kind]; ok {
		return call
	}
	table, empty := portable.Matched(t)
	return fmt.Sprintf("_MatchedValue(%s, %s, %s)", m.automaton(table, t), truth(empty), quote(t.Describe()))
}

// plain lists the calls without an argument of the declaration's.
var plain = map[scalar.Kind]string{
	scalar.Float: "_FloatValue()", scalar.Bool: "_BoolValue()", scalar.JSON: "_JSONValue()",
	scalar.Timestamp: "_TimestampValue()",
	scalar.UnixS:     "_UnixValue(1)", scalar.UnixMS: "_UnixValue(1000)",
}

// valueType returns the type of a value that a program has in hand.
func valueType(t scalar.Type) string {
	switch {
	case binary(t):
		return "bytes"
	case t.Kind == scalar.Enum:
		return literal(t.Values)
	case t.Kind == scalar.Date && wholeDay(t.Layout):
		return "_dt.date"
	}
	if typ, ok := types[t.Kind]; ok {
		return typ
	}
	return "str"
}

// wholeDay reports whether a layout has a day and nothing else.
func wholeDay(layout string) bool {
	day := strings.Contains(layout, "YYYY") && strings.Contains(layout, "MM") && strings.Contains(layout, "DD")
	return day && !strings.Contains(layout, "HH") && !strings.Contains(layout, "mm") && !strings.Contains(layout, "ss")
}

var types = map[scalar.Kind]string{
	scalar.Int: "int", scalar.Float: "float", scalar.Bool: "bool", scalar.JSON: "_t.Any",
	scalar.Date: "_dt.datetime", scalar.Timestamp: "_dt.datetime", scalar.UnixS: "_dt.datetime",
	scalar.UnixMS: "_dt.datetime",
}
