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

// entityCode represents one entity while it is written.
type entityCode struct {
	*keyCode
	e      *keyspace.Entry
	handle parts.Handle
	fields []field
	shared []param // of the key, and of every other key too: they make an entity of its own
	own    []param // of the key: the id
	id     string  // the Go type of an id
	key    string  // of a function from id to key
	parse  string
	ids    map[string]string // placeholder of the key → an expression of it, where `name` is the id
	pieces []param           // of the key, that events carry
	errs   int
}

// entity writes the store of an entity: its type with a method per index, and the
// method of Keyspace that gives it.
func (g *generator) entity(c *keyCode, k *keyspace.Key) {
	fields, ok := g.structs[k]
	if !ok { // without fields there is nothing to keep
		return
	}
	e := &entityCode{keyCode: c, e: k.Entry, handle: parts.Of(k.Entry), fields: fields}
	e.divide()
	pkg, typ := g.use(module+"/entity"), c.name+"Store"
	g.identify(e)
	g.changes(e, pkg)
	g.printf("// %s is all %s: what can be done with them.\ntype %s struct{\n*%s.Store[%s, %sValue]%s\n}\n\n", typ,
		printable(e.e.Name), typ, pkg, e.id, c.name, g.whenNamed("\nk *Keyspace"))
	for _, ix := range e.handle.Indexes {
		g.indexMethod(e, ix, pkg, typ)
	}
	spec := g.spec(e, pkg)
	method := g.methods.Take(c.name+"Store", "Client")
	g.printf("// %s is all %s: made, changed and found with their indexes in step.\n", method, printable(e.e.Name))
	if len(e.shared) > 0 {
		g.printf("func (k *Keyspace) %s(%s) %s {\n%sreturn %s{%s.New(%s, &spec)%s}\n}\n\n", method, signature(e.shared),
			typ, spec, typ, pkg, binding("entry_"+e.name, "Err: "+e.failed(g)), g.whenNamed(", k"))
		return
	}
	g.printf("func (k *Keyspace) %s() %s { return k.store_%s }\n\n", method, typ, c.name)
	g.printf("func %sspec_%s() (*%s.Spec[%s, %sValue], error) {\n%sreturn &spec, %s\n}\n\n", g.method0(), c.name, pkg,
		e.id, c.name, spec, e.failed(g))
	g.held = append(g.held, "store_"+c.name+" "+typ)
	g.making = append(g.making, fmt.Sprintf("{\nspec, err := %sspec_%s()\nk.store_%s = %s{%s.New(%s, spec)%s}\n}",
		g.whenNamed("k."), c.name, c.name, typ, pkg, binding("entry_"+c.name, "Err: err"), g.whenNamed(", k")))
	g.sweepers = append(g.sweepers, method)
}

// divide tells the id of an item from what all keys of the entity share.
func (e *entityCode) divide() {
	for _, p := range e.params {
		if slices.Contains(e.handle.Item.Own, p.place.Name) {
			e.own = append(e.own, p)
		} else {
			e.shared = append(e.shared, p)
		}
	}
}

// identify writes the type of an id where it has several parts, and decides how a
// key is made of it and read.
func (g *generator) identify(e *entityCode) {
	if len(e.own) == 1 {
		e.id = e.own[0].typ
	} else {
		e.id = e.name + "ID"
		g.printf("// %s names one %s.\ntype %s struct {\n", e.id, printable(e.e.Name), e.id)
		var scope gen.Names
		for i := range e.own {
			g.printf("%s %s\n", scope.Take(exported(e.own[i].place.Name)), e.own[i].typ)
		}
		g.printf("}\n\n")
	}
	e.expressions()
	if len(e.own) == 1 && len(e.shared) == 0 {
		e.key, e.parse = g.call(e.name)+"Key", g.call("Parse"+e.name)+"Key"
		return
	}
	var build, read, assign []string
	for _, p := range e.params {
		build = append(build, e.ids[p.place.Name])
		if i := slices.IndexFunc(e.own, func(q param) bool { return q.place.Name == p.place.Name }); i >= 0 {
			target := "id" + strings.TrimPrefix(e.ids[p.place.Name], "name")
			read, assign = append(read, fmt.Sprint("part", i)), append(assign, fmt.Sprintf("%s = part%d\n", target, i))
			continue
		}
		read = append(read, "_")
	}
	e.key = fmt.Sprintf("func(name %s) (string, error) { return %sKey(%s) }", e.id, g.call(e.name),
		strings.Join(build, ", "))
	e.parse = fmt.Sprintf("func(text string) (id %s, ok bool) {\n%s, ok := %sKey(text)\n%sreturn id, ok\n}", e.id,
		strings.Join(read, ", "), g.call("Parse"+e.name), strings.Join(assign, ""))
}

// expressions says how the parts of a key are distinguished from the id of an item and from what
// all keys of the entity share.
func (e *entityCode) expressions() {
	var scope gen.Names
	e.ids = map[string]string{}
	for _, p := range e.shared {
		e.ids[p.place.Name] = p.name
	}
	for _, p := range e.own {
		e.ids[p.place.Name] = "name"
		if len(e.own) > 1 {
			e.ids[p.place.Name] += "." + scope.Take(exported(p.place.Name))
		}
	}
}

// changes writes a variable with what makes changes of single fields.
func (g *generator) changes(e *entityCode, pkg string) {
	name, typ := e.name+"Fields", e.name+"Value"
	var types, values strings.Builder
	for _, f := range e.fields {
		if e.stamped(f.Field.Name) {
			continue
		}
		kind, pointer := "Field", ""
		if f.Type.Optional {
			kind, pointer = "OptionalField", "*"
		}
		fmt.Fprintf(&types, "%s %s.%s[%s, %s]\n", f.name, pkg, kind, typ, f.typ)
		fmt.Fprintf(&values, "%s: %s.%s[%s, %s]{Name: %s, At: func(v *%s) *%s%s { return &v.%s }},\n", f.name, pkg, kind, typ,
			f.typ, quote(f.Field.Name), typ, pointer, f.typ, f.name)
	}
	g.printf("// %s makes changes of single fields of %s.\nvar %s = struct {\n%s}{\n%s}\n\n", name, printable(e.e.Name),
		name, types.String(), values.String())
}

func (e *entityCode) stamped(field string) bool {
	s := e.e.Stamps
	return field == s.Created || field == s.Updated || field == s.Version
}

// indexMethod writes the method that names the items of one value of an index.
func (g *generator) indexMethod(e *entityCode, ix parts.Index, pkg, typ string) {
	code := g.keys[ix.Key]
	name := "By" + strings.TrimPrefix(code.name, e.name+"Index")
	var params []param
	arguments := make([]string, 0, len(code.params))
	for _, p := range code.params {
		if p.place.Name == ix.Field {
			params = append(params, p)
			arguments = append(arguments, p.name)
		} else {
			arguments = append(arguments, "") // of the store
		}
	}
	doc := "all of them"
	if ix.Field != "" {
		doc = "those of one " + printable(ix.Field)
	}
	if ix.Score != "" {
		doc += ", by " + printable(ix.Score)
	}
	g.printf("// %s is %s.\nfunc (s %s) %s(%s) %s.Of[%sValue] {\n", name, doc, typ, name, signature(params), pkg, e.name)
	switch {
	case len(e.shared) > 0 && ix.Field == "":
		g.printf("return s.By(%s, \"\")\n}\n\n", quote(ix.Name))
	case len(e.shared) > 0: // the rest of the key is the store's
		f := e.field(ix.Field)
		value, fails := f.of(params[0].typ, params[0].name)
		switch {
		case fails:
			g.printf("value, err := %s\nif err != nil {\nreturn s.At(%s, \"\", err)\n}\n", value, quote(ix.Name))
			value = "value"
		case f.Type.Optional:
			g.printf("value := %s\n", value)
			value = "value"
		}
		if f.Type.Optional {
			value = "&value"
		}
		g.printf("return s.Like(%s, &%sValue{%s: %s})\n}\n\n", quote(ix.Name), e.name, f.name, value)
	default:
		g.printf("key, err := %s%sKey(%s)\nreturn s.At(%s, key, err)\n}\n\n", g.whenNamed("s.k.ns."), code.name,
			strings.Join(arguments, ", "), quote(ix.Name))
	}
}

// spec writes the statements that make the specification of an entity.
func (g *generator) spec(e *entityCode, pkg string) string {
	scope := bodyNames()
	for _, p := range e.shared {
		scope.Take(p.name)
	}
	b := built{in: g.call(""), params: e.shared}
	var lines []string
	add := func(name, value string) {
		if value != "" && value != `""` {
			lines = append(lines, name+": "+value)
		}
	}
	keys := map[string]string{}
	for _, p := range e.handle.Parts {
		keys[p.Name] = scope.Take(strings.ToLower(p.Name) + "Key")
		b.use(keys[p.Name], g.keys[p.Key], "Key", nil, &scope)
	}
	prefix, suffix := g.around(&b, *e.handle.Item, &scope)
	add("Prefix", prefix)
	add("Suffix", suffix)
	add("Key", e.key)
	add("Parse", e.parse)
	add("Fields", "&fields_"+e.name+"Value")
	var indexes []string
	for _, ix := range e.handle.Indexes {
		indexes = append(indexes, g.indexSpec(e, ix, &b, &scope))
	}
	if len(indexes) > 0 {
		add("Indexes", fmt.Sprintf("[]%s.Index[%sValue]{\n%s,\n}", pkg, e.name, strings.Join(indexes, ",\n")))
	}
	for _, p := range e.handle.Parts {
		add(p.Name, keys[p.Name])
	}
	for _, o := range e.handle.Options {
		add(o.Name, g.literal(pkg, o.Value))
	}
	g.specRules(e, add)
	e.errs = len(b.errs)
	return b.text() + fmt.Sprintf("spec := %s.Spec[%s, %sValue]{\n%s,\n}\n", pkg, e.id, e.name, strings.Join(lines, ",\n"))
}

// failed returns the first error of the keys in a spec.
func (e *entityCode) failed(g *generator) string {
	var names []string
	for i := range e.errs {
		names = append(names, fmt.Sprint("err", i+1))
	}
	return g.use("cmp") + ".Or(" + strings.Join(names, ", ") + ")"
}

// indexSpec returns one index of a spec.
func (g *generator) indexSpec(e *entityCode, ix parts.Index, b *built, scope *gen.Names) string {
	code := g.keys[ix.Key]
	texts := []string{"Name: " + quote(ix.Name)}
	if ix.Score != "" {
		texts = append(texts, "Score: "+quote(ix.Score))
	}
	prefix, suffix := g.around(b, ix.Part, scope)
	if ix.Field == "" {
		texts = append(texts, "Prefix: "+prefix)
		return "{" + strings.Join(texts, ", ") + "}"
	}
	i := slices.IndexFunc(code.params, func(p param) bool { return p.place.Name == ix.Field })
	texts = append(texts, "Field: "+quote(ix.Field), "Prefix: "+prefix)
	if suffix != `""` {
		texts = append(texts, "Suffix: "+suffix)
	}
	f := e.field(ix.Field)
	value := "v." + f.name
	if f.Type.Optional {
		value = "*" + value
	}
	value, fails := f.as(code.params[i].typ, value)
	before := ""
	if fails {
		before, value = fmt.Sprintf("value, err := %s\nif err != nil {\nreturn \"\", err\n}\n", value), "value"
	}
	arguments := b.pass(code.params, map[string]string{ix.Field: value}, scope)
	texts = append(texts, fmt.Sprintf("Key: func(v *%sValue) (string, error) {\n%sreturn %sKey(%s)\n}", e.name, before,
		g.call(code.name), strings.Join(arguments, ", ")))
	texts = append(texts, fmt.Sprintf("Legal: func(key string) bool {\n%sok := %sKey(key)\nreturn ok\n}",
		strings.Repeat("_, ", len(code.params)), g.call("Parse"+code.name)))
	return "{" + strings.Join(texts, ", ") + "}"
}

func (e *entityCode) field(name string) field {
	i := slices.IndexFunc(e.fields, func(f field) bool { return f.Field.Name == name })
	return e.fields[i]
}

// specRules are the id in a field, the lifetime by rule and the events of a spec.
func (g *generator) specRules(e *entityCode, add func(name, value string)) {
	if len(e.own) == 1 {
		if i := slices.IndexFunc(e.fields,
			func(f field) bool { return f.Field.Name == e.own[0].place.Name && !f.Type.Optional }); i >= 0 {
			add("Identify", g.identifier(e, e.fields[i]))
		}
	}
	if r := e.e.TTLBy; r != nil && len(r.Cases) > 0 {
		add("TTL", g.ttlRule(e, r))
	}
	for _, on := range []string{"create", "update", "delete", "expire"} {
		if c := g.ks.Channel(e.e.Emits[on]); c != nil {
			g.lacking(e.e.Lacks(on, c), e.e.At["emits."+on])
			add("On"+gen.Title(on), g.emission(e, c))
		}
	}
	var pieces []string
	for _, p := range e.pieces {
		p.name = e.ids[p.place.Name]
		pieces = append(pieces, g.textOf(&p))
	}
	if len(pieces) > 0 {
		add("Pieces", fmt.Sprintf("func(name %s) []string { return []string{%s} }", e.id, strings.Join(pieces, ", ")))
	}
}

// identifier returns the function that writes the id of an item into its field of the
// same name, "" where an id may be what the field cannot hold.
func (g *generator) identifier(e *entityCode, f field) string {
	p := e.own[0]
	head := fmt.Sprintf("func(id %s, v *%sValue) { v.%s", e.id, e.name, f.name)
	value, fails := f.of(p.typ, "id")
	switch {
	case !fails:
		return fmt.Sprintf("%s = %s }", head, value)
	case p.place.Type.Kind == f.Type.Kind: // what is no such value is no id either
		return fmt.Sprintf("%s, _ = %s }", head, value)
	case textual(f.typ):
		p.name = "id"
		return fmt.Sprintf("%s = %s(%s) }", head, f.typ, g.textOf(&p))
	}
	return ""
}

// textual reports whether a Go type is text: a string, a type of words, bytes.
func textual(typ string) bool {
	return typ != "int64" && typ != "float64" && typ != "bool" && !strings.HasSuffix(typ, ".Time")
}

// of returns an expression that makes the value of the field out of a placeholder of
// the same name; where it fails, it gives a value and an error.
func (f *field) of(typ, text string) (expr string, fails bool) {
	switch {
	case typ == f.typ:
		return text, false
	case textual(typ) && textual(f.typ):
		return f.typ + "(" + text + ")", false
	}
	return fmt.Sprintf("%s.Parse(string(%s))", f.codecVar, text), true
}

// as returns the other direction: a placeholder out of the value of the field.
func (f *field) as(typ, text string) (expr string, fails bool) {
	switch {
	case typ == f.typ:
		return text, false
	case textual(typ) && textual(f.typ):
		return typ + "(" + text + ")", false
	}
	return fmt.Sprintf("%s.Encode(%s)", f.codecVar, text), true
}

// ttlRule returns the function that gives the lifetime by a field.
func (g *generator) ttlRule(e *entityCode, r *keyspace.TTLRule) string {
	f := e.field(r.Field)
	var b strings.Builder
	fmt.Fprintf(&b, "func(v *%sValue) %s.Duration {\n", e.name, g.use("time"))
	value := "v." + f.name
	if f.Type.Optional {
		fmt.Fprintf(&b, "if %s == nil {\nreturn 0\n}\n", value)
		value = "*" + value
	}
	fmt.Fprintf(&b, "switch x := %s; {\n", value)
	for _, c := range r.Cases {
		condition := fmt.Sprintf("x >= %d && x <= %d", c.Low, c.High)
		if f.Type.Kind == scalar.Enum {
			condition = "x == " + quote(c.Word)
		}
		fmt.Fprintf(&b, "case %s:\nreturn %s\n", condition, g.duration(c.TTL))
	}
	b.WriteString("}\nreturn 0\n}")
	return b.String()
}
