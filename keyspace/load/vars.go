package load

import (
	"errors"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// sectionVars notes the vars of all files before it reads the types, since one
// may refer to another. The first declaration of a name counts; a later one
// must say the same.
func (s *scope) sectionVars() {
	var again []pendingVar
	var names []string
	for _, d := range s.docs {
		p, ok := d.props["vars"]
		if !ok {
			continue
		}
		for _, v := range d.mapping(p.value, "vars") {
			if !d.name(v, "a var", true) || !d.notAType(v) {
				continue
			}
			if _, taken := s.pending[v.name]; taken {
				again = append(again, pendingVar{v, d})
				continue
			}
			s.pending[v.name] = pendingVar{v, d}
			names = append(names, v.name)
		}
	}
	for _, name := range names {
		if p, ok := s.pending[name]; ok {
			delete(s.pending, name)
			s.declare(p.d, p.property)
		}
	}
	for _, p := range again {
		s.sameVar(p.d, p.property)
	}
}

// pendingVar represents a var as it is in its file.
type pendingVar struct {
	property
	d *document
}

func (s *scope) declare(d *document, v property) {
	t, ok := s.varType(d, v)
	s.vars[v.name] = &keyspace.Var{Name: v.name, Type: t, Pos: d.at(v.key), Used: !ok,
		Retired: s.retiredWords(d, v, t, ok)}
}

// varType reads what a var is: a type, or a type with a default.
func (s *scope) varType(d *document, v property) (t scalar.Type, ok bool) {
	what := "the type of " + v.name
	if v.value.Kind != yaml.MappingNode || !hasKey(v.value, childProperties["vars"]...) {
		t, ok = s.typeOf(d, v.value, what)
		t.Var, t.Default = "", ""
		return t, ok
	}
	props := d.known(v.value, "the var "+v.name, childProperties["vars"])
	word, there := props["type"]
	if !there {
		d.report("KW006", d.at(v.value), "add type: …", "the var %s has no type", v.name)
		return t, false
	}
	t, ok = s.typeOf(d, word.value, what)
	if t.Var, t.Default = "", ""; !ok {
		return t, false
	}
	if p, there := props["default"]; there {
		t.Default = s.defaultOf(d, v.name, p.value, t)
	}
	return t, true
}

// retiredWords reads the words that the enum of a var had.
func (s *scope) retiredWords(d *document, v property, t scalar.Type, sound bool) []keyspace.Retired {
	if v.value.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(v.value.Content); i += 2 {
		if k, n := v.value.Content[i], v.value.Content[i+1]; k.Value == "retired" {
			if sound && t.Kind != scalar.Enum {
				d.report("KW302", d.at(k), "remove it", "the var %s is %s, and only words of an enum are retired", v.name,
					t.Definition())
			}
			return d.retired(map[string]property{"retired": {"retired", k, n}}, "retired")
		}
	}
	return nil
}

// withDefault lists the kinds that may have a default: no key has an empty text, so that is one
// that was left out. A number, a time or a truth that was left out is 0 to Go.
var withDefault = []scalar.Kind{scalar.Text, scalar.UUID, scalar.ULID, scalar.Hex, scalar.Slug, scalar.Enum,
	scalar.Regexp}

// defaultOf reads what a placeholder is when it is left out.
func (s *scope) defaultOf(d *document, name string, n *yaml.Node, t scalar.Type) string {
	what := "the default of " + name
	text, ok := d.scalarText(n, what)
	if !ok || !d.isText(n, what) {
		return ""
	}
	if !slices.Contains(withDefault, t.Kind) {
		d.report("KW103", d.at(n), "leave the default out", "%s: a var of the type %s has none, only one that is a text",
			what, t.Definition())
		return ""
	}
	p, err := pattern.Parse("{"+name+"}", func(string) (scalar.Type, bool) { return t, true })
	if err == nil {
		_, err = p.Build(text)
	}
	if text == "" {
		err = &pattern.ValueError{Reason: "is empty, and a key has no such part"}
	}
	if fault, ok := errors.AsType[*pattern.ValueError](err); ok {
		d.report("KW103", d.at(n), "give one that a key may have", "%s: %q %s", what, text, fault.Reason)
		return ""
	}
	return text
}

func (s *scope) sameVar(d *document, v property) {
	t, ok := s.varType(d, v)
	known := s.vars[v.name]
	known.Retired = append(known.Retired, s.retiredWords(d, v, t, ok)...)
	if ok && t.Default != "" && t.Default != known.Type.Default {
		d.report("KW004", d.at(v.key), "write the same default in both files, or in one", "the default of %s is %q at %s:%d",
			v.name,
			known.Type.Default, known.Pos.File, known.Pos.Line)
	}
	if ok && known.Type.Definition() != t.Definition() {
		d.report("KW004", d.at(v.key), "give the two placeholders different names",
			"%s means %s at %s:%d; a placeholder means one thing in a declaration", v.name, known.Type.Definition(),
			known.Pos.File, known.Pos.Line)
	}
}

// notAType keeps a var from hiding a type: `text: uuid` would change the
// meaning of every `text` in the file.
func (d *document) notAType(v property) bool {
	if _, err := scalar.Parse(v.name, nil); err == nil {
		d.report("KW010", d.at(v.key), "choose another name", "%q is the name of a type", v.name)
		return false
	}
	return true
}
