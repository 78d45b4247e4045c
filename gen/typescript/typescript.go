// Package typescript generates a TypeScript module from a keyspace: for every
// key and channel a builder, a parser and what is declared of it (pattern, type,
// TTL), and the types of its values. The module depends on nothing, compiles
// under the strict flags, and its types can be stripped: what it builds is a
// string or bytes, for any client.
//
// Which values a key takes is decided as package pattern decides it; the vectors
// of gen/conformance prove that. It is not a client: it sends no command.
//
// API: may change until 1.0.
package typescript

import (
	_ "embed" // the code that every module has
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/portable"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

//go:embed runtime.ts
var runtime string

// Generate makes the module `<package>.ts`.
func Generate(ks *keyspace.Keyspace) ([]gen.File, error) {
	space, err := ks.Generated()
	if err != nil {
		return nil, err
	}
	m := &module{space: space, tables: map[string]string{}, notifies: portable.Notifies(ks)}
	for _, name := range declared(runtime) {
		m.names.Take(name)
	}
	if space != nil {
		m.names.Take("inNamespace")
	}
	for _, k := range ks.Keys {
		m.key(k)
	}
	for _, c := range ks.PubSub() {
		m.channel(c)
	}
	tail := m.lists() + m.inNamespace()
	text := header(ks) + "\n" + runtime + m.automata.String() + m.body.String() + tail
	return []gen.File{{Name: portable.Module(ks) + ".ts", Text: []byte(text)}}, nil
}

// declared returns the names that the module has whatever the keyspace.
func declared(code string) []string {
	names := []string{"allKeys", "allChannels"}
	for _, m := range regexp.MustCompile(`(?m)^(?:export )?(?:declare )?(?:const|class|interface|type|function) ([\w$]+)`).
		FindAllStringSubmatch(code, -1) {
		names = append(names, m[1])
	}
	return names
}

// module collects the parts of one file.
type module struct {
	space          *keyspace.Namespace // nil: keys have fixed names
	names          gen.Names
	tables         map[string]string // automaton → its constant
	automata, body strings.Builder
	notifies       map[*keyspace.Channel]bool
	keys, channels [][2]string // name in the declaration, constant
	makers         []string    // of makers: the constants
}

func header(ks *keyspace.Keyspace) string {
	lines := append([]string{gen.Marker}, portable.Lines(ks.Doc)...)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight("// "+tame(line), " ") + "\n")
	}
	return b.String() + "/* eslint-disable */\n"
}

// item describes what a key and a channel have in common.
type item struct {
	module           *module
	constant, prefix string // productDetail, ProductDetail
	steps            []portable.Step
	args             string // the type arguments of Key and Channel: what goes in, what comes out, the key
}

func (m *module) item(name, suffix string, steps []portable.Step) *item {
	i := &item{module: m, steps: steps, prefix: portable.Pascal(name) + suffix}
	i.constant = m.names.Take(portable.Camel(name)+suffix, reserved...)
	return i
}

// typeName takes the name of a type that belongs to the item.
func (i *item) typeName(suffix string) string {
	return i.module.names.Take(i.prefix+suffix, reserved...)
}

// params declares what goes into the builder and comes out of the parser: the
// same thing, but for numbers, which may go in as bigint.
func (i *item) params(doc []string) {
	args, out, binary := "[]", "Record<string, never>", "string"
	if places := portable.Places(i.steps); len(places) > 0 {
		in := i.typeName("Params")
		args, out = "[params: "+in+"]", in
		if !slices.ContainsFunc(places, func(p *portable.Place) bool { return p.Type.Default == "" }) {
			args = "[params?: " + in + "]"
		}
		i.module.record(in, append(doc, ""), i.givenMembers(places))
		if narrowed(places) {
			out = i.typeName("Parsed")
			i.module.record(out, []string{"What parse reads out of a key of " + i.constant + "."}, i.members(places, outType))
		}
	}
	if portable.Binary(i.steps) {
		binary = "Uint8Array"
	}
	i.args = args + ", " + out + ", " + binary
}

func narrowed(places []*portable.Place) bool {
	for _, p := range places {
		if inType(p) != outType(p) || p.Type.Default != "" {
			return true
		}
	}
	return false
}

// member represents one property of an interface.
type member struct {
	name, typ, doc string
	optional       bool
}

func (i *item) members(places []*portable.Place, typ func(*portable.Place) string) []member {
	var out []member
	for n, name := range properties(places) {
		out = append(out, member{name: name, typ: typ(places[n]), doc: places[n].Type.Definition()})
	}
	return out
}

// givenMembers returns what goes into the builder: what has a default may be left out.
func (i *item) givenMembers(places []*portable.Place) []member {
	out := i.members(places, inType)
	for n, p := range places {
		if p.Type.Default != "" {
			out[n].optional = true
			out[n].typ += " | undefined"
			out[n].doc += "; " + p.Type.Default + " if it is left out"
		}
	}
	return out
}

// properties returns the names of the placeholders as properties.
func properties(places []*portable.Place) []string {
	var scope gen.Names
	var out []string
	for _, p := range places {
		out = append(out, scope.Take(portable.Camel(p.Name)))
	}
	return out
}

func inType(p *portable.Place) string {
	in := outType(p)
	if p.Form == portable.Integer {
		in = "number | bigint"
	}
	if timed(p.Type) {
		in += " | Date"
	}
	return in
}

// timed reports whether a placeholder is a moment, which may be given as a Date.
func timed(t scalar.Type) bool {
	return slices.Contains([]scalar.Kind{scalar.Date, scalar.Timestamp, scalar.UnixS, scalar.UnixMS}, t.Kind)
}

func outType(p *portable.Place) string {
	switch p.Type.Kind {
	case scalar.Bool:
		return "boolean"
	case scalar.Bytes:
		return "Uint8Array"
	case scalar.Enum:
		return union(p.Words)
	}
	switch {
	case p.Form == portable.Integer && p.Safe():
		return "number"
	case p.Form == portable.Integer:
		return "number | bigint"
	}
	return "string"
}

func union(words []string) string {
	if len(words) == 0 {
		return "never"
	}
	return joined(words, " | ")
}

// record writes an interface.
func (m *module) record(name string, doc []string, members []member) {
	comment(&m.body, "", doc)
	fmt.Fprintf(&m.body, "export interface %s {\n", name)
	for _, f := range members {
		comment(&m.body, "  ", portable.Lines(f.doc))
		mark := ""
		if f.optional {
			mark = "?"
		}
		fmt.Fprintf(&m.body, "  readonly %s%s: %s;\n", property(f.name), mark, f.typ)
	}
	m.body.WriteString("}\n\n")
}

// lists writes the maps of everything, by the name in the declaration.
func (m *module) lists() string {
	var b strings.Builder
	every := func(doc, name, typ string, rows [][2]string) {
		fmt.Fprintf(&b, "/** %s */\nexport const %s: ReadonlyMap<string, %s> = new Map<string, %s>([\n", doc, name, typ, typ)
		for _, row := range rows {
			fmt.Fprintf(&b, "  [%s, %s],\n", quote(row[0]), row[1])
		}
		b.WriteString("]);\n")
	}
	every("Every key by its name in the declaration.", "allKeys", "AnyKey", m.keys)
	b.WriteString("\n")
	every("Every channel by its name in the declaration.", "allChannels", "AnyChannel", m.channels)
	return b.String()
}
