package scope

import (
	"errors"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// ReadVars notes the vars of all files before it reads the types, since one
// may refer to another. The first declaration of a name counts; a later one
// must say the same.
func (s *Scope) ReadVars() {
	var again []pendingVar
	var names []string
	for _, d := range s.Docs {
		p, ok := d.Props["vars"]
		if !ok {
			continue
		}
		for _, v := range d.Mapping(p.Value, "vars") {
			if !d.Name(v, "a var", true) || !d.notAType(v) {
				continue
			}
			if _, taken := s.pending[v.Name]; taken {
				again = append(again, pendingVar{v, d})
				continue
			}
			s.pending[v.Name] = pendingVar{v, d}
			names = append(names, v.Name)
		}
	}
	for _, name := range names {
		if p, ok := s.pending[name]; ok {
			delete(s.pending, name)
			s.declare(p.d, p.Property)
		}
	}
	for _, p := range again {
		s.sameVar(p.d, p.Property)
	}
}

// pendingVar represents a var as it is in its file.
type pendingVar struct {
	node.Property
	d *Document
}

func (s *Scope) declare(d *Document, v node.Property) {
	t, ok := s.varType(d, v)
	s.Vars[v.Name] = &keyspace.Var{Name: v.Name, Type: t, Pos: d.At(v.Key), Used: !ok,
		Retired: s.retiredWords(d, v, t, ok)}
}

// varType reads what a var is: a type, or a type with a default.
func (s *Scope) varType(d *Document, v node.Property) (t scalar.Type, ok bool) {
	what := "the type of " + v.Name
	if v.Value.Kind != yaml.MappingNode || !node.HasKey(v.Value, Properties["vars"]...) {
		t, ok = s.TypeOf(d, v.Value, what)
		t.Var, t.Default = "", ""
		return t, ok
	}
	props := d.Known(v.Value, "the var "+v.Name, Properties["vars"])
	word, there := props["type"]
	if !there {
		d.Report("KW006", d.At(v.Value), "add type: …", "the var %s has no type", v.Name)
		return t, false
	}
	t, ok = s.TypeOf(d, word.Value, what)
	if t.Var, t.Default = "", ""; !ok {
		return t, false
	}
	if p, there := props["default"]; there {
		t.Default = s.defaultOf(d, v.Name, p.Value, t)
	}
	return t, true
}

// retiredWords reads the words that the enum of a var had.
func (s *Scope) retiredWords(d *Document, v node.Property, t scalar.Type, sound bool) []keyspace.Retired {
	if v.Value.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(v.Value.Content); i += 2 {
		if k, n := v.Value.Content[i], v.Value.Content[i+1]; k.Value == "retired" {
			if sound && t.Kind != scalar.Enum {
				d.Report("KW302", d.At(k), "remove it", "the var %s is %s, and only words of an enum are retired", v.Name,
					t.Definition())
			}
			return d.Retired(map[string]node.Property{"retired": {Name: "retired", Key: k, Value: n}}, "retired")
		}
	}
	return nil
}

// withDefault lists the kinds that may have a default: no key has an empty text, so that is one
// that was left out. A number, a time or a truth that was left out is 0 to Go.
var withDefault = []scalar.Kind{scalar.Text, scalar.UUID, scalar.ULID, scalar.Hex, scalar.Slug, scalar.Enum,
	scalar.Regexp}

// defaultOf reads what a placeholder is when it is left out.
func (s *Scope) defaultOf(d *Document, name string, n *yaml.Node, t scalar.Type) string {
	what := "the default of " + name
	text, ok := d.ScalarText(n, what)
	if !ok || !d.IsText(n, what) {
		return ""
	}
	if !slices.Contains(withDefault, t.Kind) {
		d.Report("KW103", d.At(n), "leave the default out", "%s: a var of the type %s has none, only one that is a text",
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
		d.Report("KW103", d.At(n), "give one that a key may have", "%s: %q %s", what, text, fault.Reason)
		return ""
	}
	return text
}

func (s *Scope) sameVar(d *Document, v node.Property) {
	t, ok := s.varType(d, v)
	known := s.Vars[v.Name]
	known.Retired = append(known.Retired, s.retiredWords(d, v, t, ok)...)
	if ok && t.Default != "" && t.Default != known.Type.Default {
		d.Report("KW004", d.At(v.Key), "write the same default in both files, or in one", "the default of %s is %q at %s:%d",
			v.Name,
			known.Type.Default, known.Pos.File, known.Pos.Line)
	}
	if ok && known.Type.Definition() != t.Definition() {
		d.Report("KW004", d.At(v.Key), "give the two placeholders different names",
			"%s means %s at %s:%d; a placeholder means one thing in a declaration", v.Name, known.Type.Definition(),
			known.Pos.File, known.Pos.Line)
	}
}

// notAType keeps a var from hiding a type: `text: uuid` would change the
// meaning of every `text` in the file.
func (d *Document) notAType(v node.Property) bool {
	if _, err := scalar.Parse(v.Name, nil); err == nil {
		d.Report("KW010", d.At(v.Key), "choose another name", "%q is the name of a type", v.Name)
		return false
	}
	return true
}
