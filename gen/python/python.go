// Package python generates a Python module (3.9 or later) from a keyspace: for
// every key and channel a builder, a parser and what is declared of it (pattern,
// type, TTL), and the types of its values. The module imports nothing but the
// standard library; what it builds is a str or bytes, for any client.
//
// Which values a key takes is decided as package pattern decides it; the vectors
// of gen/conformance prove that. It is not a client: it sends no command.
//
// API: may change until 1.0.
package python

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

//go:embed runtime.py
var runtime string

// Generate makes the module `<package>.py`.
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
		m.names.Take("InNamespace")
	}
	for _, k := range ks.Keys {
		m.key(k)
	}
	for _, c := range ks.PubSub() {
		m.channel(c)
	}
	tail := m.lists() + m.inNamespace()
	text := header(ks) + "\n" + runtime + m.automata.String() + m.body.String() + tail
	return []gen.File{{Name: identifier(portable.Module(ks)) + ".py", Text: []byte(text)}}, nil
}

// declared returns the names that the module has whatever the keyspace.
func declared(code string) []string {
	names := []string{"ALL_KEYS", "ALL_CHANNELS", "annotations"}
	for _, m := range regexp.MustCompile(`(?m)^(?:class|def) (\w+)|^import \w+ as (\w+)`).FindAllStringSubmatch(code, -1) {
		names = append(names, m[1]+m[2])
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
	keys, channels [][2]string // name in the declaration, variable
}

// header begins with a line that has no text by the author below it: on the
// second line of a file Python looks for the encoding.
func header(ks *keyspace.Keyspace) string {
	var b strings.Builder
	for _, line := range append([]string{gen.Marker, ""}, portable.Lines(ks.Doc)...) {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	return b.String()
}

// item describes what a key and a channel have in common.
type item struct {
	module                   *module
	variable, class, typName string // product_detail, _ProductDetail, ProductDetail
	steps                    []portable.Step
	places                   []*portable.Place
	arguments                []string
	params                   string // the TypedDict of the placeholders
}

func (m *module) item(name, suffix string, steps []portable.Step) *item {
	i := &item{module: m, steps: steps, places: portable.Places(steps), typName: portable.Pascal(name) + suffix}
	i.variable = m.names.Take(identifier(portable.Snake(name)+strings.ToLower(snakeSuffix(suffix))), reserved...)
	i.class = m.names.Take("_"+i.typName, reserved...)
	var scope gen.Names
	for _, p := range i.places {
		i.arguments = append(i.arguments, scope.Take(identifier(portable.Snake(p.Name))))
	}
	i.declareParams()
	return i
}

func snakeSuffix(suffix string) string {
	if suffix == "" {
		return ""
	}
	return "_" + suffix
}

// identifier puts an underscore after a word that means something in Python.
func identifier(name string) string {
	if slices.Contains(reserved, name) {
		return name + "_"
	}
	return name
}

// typeName takes the name of a type that belongs to the item.
func (i *item) typeName(suffix string) string {
	return i.module.names.Take(i.typName+suffix, reserved...)
}

func (i *item) declareParams() {
	i.params = "_t.Dict[str, object]"
	if len(i.places) == 0 {
		return
	}
	i.params = i.typeName("Params")
	b := &i.module.body
	fmt.Fprintf(b, "class %s(_t.TypedDict):\n", i.params)
	docstring(b, "    ", []string{"The placeholders of a key of " + i.variable + "."})
	b.WriteString("\n")
	for n, p := range i.places {
		fmt.Fprintf(b, "    %s: %s%s\n", i.arguments[n], placeType(p), remark(p.Type))
	}
	b.WriteString("\n\n")
}

// remark returns the declared type as a comment at the end of a line.
func remark(t scalar.Type) string {
	lines := portable.Lines(t.Definition())
	if len(lines) == 0 {
		return ""
	}
	return "  # " + strings.Join(lines, " ")
}

func placeType(p *portable.Place) string {
	switch {
	case p.Type.Kind == scalar.Bool:
		return "bool"
	case p.Type.Kind == scalar.Bytes:
		return "bytes"
	case p.Type.Kind == scalar.Enum:
		return literal(p.Words)
	case p.Form == portable.Integer:
		return "int"
	}
	return "str"
}

func literal(words []string) string {
	if len(words) == 0 {
		return "_t.NoReturn"
	}
	return "_t.Literal[" + list(words) + "]"
}

// lists writes the maps of everything, by the name in the declaration.
func (m *module) lists() string {
	var b strings.Builder
	every := func(name, typ string, rows [][2]string) {
		fmt.Fprintf(&b, "%s: _t.Dict[str, %s] = {", name, typ)
		for _, row := range rows {
			fmt.Fprintf(&b, "\n    %s: %s,", quote(row[0]), row[1])
		}
		if len(rows) > 0 {
			b.WriteString("\n")
		}
		b.WriteString("}\n")
	}
	b.WriteString("# Everything by its name in the declaration.\n")
	every("ALL_KEYS", "Key", m.keys)
	every("ALL_CHANNELS", "Channel", m.channels)
	return b.String()
}
