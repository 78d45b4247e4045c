package golang

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// entries writes everything about every key of every entry.
func (g *generator) entries() {
	names := make([]string, 0, len(g.ks.Keys))
	for _, k := range g.ks.Keys {
		name := g.entryName(k.Name)
		code := g.key(name, k.Name, k.Pattern)
		if k.Entry.Construct == keyspace.Entity {
			code.others = g.ks.Narrower(k)
		}
		g.keys[k] = code
		names = append(names, "entry_"+name)
		g.entry(name, k)
		g.buildAndParse(code, "key")
		g.handle(code, k)
		g.layOut(piece)
	}
	for _, k := range g.ks.Keys {
		g.owner(g.keys[k])
	}
	g.printf("// Entries is what the declaration says of every key, in its order.\nfunc Entries() []keywright.Entry "+
		"{\nreturn []keywright.Entry{%s}\n}\n\n", strings.Join(names, ", "))
}

// owner writes the function that says which other key a text is, of the patterns that are narrower.
func (g *generator) owner(c *keyCode) {
	if len(c.others) == 0 {
		return
	}
	g.printf("// other_%s says which other key a key %s is, \"\" if it is none.\n", c.name, printable(c.text))
	g.printf("func %sother_%s(text string) string {\n", g.receiver(), c.name)
	for _, k := range c.others {
		is := "text == " + g.whole(g.elements(k.Pattern))
		if n := len(k.Pattern.Placeholders()); n > 0 {
			is = fmt.Sprintf("%sok := %sParse%sKey(text); ok", strings.Repeat("_, ", n), g.whenNamed("ns."),
				g.keys[k].name)
		}
		g.printf("if %s {\nreturn %s\n}\n", is, quote("is one of "+k.Name+", "+k.Pattern.String()))
	}
	g.printf("return \"\"\n}\n\n")
}

// entryName returns a name of which all that is derived is free.
func (g *generator) entryName(declared string) string {
	base := exported(declared)
	for i, name := 2, base; ; i++ {
		if g.free(name) {
			for _, derived := range derivedNames(name) {
				g.names.Take(derived)
			}
			g.methods.Take(name)
			return name
		}
		name = fmt.Sprint(base, i)
	}
}

func derivedNames(name string) []string {
	return []string{name + "Key", "Parse" + name + "Key", name + "Value", name + "Handle", name + "Store", name + "Fields",
		name + "ID"}
}

func (g *generator) free(name string) bool {
	return !slices.ContainsFunc(derivedNames(name), func(derived string) bool { return !g.names.Free(derived) }) &&
		g.methods.Free(name, "Client")
}

// entry writes what the runtime knows of a key.
func (g *generator) entry(name string, k *keyspace.Key) {
	schema := ""
	if k.Entry.HoldsSealed() || k.Entry.Topic != nil && k.Entry.Topic.Seals() {
		schema = ", Schema: " + quote(g.ks.Package)
	}
	g.printf("var entry_%s = keywright.Entry{Name: %s, Pattern: %s, Type: %s, TTL: %s%s}\n\n", name, quote(k.Name),
		quote(k.Pattern.String()), quote(string(k.Kind)), g.ttl(k.TTL), schema)
}

var policies = map[keyspace.Policy]string{keyspace.TTLAny: "keywright.Undecided", keyspace.TTLNone: "keywright.Forever",
	keyspace.TTLExpires: "keywright.Expires"}

func (g *generator) ttl(t keyspace.TTL) string {
	if t.Policy != keyspace.TTLExpires {
		return fmt.Sprintf("keywright.TTL{Policy: %s, Text: %s}", policies[t.Policy], quote(t.Text))
	}
	more := ""
	if t.Jitter > 0 {
		more += fmt.Sprintf(", Jitter: %v", t.Jitter)
	}
	if t.Sliding {
		more += ", Sliding: true"
	}
	return fmt.Sprintf("keywright.TTL{Policy: keywright.Expires, Default: %s, Min: %s, Max: %s%s, Text: %s}",
		g.duration(t.Default), g.duration(t.Min), g.duration(t.Max), more, quote(t.Text))
}

// duration returns a time.Duration as one would write it.
func (g *generator) duration(d time.Duration) string {
	pkg := g.use("time")
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}} {
		if d%u.size == 0 {
			return fmt.Sprintf("%d*%s.%s", d/u.size, pkg, u.name)
		}
	}
	return fmt.Sprintf("%d*%s.Millisecond", d.Milliseconds(), pkg)
}

// about is the comment of a handle's method.
func (g *generator) about(name string, k *keyspace.Key) {
	g.out.WriteString(comment("", k.Doc, name+": "))
	g.printf("//\n// Key %s, %s, TTL %s.\n", printable(k.Pattern.String()), k.Kind, printable(k.TTL.Text))
}

// method writes a method of Keyspace that gives a handle: typ is its Go type,
// make the expression that makes it of a key.
func (g *generator) method(c *keyCode, k *keyspace.Key, typ, make string) {
	g.use(module + "/typed")
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s {\n", c.name, signature(c.params), typ)
	g.printf("name, err := %sKey(%s)\n", g.call(c.name), arguments(c.params))
	g.printf("return %s\n}\n\n",
		fmt.Sprintf(make, binding("entry_"+c.name, "Key: name, Err: err")))
}

// binding returns the Binding of an entry as an expression; more are its other fields.
func binding(entry, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf("keywright.Binding{Client: k.client, Entry: &%s%s}", entry, more)
}

// handle writes the handle of a key. What a construct keeps in step is not
// written by hand: there it can be looked at only.
func (g *generator) handle(c *keyCode, k *keyspace.Key) {
	switch {
	case k.Entry.Construct == keyspace.Entity && k.Role == "":
		g.hashHandle(c, k, true)
	case k.Role != "" || k.Entry.Construct == keyspace.Entity:
		g.method(c, k, "typed.Key", "typed.NewKey(%s)")
	case constructs[k.Entry.Construct] == nil:
		handles[k.Kind](g, c, k)
	}
}

// handles lists the handles of the plain types.
var handles = map[keyspace.Kind]func(*generator, *keyCode, *keyspace.Key){
	keyspace.String: (*generator).stringHandle,
	keyspace.Hash:   func(g *generator, c *keyCode, k *keyspace.Key) { g.hashHandle(c, k, false) },
	keyspace.List:   func(g *generator, c *keyCode, k *keyspace.Key) { g.collection(c, k, "List") },
	keyspace.Set:    func(g *generator, c *keyCode, k *keyspace.Key) { g.collection(c, k, "Set") },
	keyspace.ZSet:   (*generator).zsetHandle,
	keyspace.Stream: (*generator).streamHandle,
}

// codecOf writes a variable with a codec and gives its name.
func (g *generator) codecOf(role string, c *keyCode, s stored) string {
	name := role + "_" + c.name
	g.printf("var %s = %s\n\n", name, s.codec)
	return name
}

func (g *generator) stringHandle(c *keyCode, k *keyspace.Key) {
	typ, codec := g.stringCodec(c, k)
	if k.Value != nil && k.Value.Kind == scalar.Int && !k.Value.Encrypted {
		g.method(c, k, "typed.Counter", "typed.NewCounter(%s, &"+codec+")")
		return
	}
	g.method(c, k, "typed.String["+typ+"]", "typed.NewString(%s, &"+codec+")")
}

// stringCodec writes the codec of a string's value, and gives its type and name.
func (g *generator) stringCodec(c *keyCode, k *keyspace.Key) (typ, codec string) {
	if len(k.JSON) > 0 {
		typ := c.name + "Value"
		return typ, g.codecOf("value", c,
			stored{codec: g.objectCodec(typ, g.structure(typ, "the JSON object of "+printable(k.Name)+".", k.JSON, true))})
	}
	s := g.sealed(c.name+"_value", k.Value)
	return s.typ, g.codecOf("value", c, s)
}

func (g *generator) collection(c *keyCode, k *keyspace.Key, kind string) {
	s := g.stored(c.name+"_member", k.Member, false)
	if k.Kind == keyspace.List {
		s = g.sealed(c.name+"_member", k.Member)
	}
	g.method(c, k, "typed."+kind+"["+s.typ+"]", "typed.New"+kind+"(%s, &"+g.codecOf("member", c, s)+")")
}

func (g *generator) zsetHandle(c *keyCode, k *keyspace.Key) { g.zset(c, k) }

// zset writes the handle of a sorted set, and gives its types with the names of
// their codecs.
func (g *generator) zset(c *keyCode, k *keyspace.Key) (m, s stored) {
	m, s = g.stored(c.name+"_member", k.Member, false), g.score(k.Score)
	m.codec, s.codec = g.codecOf("member", c, m), g.codecOf("score", c, s)
	g.method(c, k, "typed.ZSet["+m.typ+", "+s.typ+"]", "typed.NewZSet(%s, &"+m.codec+", &"+s.codec+")")
	return m, s
}

func (g *generator) hashHandle(c *keyCode, k *keyspace.Key, readOnly bool) {
	if len(k.Fields) == 0 {
		g.mapHandle(c, k)
		return
	}
	typ, handle := c.name+"Value", c.name+"Handle"
	fields := g.structure(typ, "the fields of "+printable(k.Name)+".", k.Fields, false)
	g.structs[k] = fields
	columns := g.columns(typ, fields)
	kind := "Hash"
	if readOnly {
		kind = "HashReader"
	}
	g.printf("// %s is one %s.\ntype %s struct{ %s.%s[%s] }\n\n", handle, printable(k.Name), handle,
		g.use(module+"/typed"), kind, typ)
	g.method(c, k, handle, handle+"{typed.New"+kind+"(%s, &"+columns+")}")
	g.fieldHandles(handle, fields, readOnly)
}

// fieldHandles writes a method per field.
func (g *generator) fieldHandles(handle string, fields []field, readOnly bool) {
	var scope gen.Names
	required := 0
	for _, f := range fields {
		if !f.Type.Optional {
			required++
		}
	}
	for _, f := range fields {
		name := scope.Take(f.name, "Key", "Binding", "Removable", "Hash", "HashReader", "Name", "Err", "Entry",
			"Exists", "TTL",
			"Delete", "Renew", "Get", "Set", "Cached")
		partial := required == 0 || required == 1 && !f.Type.Optional
		if f.Type.Encrypted {
			g.printf("var sealed_%s = %s.Encrypt(%s)\n\n", f.codecVar, g.use(module+"/value"), f.codecVar)
			f.codecVar = "sealed_" + f.codecVar
		}
		typ, make := fieldHandle(f, readOnly, partial)
		g.printf("// %s is the field %s.\nfunc (h %s) %s() %s {\nreturn %s\n}\n\n", name, printable(f.Field.Name), handle,
			name, typ, make)
	}
}

func fieldHandle(f field, readOnly, partial bool) (typ, make string) {
	arguments := fmt.Sprintf("(h.Key, %s, &%s", quote(f.Field.Name), f.codecVar)
	if readOnly {
		return "typed.FieldReader[" + f.typ + "]", "typed.NewFieldReader" + arguments + ")"
	}
	typ, make = "typed.Field["+f.typ+"]", fmt.Sprintf("typed.NewField%s, %t)", arguments, partial)
	counts := f.Type.Kind == scalar.Int && !f.Type.Encrypted
	switch {
	case f.Type.Optional && counts:
		return "typed.OptionalIntField",
			"typed.OptionalIntField{OptionalField: typed.OptionalField[int64]{Field: " + make + "}}"
	case f.Type.Optional:
		return "typed.OptionalField[" + f.typ + "]", "typed.OptionalField[" + f.typ + "]{Field: " + make + "}"
	case counts:
		return "typed.IntField", "typed.IntField{Field: " + make + "}"
	}
	return typ, make
}

func (g *generator) mapHandle(c *keyCode, k *keyspace.Key) {
	f, v := g.mapKey(c, k), g.sealed(c.name+"_value", k.Item)
	fields, values := g.codecOf("field", c, f), g.codecOf("value", c, v)
	list := "(%s, &" + fields + ", &" + values + ")"
	if k.Item != nil && k.Item.Kind == scalar.Int && !k.Item.Encrypted {
		g.method(c, k, "typed.CountMap["+f.typ+"]", "typed.NewCountMap"+list)
		return
	}
	g.method(c, k, "typed.Map["+f.typ+", "+v.typ+"]", "typed.NewMap"+list)
}

// mapKey gives the Go side of the names of fields: bytes and JSON are text to a Go map.
func (g *generator) mapKey(c *keyCode, k *keyspace.Key) stored {
	t := k.Field
	if t != nil && (t.Kind == scalar.Bytes || t.Kind == scalar.JSON || t.Encrypted) {
		t = nil
	}
	return g.stored(c.name+"_field", t, false)
}

func (g *generator) streamHandle(c *keyCode, k *keyspace.Key) {
	typ, columns := c.name+"Value", "fields_"+c.name
	if len(k.Fields) > 0 {
		columns = g.columns(typ, g.structure(typ, "one entry of "+printable(k.Name)+".", k.Fields, false))
	} else {
		typ = "map[string]string"
		g.printf("var %s = %s.AnyFields()\n\n", columns, g.use(module+"/value"))
	}
	g.method(c, k, "typed.Stream["+typ+"]", fmt.Sprintf("typed.NewStream(%%s, &%s, %d)", columns, k.Entry.MaxLen))
	for _, group := range k.Entry.Groups {
		name := g.methods.Take(c.name + exported(group) + "Group")
		g.printf("// %s is the consumer group %s of %s.\nfunc (k *Keyspace) %s(%s) typed.Group[%s] {\nreturn "+
			"typed.NewGroup(k.%s(%s), %s)\n}\n\n", name, printable(group), c.name, name, signature(c.params), typ, c.name,
			arguments(c.params), quote(group))
	}
}
