package golang

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// keyCode describes what the code of one pattern is made of.
type keyCode struct {
	name   string // ProductDetail
	entry  string // product_detail, for errors
	params []param
	elems  []pattern.Element
	text   string
	others []*keyspace.Key // narrower ones: a key of theirs is none of this pattern
}

// param represents one placeholder as a parameter.
type param struct {
	name   string // productID
	place  pattern.Placeholder
	typ    string // int64
	tagged bool   // no braces: it decides the slot
}

// key prepares the code of a pattern.
func (g *generator) key(name, entry string, p *pattern.Pattern) *keyCode {
	code := &keyCode{name: name, entry: entry, elems: g.elements(p), text: p.String()}
	var scope gen.Names
	if g.space != nil {
		scope.Take("ns")
	}
	for i := range pattern.MaxPlaceholders { // what the parser calls its own
		scope.Take(partName(i))
		scope.Take(fmt.Sprintf("end%d", i))
		scope.Take(fmt.Sprintf("err%d", i)) // and the specification of an entity its own
	}
	for i, place := range p.Placeholders() {
		out := param{name: scope.Take(unexported(place.Name), taken...), place: place, typ: g.placeholderType(name, place)}
		for _, e := range code.elems {
			if e.Placeholder == i {
				out.tagged = e.NoBraces
			}
		}
		code.params = append(code.params, out)
	}
	return code
}

// placeholderType returns the Go type of a placeholder.
func (g *generator) placeholderType(owner string, p pattern.Placeholder) string {
	switch p.Type.Kind {
	case scalar.Int:
		return "int64"
	case scalar.Float:
		return "float64"
	case scalar.Bool:
		return "bool"
	case scalar.Date, scalar.UnixS, scalar.UnixMS:
		g.use("time")
		return "time.Time"
	case scalar.Enum:
		return g.enums.take(g, owner+"_"+p.Name, p.Type)
	}
	return "string"
}

// signature returns the parameters as a list: productID, optionID int64.
func signature(params []param) string {
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.name)
		if i+1 == len(params) || params[i+1].typ != p.typ {
			b.WriteString(" " + p.typ)
		}
	}
	return b.String()
}

func arguments(params []param) string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}

// buildAndParse writes the builder and the parser.
func (g *generator) buildAndParse(c *keyCode, what string) {
	g.builder(c, what)
	g.parser(c, what)
}

func (g *generator) builder(c *keyCode, what string) {
	g.printf("// %s%s builds the %s %s.\n", c.name, gen.Title(what), what, printable(c.text))
	for _, p := range c.params {
		if d := p.place.Type.Default; d != "" {
			g.printf("// An empty %s is %s.\n", p.name, printable(d))
		}
	}
	g.printf("func %s%s%s(%s) (string, error) {\n", g.receiver(), c.name, gen.Title(what), signature(c.params))
	if len(c.params) == 0 {
		g.printf("return %s, nil\n}\n\n", g.whole(c.elems))
		return
	}
	for i := range c.params {
		g.fallback(&c.params[i])
		g.check(c, &c.params[i])
	}
	size, variable := g.sizes(c.elems)
	for i := range c.params {
		n, more := g.sizeOf(&c.params[i])
		size += n
		variable += more
	}
	g.printf("b := make([]byte, 0, %d%s)\n", size, variable)
	for _, e := range c.elems {
		if e.Placeholder < 0 {
			g.printf("b = append(b, %s...)\n", g.piece(e, "ns"))
		} else {
			g.printf("b = %s\n", g.appendTo(&c.params[e.Placeholder]))
		}
	}
	if len(c.others) > 0 {
		g.printf("if reason := %sother_%s(key.String(b)); reason != \"\" {\nreturn \"\", key.Refuse(%s, \"\", reason)\n}\n",
			g.whenNamed("ns."), c.name, quote(c.entry))
	}
	g.printf("return %s.String(b), nil\n}\n\n", g.use(module+"/keyspace/key"))
}

// fallback writes what a parameter is that is left out, if it may be.
func (g *generator) fallback(p *param) {
	if d := p.place.Type.Default; d != "" {
		g.printf("if %s == \"\" {\n%s = %s\n}\n", p.name, p.name, quote(d))
	}
}

// check writes the test of one parameter, if its type needs one.
func (g *generator) check(c *keyCode, p *param) {
	reason := g.reason(p, p.name)
	if reason == "" {
		return
	}
	g.printf("if reason := %s; reason != \"\" {\nreturn \"\", %s.Refuse(%s, %s, reason)\n}\n", reason,
		g.use(module+"/keyspace/key"), quote(c.entry), quote(p.place.Name))
}

// reason returns an expression that says why a value does not fit, "" if every value
// of its Go type does.
func (g *generator) reason(p *param, name string) string {
	t, key := p.place.Type, "key"
	if t.Kind != scalar.Bool && !(t.Kind == scalar.Int && !t.HasMin && !t.HasMax) {
		g.use(module + "/keyspace/key")
	}
	switch t.Kind {
	case scalar.Text, scalar.Bytes:
		return fmt.Sprintf("%s.Text(%s, %d, %t, %t)", key, name, t.Max, t.Rest, p.tagged)
	case scalar.Int:
		if !t.HasMin && !t.HasMax {
			return ""
		}
		return fmt.Sprintf("%s.Int(%s, %s)", key, name, g.bounds(t))
	case scalar.Bool:
		return ""
	case scalar.Float:
		return key + ".Float(" + name + ")"
	case scalar.UUID:
		return key + ".UUID(" + name + ")"
	case scalar.Slug:
		return key + ".Slug(" + name + ")"
	case scalar.Hex:
		return fmt.Sprintf("%s.Hex(%s, %d)", key, name, t.N)
	case scalar.UnixS:
		return key + ".UnixS(" + name + ")"
	case scalar.UnixMS:
		return key + ".UnixMS(" + name + ")"
	case scalar.Date:
		return g.date(t.Layout) + ".Check(" + name + ")"
	case scalar.Enum:
		return fmt.Sprintf("%s.OneOf(string(%s), %s)", key, name, enumWords(t, p.tagged))
	}
	return fmt.Sprintf("%s.Text(%s, %t)", g.scalarVar(t), name, p.tagged)
}

// enumWords returns an enum's words that may be in the key.
func enumWords(t scalar.Type, tagged bool) string {
	var out []string
	for _, w := range t.Values {
		if !tagged || !strings.ContainsAny(w, "{}") {
			out = append(out, quote(w))
		}
	}
	return strings.Join(out, ", ")
}

func (g *generator) bounds(t scalar.Type) string {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if t.HasMin {
		low = t.Low
	}
	if t.HasMax {
		high = t.High
	}
	return g.number(low) + ", " + g.number(high)
}

func (g *generator) number(n int64) string {
	switch n {
	case math.MinInt64:
		return g.use("math") + ".MinInt64"
	case math.MaxInt64:
		return g.use("math") + ".MaxInt64"
	}
	return fmt.Sprint(n)
}

// sizeOf returns how many bytes a parameter takes at most: a number, and an
// expression after it.
func (g *generator) sizeOf(p *param) (fixed int, variable string) {
	switch p.place.Type.Kind {
	case scalar.Int:
		return 20, ""
	case scalar.UnixS, scalar.UnixMS:
		return 14, ""
	case scalar.Bool:
		return 5, ""
	case scalar.Float:
		return 24, ""
	case scalar.Date:
		return len(p.place.Type.Layout), ""
	}
	return 0, "+len(" + p.name + ")"
}

func (g *generator) appendTo(p *param) string {
	switch p.place.Type.Kind {
	case scalar.Int:
		return g.use("strconv") + ".AppendInt(b, " + p.name + ", 10)"
	case scalar.UnixS:
		return g.use("strconv") + ".AppendInt(b, " + p.name + ".Unix(), 10)"
	case scalar.UnixMS:
		return g.use("strconv") + ".AppendInt(b, " + p.name + ".UnixMilli(), 10)"
	case scalar.Bool:
		return g.use("strconv") + ".AppendBool(b, " + p.name + ")"
	case scalar.Float:
		return g.use(module+"/keyspace/key") + ".AppendFloat(b, " + p.name + ")"
	case scalar.Date:
		return g.date(p.place.Type.Layout) + ".Append(b, " + p.name + ")"
	}
	return "append(b, " + p.name + "...)"
}

// date returns the variable of a date layout.
func (g *generator) date(layout string) string {
	return g.variable("date_"+exported(layout),
		fmt.Sprintf("%s.NewDate(%s)", g.use(module+"/keyspace/key"), quote(layout)))
}

// scalarVar returns the variable of a type that an automaton decides.
func (g *generator) scalarVar(t scalar.Type) string {
	t.Optional, t.Encrypted = false, false
	name := t.Kind.String()
	if t.Var != "" {
		name = t.Var
	}
	return g.variable("type_"+exported(name),
		fmt.Sprintf("%s.NewType(%s)", g.use(module+"/keyspace/key"), quote(t.Definition())))
}

// variable declares a package variable once per initial value.
func (g *generator) variable(name, init string) string {
	if known, ok := g.vars[init]; ok {
		return known
	}
	name = g.names.Take(name, taken...)
	g.vars[init] = name
	return name
}

// parser writes the function that reads a key back.
func (g *generator) parser(c *keyCode, what string) {
	if len(c.params) == 0 {
		return
	}
	g.printf("// Parse%s%s reads the placeholders of a %s %s; ok is false for any other\n// %s, and where a number has "+
		"more than 64 bits.\n", c.name, gen.Title(what), what, printable(c.text), what)
	g.printf("func %sParse%s%s(text string) (%s, ok bool) {\n", g.receiver(), c.name, gen.Title(what), signature(c.params))
	refuse := "return " + zeros(c.params) + ", false"
	if len(c.others) > 0 {
		g.printf("if %sother_%s(text) != \"\" {\n%s\n}\n", g.whenNamed("ns."), c.name, refuse)
	}
	if cuts, ok := cuttable(c.elems, c.params); ok {
		g.cut(c, cuts, refuse)
	} else {
		g.splitSlowly(c, refuse)
	}
	for i := range c.params {
		g.read(&c.params[i], partName(i), refuse)
	}
	g.printf("return %s, true\n}\n\n", arguments(c.params))
}

func partName(i int) string { return fmt.Sprintf("part%d", i) }

func zeros(params []param) string {
	out := make([]string, len(params))
	for i, p := range params {
		switch {
		case p.typ == "int64" || p.typ == "float64":
			out[i] = "0"
		case p.typ == "bool":
			out[i] = "false"
		case p.typ == "time.Time":
			out[i] = "time.Time{}"
		default:
			out[i] = `""`
		}
	}
	return strings.Join(out, ", ")
}

// cuttable reports whether each placeholder ends where its length says, at the
// first byte of the next literal, or with the key.
func cuttable(elems []pattern.Element, params []param) (widths []int, ok bool) {
	for i, e := range elems {
		if e.Placeholder < 0 {
			continue
		}
		width := fixedWidth(params[e.Placeholder].place.Type)
		widths = append(widths, width)
		last := !slices.ContainsFunc(elems[i+1:], func(e pattern.Element) bool { return e.Placeholder >= 0 })
		if last || width > 0 {
			continue
		}
		if next := elems[i+1]; next.Placeholder >= 0 || e.Expr.Bytes().Has(next.Literal[0]) {
			return nil, false
		}
	}
	return widths, true
}

func fixedWidth(t scalar.Type) int {
	switch t.Kind {
	case scalar.UUID:
		return 36
	case scalar.ULID:
		return 26
	case scalar.Hex:
		return t.N
	case scalar.Date:
		return len(t.Layout)
	}
	return 0
}

// cut writes straight code that cuts the key into its parts.
func (g *generator) cut(c *keyCode, widths []int, refuse string) {
	g.printf("rest := text\n")
	n := 0
	for i, e := range c.elems {
		switch {
		case e.Placeholder < 0:
			if n < len(widths) { // the literal after the last one is cut off with it
				g.printf("if rest, ok = %s.CutPrefix(rest, %s); !ok {\n%s\n}\n", g.use("strings"), g.piece(e, "ns"), refuse)
			}
			continue
		case n == len(widths)-1 && i+1 < len(c.elems):
			g.printf("%s, ok := %s.CutSuffix(rest, %s)\nif !ok {\n%s\n}\n", partName(e.Placeholder), g.use("strings"),
				quote(c.elems[i+1].Literal), refuse)
		case n == len(widths)-1:
			g.printf("%s := rest\n", partName(e.Placeholder))
		case widths[n] > 0:
			g.printf("if len(rest) < %d {\n%s\n}\n%s := rest[:%d]\nrest = rest[%d:]\n", widths[n], refuse,
				partName(e.Placeholder), widths[n], widths[n])
		default:
			g.printf("end%d := %s.IndexByte(rest, %s)\nif end%d < 0 {\n%s\n}\n%s := rest[:end%d]\nrest = rest[end%d:]\n", n,
				g.use("strings"), quoteByte(c.elems[i+1].Literal[0]), n, refuse, partName(e.Placeholder), n, n)
		}
		n++
	}
}

func quoteByte(b byte) string {
	if b >= ' ' && b < 0x7f && b != '\'' && b != '\\' {
		return "'" + string(rune(b)) + "'"
	}
	return fmt.Sprintf("0x%02x", b)
}

// splitSlowly leaves it to the pattern where parts end.
func (g *generator) splitSlowly(c *keyCode, refuse string) {
	types := make([]string, len(c.params))
	for i, p := range c.params {
		types[i] = quote(p.place.Name) + ": " + quote(p.place.Type.Definition())
	}
	slow := g.variable("pattern_"+c.name,
		fmt.Sprintf("%s.NewSlow(%s, map[string]string{%s})", g.use(module+"/keyspace/key"), quote(c.text),
			strings.Join(types, ", ")))
	g.undone(c, refuse)
	g.printf("var parts [%d]string\nif !%s.Split(text, parts[:]) {\n%s\n}\n", len(c.params), slow, refuse)
	for i := range c.params {
		g.printf("%s := parts[%d]\n", partName(i), i)
	}
}

// read writes the conversion of one part into its parameter.
func (g *generator) read(p *param, part, refuse string) {
	t := p.place.Type
	fail := func(call string) {
		g.printf("if %s, ok = %s; !ok {\n%s\n}\n", p.name, call, refuse)
	}
	switch t.Kind {
	case scalar.Int:
		fail(fmt.Sprintf("%s.ParseInt(%s, %s)", g.use(module+"/keyspace/key"), part, g.bounds(t)))
	case scalar.Float:
		fail(g.use(module+"/keyspace/key") + ".ParseFloat(" + part + ")")
	case scalar.Bool:
		fail(g.use(module+"/keyspace/key") + ".ParseBool(" + part + ")")
	case scalar.UnixS:
		fail(g.use(module+"/keyspace/key") + ".ParseUnixS(" + part + ")")
	case scalar.UnixMS:
		fail(g.use(module+"/keyspace/key") + ".ParseUnixMS(" + part + ")")
	case scalar.Date:
		fail(g.date(t.Layout) + ".Parse(" + part + ")")
	default:
		if reason := g.reason(p, part); reason != "" {
			g.printf("if %s != \"\" {\n%s\n}\n", reason, refuse)
		}
		if p.typ == "string" {
			g.printf("%s = %s\n", p.name, part)
		} else {
			g.printf("%s = %s(%s)\n", p.name, p.typ, part)
		}
	}
}
