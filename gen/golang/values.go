package golang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/scalar"
)

// stored represents a scalar type as a Go type and the codec that writes and reads it.
type stored struct {
	typ   string // int64
	codec string // value.Int(1, 5)
	form  string // in a JSON object
}

// stored gives the Go side of a scalar type. owner names an enum that no var
// names. What it imports is used: a caller writes the type or the codec.
func (g *generator) stored(owner string, t *scalar.Type, inJSON bool) stored {
	value := g.use(module + "/value")
	if t == nil {
		return stored{"string", value + ".Text(0)", "Quoted"}
	}
	if t.Encrypted { // where no place is known: the caller seals
		return stored{value + ".Sealed", value + ".Opaque()", "Quoted"}
	}
	s := stored{"string", "", string(parts.InJSON(t.Kind))}
	switch t.Kind {
	case scalar.Int:
		s.typ, s.codec = "int64", value+".Int("+g.bounds(*t)+")"
	case scalar.Float:
		s.typ, s.codec = "float64", value+".Float()"
	case scalar.Bool:
		s.typ, s.codec = "bool", value+".Bool()"
	case scalar.Bytes:
		s.typ, s.codec = "[]byte", value+".Bytes()"
		if inJSON {
			s.codec = value + ".Base64[[]byte]()"
		}
	case scalar.JSON:
		s.typ, s.codec = g.use("encoding/json")+".RawMessage", value+".Raw()"
	case scalar.Enum:
		s.typ = g.enums.take(g, owner, *t)
		s.codec = value + ".Enum(" + strings.Join(g.enums.constants(s.typ), ", ") + ")"
	case scalar.Text:
		s.codec = fmt.Sprintf("%s.Text(%d)", value, t.Max)
	case scalar.UUID, scalar.Slug:
		check := map[scalar.Kind]string{scalar.UUID: "UUID", scalar.Slug: "Slug"}[t.Kind]
		s.codec = value + ".Checked(" + g.use(module+"/keyspace/key") + "." + check + ")"
	case scalar.Date:
		s.typ, s.codec = g.use("time")+".Time", value+".Date("+quote(t.Layout)+")"
	case scalar.Timestamp, scalar.UnixS, scalar.UnixMS:
		s.typ, s.codec = g.use("time")+".Time", value+"."+times[t.Kind]+"()"
	default:
		plain := *t
		plain.Optional, plain.Encrypted = false, false
		s.codec = value + ".Matched(" + quote(plain.Definition()) + ")"
	}
	return s
}

// times lists the codecs of moments.
var times = map[scalar.Kind]string{scalar.Timestamp: "Timestamp", scalar.UnixS: "UnixS", scalar.UnixMS: "UnixMS"}

// plain gives the Go side of what is sealed on its way to the server and back.
func (g *generator) plain(owner string, t *scalar.Type, inJSON bool) stored {
	if t != nil && t.Encrypted {
		open := *t
		open.Encrypted = false
		t = &open
	}
	return g.stored(owner, t, inJSON)
}

// sealed returns plain, with the codec that seals if the type is encrypted.
func (g *generator) sealed(owner string, t *scalar.Type) stored {
	s := g.plain(owner, t, false)
	if t != nil && t.Encrypted {
		s.codec = g.use(module+"/value") + ".Encrypt(" + s.codec + ")"
	}
	return s
}

// score gives the Go side of a sorted set's scores.
func (g *generator) score(t *scalar.Type) stored {
	value := g.use(module + "/value")
	switch {
	case t == nil || t.Kind == scalar.Float:
		return stored{typ: "float64", codec: value + ".FloatScore()"}
	case t.Kind == scalar.UnixS:
		return stored{typ: g.use("time") + ".Time", codec: value + ".UnixSScore()"}
	case t.Kind == scalar.UnixMS:
		return stored{typ: g.use("time") + ".Time", codec: value + ".UnixMSScore()"}
	}
	return stored{typ: "int64", codec: value + ".IntScore(" + g.bounds(*t) + ")"}
}

// field represents one field of a struct.
type field struct {
	keyspace.Field
	name string // of the struct field
	stored
	codecVar string
}

// wrapped returns what makes a field, inside of what makes it sealed if it is.
func (f *field) wrapped(seal, code string) string {
	if f.Type.Encrypted {
		return seal + "(" + code + ")"
	}
	return code
}

// objectCodec writes the JSON methods of a struct, and gives its codec.
func (g *generator) objectCodec(typ string, fields []field) string {
	g.object(typ, fields)
	value := g.use(module + "/value")
	if slices.ContainsFunc(fields, func(f field) bool { return f.Type.Encrypted }) {
		return value + ".SealedObject(members_" + typ + ")"
	}
	return value + ".JSON[" + typ + "]()"
}

// structure writes the struct of some fields and gives its fields. Codecs are
// variables of their own: single fields use them too.
func (g *generator) structure(typ, doc string, fields []keyspace.Field, inJSON bool) []field {
	var scope gen.Names
	out := make([]field, len(fields))
	g.printf("// %s is %s\ntype %s struct {\n", typ, doc, typ)
	for i, f := range fields {
		name := scope.Take(exported(f.Name), "MarshalJSON", "UnmarshalJSON")
		out[i] = field{Field: f, name: name, stored: g.plain(typ+"_"+f.Name, &f.Type, inJSON),
			codecVar: "codec_" + typ + "_" + name}
		pointer := ""
		if f.Type.Optional {
			pointer = "*"
		}
		g.printf("%s %s%s // %s\n", name, pointer, out[i].typ, printable(f.Name+": "+f.Type.Definition()))
	}
	g.printf("}\n\nvar (\n")
	for _, f := range out {
		g.printf("%s = %s\n", f.codecVar, f.codec)
	}
	g.printf(")\n\n")
	return out
}

// columns writes the variable with the fields of a hash or stream.
func (g *generator) columns(typ string, fields []field) (name string) {
	value := g.use(module + "/value")
	name = "fields_" + typ
	g.printf("var %s = %s.Fields[%s]{Read: read_%s, Columns: []%s.Column[%s]{\n", name, value, typ, typ, value, typ)
	for _, f := range fields {
		kind, pointer := "Required", ""
		if f.Type.Optional {
			kind, pointer = "Optional", "*"
		}
		column := fmt.Sprintf("%s.%s(%s, %s, func(v *%s) *%s%s { return &v.%s })", value, kind, quote(f.Field.Name),
			f.codecVar, typ, pointer, f.typ, f.name)
		g.printf("%s,\n", f.wrapped(value+".Encrypted", column))
	}
	g.printf("}}\n\n")
	g.reader(typ, fields)
	return name
}

// reader writes the function that reads a struct from fields by name: what the
// columns do, without calls through pointers, so that the struct stays on the
// stack.
func (g *generator) reader(typ string, fields []field) {
	value := g.use(module + "/value")
	g.printf("func read_%s(fields map[string]string) (v %s, err error) {\n", typ, typ)
	for _, f := range fields {
		name := quote(f.Field.Name)
		if f.Type.Optional {
			g.printf("if text, ok := fields[%s]; ok {\nx, err := %s.Parse(text)\nif err != nil {\nreturn v, %s.In(%s, "+
				"err)\n}\nv.%s = &x\n}\n", name, f.codecVar, value, name, f.name)
			continue
		}
		g.printf("if text, ok := fields[%s]; !ok {\nreturn v, %s.Missing(%s)\n} else if v.%s, err = %s.Parse(text); err "+
			"!= nil {\nreturn v, %s.In(%s, err)\n}\n", name, value, name, f.name, f.codecVar, value, name)
	}
	g.printf("return v, nil\n}\n\n")
}

// object writes the JSON methods of a struct.
func (g *generator) object(typ string, fields []field) {
	value := g.use(module + "/value")
	g.printf("var members_%s = []%s.ObjectColumn[%s]{\n", typ, value, typ)
	for _, f := range fields {
		kind, pointer := "Member", ""
		if f.Type.Optional {
			kind, pointer = "OptionalMember", "*"
		}
		member := fmt.Sprintf("%s.%s(%s, %s.%s, %s, func(v *%s) *%s%s { return &v.%s })", value, kind, quote(f.Field.Name),
			value, f.form, f.codecVar, typ, pointer, f.typ, f.name)
		g.printf("%s,\n", f.wrapped(value+".EncryptedMember", member))
	}
	g.printf("}\n\n// MarshalJSON implements json.Marshaler.\nfunc (v %s) MarshalJSON() ([]byte, error) { return "+
		"%s.MarshalObject(members_%s, &v) }\n\n", typ, value, typ)
	g.printf("// UnmarshalJSON implements json.Unmarshaler.\nfunc (v *%s) UnmarshalJSON(text []byte) error { return "+
		"%s.UnmarshalObject(members_%s, text, v) }\n\n", typ, value, typ)
}

// enum represents a type of words.
type enum struct {
	name  string
	doc   string
	words []string
	names []string
}

// enums holds the enums of a package, by what tells them apart.
type enums struct {
	names map[string]*enum
	list  []*enum
}

// take gives the name of an enum's type: that of its var, else owner's.
func (e *enums) take(g *generator, owner string, t scalar.Type) string {
	key := "var " + t.Var
	if t.Var == "" {
		key = "own " + owner
	} else {
		owner = t.Var
	}
	if known, ok := e.names[key]; ok {
		return known.name
	}
	out := &enum{name: g.names.Take(exported(owner), taken...), doc: owner, words: t.Values}
	for _, w := range t.Values {
		out.names = append(out.names, g.names.Take(out.name+camel(gen.Words(w)), out.name))
	}
	e.names[key] = out
	e.list = append(e.list, out)
	return out.name
}

func (e *enums) constants(name string) []string {
	i := slices.IndexFunc(e.list, func(x *enum) bool { return x.name == name })
	return e.list[i].names
}

func (e *enums) write(g *generator) {
	for _, x := range e.list {
		g.printf("// %s is one of the words of %s.\ntype %s string\n\n// The words of %s, in the order they are declared "+
			"in.\nconst (\n", x.name, printable(x.doc), x.name, x.name)
		for i, w := range x.words {
			g.printf("%s %s = %s\n", x.names[i], x.name, quote(w))
		}
		g.printf(")\n\n")
	}
}
