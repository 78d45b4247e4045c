package scope

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// BeforeNamespaces chooses no name for a namespace.
const BeforeNamespaces = "-"

// Namespace reads the section. A file without one has that of the first file.
func (s *Scope) Namespace(d *Document, first bool) {
	p, ok := d.Props["namespace"]
	if !ok {
		if !first {
			d.Space = s.Docs[0].Space
		}
		return
	}
	n := &keyspace.Namespace{Pos: d.At(p.Value)}
	text := p.Value
	if p.Value.Kind == yaml.MappingNode {
		props := d.Known(p.Value, "namespace", Properties["namespace"])
		word, ok := props["default"]
		if !ok {
			d.Report("KW006", d.At(p.Value), "add default: …, the name that the patterns of the file begin with",
				"the namespace has no default")
			return
		}
		text = word.Value
		if names, ok := props["names"]; ok {
			if t, ok := s.TypeOf(d, names.Value, "the names of the namespace"); ok {
				n.Names = &t
			}
		}
	}
	if n.Default, ok = d.Text(text, "namespace"); !ok {
		return
	}
	if reason := pattern.NamespaceName(n.Default); reason != "" {
		d.Report("KW107", d.At(text), "as in namespace: poppo", "the namespace %q %s", n.Default, reason)
		return
	}
	s.enumOfNames(d, n)
	name := s.chosen[n.Default]
	if name == BeforeNamespaces {
		return
	}
	n.Name = cmp.Or(name, n.Default)
	for _, known := range s.KS.Spaces {
		if known.Default == n.Default {
			s.sameNamespace(d, known, n)
			d.Space = known
			return
		}
	}
	d.Space = n
	s.KS.Spaces = append(s.KS.Spaces, n)
}

// enumOfNames reports words of an enum that no namespace can have.
func (s *Scope) enumOfNames(d *Document, n *keyspace.Namespace) {
	if n.Names == nil || n.Names.Kind != scalar.Enum {
		return
	}
	for _, word := range n.Names.Values {
		if reason := pattern.NamespaceName(word); reason != "" {
			d.Report("KW107", n.Pos, "letters, digits, - and _", "the namespace %q %s", word, reason)
		}
	}
}

func (s *Scope) sameNamespace(d *Document, known, n *keyspace.Namespace) {
	of := func(t *scalar.Type) string {
		if t == nil {
			return ""
		}
		return t.Definition()
	}
	if of(known.Names) != of(n.Names) {
		d.Report("KW004", n.Pos, "write the same names in both files", "the namespace %s has other names at %s:%d", n.Default,
			known.Pos.File, known.Pos.Line)
	}
}

// inNamespace moves a pattern into the namespace that is in effect.
func (s *Scope) inNamespace(d *Document, n *yaml.Node, what string, p *pattern.Pattern) *pattern.Pattern {
	if d.Space == nil {
		return p
	}
	if !pattern.InNamespace(p.String(), d.Space.Default) {
		d.Report("KW107", d.At(n), fmt.Sprintf("begin it with %s:", d.Space.Default),
			"%s is outside of the namespace %s: two programs with different namespaces would share it", what, d.Space.Default)
		return p
	}
	return d.moved(n, what, p)
}

// moved returns a pattern with the name of the namespace that is in effect.
func (d *Document) moved(n *yaml.Node, what string, p *pattern.Pattern) *pattern.Pattern {
	if d.Space.Name == d.Space.Default {
		return p
	}
	out, err := pattern.Parse(pattern.Moved(p.String(), d.Space.Default, d.Space.Name), p.Types())
	if err != nil {
		d.Report("KW101", d.At(n), "choose a shorter name", "%s in the namespace %s: %v", what, d.Space.Name, err)
		return nil
	}
	return out
}

// Former returns an old pattern of an entry. One outside of the namespace is from the
// time before there was one: its keys belong to the declared name only.
func (s *Scope) Former(d *Document, n *yaml.Node, what string) *pattern.Pattern {
	space := d.Space
	d.Space = nil
	p := s.Pattern(d, n, what, nil)
	d.Space = space
	switch {
	case p == nil || space == nil:
		return p
	case pattern.InNamespace(p.String(), space.Default):
		return d.moved(n, what, p)
	case space.Name != space.Default:
		return nil
	}
	return p
}

// globIn returns a glob in the namespace in effect. Those of foreign may be anywhere.
func (d *Document) globIn(n *yaml.Node, text, section string) (string, bool) {
	if d.Space == nil || section == "foreign" && !pattern.InNamespace(text, d.Space.Default) {
		return text, true
	}
	if !pattern.InNamespace(text, d.Space.Default) {
		d.Report("KW107", d.At(n), fmt.Sprintf("begin it with %s:", d.Space.Default),
			"the glob %q of %s reaches outside of the namespace %s", text, section, d.Space.Default)
		return text, false
	}
	return pattern.Moved(text, d.Space.Default, d.Space.Name), true
}

// Spaces adds the globs of namespaces: of those in effect, and of those that a program may
// choose and that are not, whose keys are other software's to this one. Those of an enum
// become globs of foreign.
func (s *Scope) Spaces() {
	for _, n := range s.KS.Spaces {
		if p, err := pattern.Glob(n.Glob()); err == nil {
			s.KS.Inside = append(s.KS.Inside, keyspace.Glob{Text: n.Name + ":*", Pattern: p, Pos: n.Pos})
		}
		if n.Names != nil && n.Names.Kind != scalar.Enum {
			s.typedSiblings(n)
		}
		others := n.Others()
		if !s.AffordsPatterns(n.Pos, len(others)) {
			return
		}
		for _, other := range others {
			text := other + ":*"
			if p, err := pattern.Glob(text); err == nil &&
				!slices.ContainsFunc(s.KS.Foreign, func(g keyspace.Glob) bool { return g.Text == text }) {
				s.KS.Foreign = append(s.KS.Foreign, keyspace.Glob{Text: text, Pattern: p, Pos: n.Pos, Sibling: true})
			}
		}
	}
}

// typedSiblings are the namespaces whose names are of a type.
func (s *Scope) typedSiblings(n *keyspace.Namespace) {
	others, err := pattern.Namespaces(*n.Names)
	if err != nil { // too complex: the keys of other namespaces are undeclared
		return
	}
	s.KS.Siblings = append(s.KS.Siblings,
		keyspace.Glob{Text: "other namespaces of " + n.Default, Pattern: others, Pos: n.Pos, Sibling: true})
}
