package load

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

// namespace reads the section. A file without one has that of the first file.
func (s *scope) namespace(d *document, first bool) {
	p, ok := d.props["namespace"]
	if !ok {
		if !first {
			d.space = s.docs[0].space
		}
		return
	}
	n := &keyspace.Namespace{Pos: d.at(p.value)}
	text := p.value
	if p.value.Kind == yaml.MappingNode {
		props := d.known(p.value, "namespace", childProperties["namespace"])
		word, ok := props["default"]
		if !ok {
			d.report("KW006", d.at(p.value), "add default: …, the name that the patterns of the file begin with",
				"the namespace has no default")
			return
		}
		text = word.value
		if names, ok := props["names"]; ok {
			if t, ok := s.typeOf(d, names.value, "the names of the namespace"); ok {
				n.Names = &t
			}
		}
	}
	if n.Default, ok = d.text(text, "namespace"); !ok {
		return
	}
	if reason := pattern.NamespaceName(n.Default); reason != "" {
		d.report("KW107", d.at(text), "as in namespace: poppo", "the namespace %q %s", n.Default, reason)
		return
	}
	s.enumOfNames(d, n)
	name := s.chosen[n.Default]
	if name == BeforeNamespaces {
		return
	}
	n.Name = cmp.Or(name, n.Default)
	for _, known := range s.ks.Spaces {
		if known.Default == n.Default {
			s.sameNamespace(d, known, n)
			d.space = known
			return
		}
	}
	d.space = n
	s.ks.Spaces = append(s.ks.Spaces, n)
}

// enumOfNames reports words of an enum that no namespace can have.
func (s *scope) enumOfNames(d *document, n *keyspace.Namespace) {
	if n.Names == nil || n.Names.Kind != scalar.Enum {
		return
	}
	for _, word := range n.Names.Values {
		if reason := pattern.NamespaceName(word); reason != "" {
			d.report("KW107", n.Pos, "letters, digits, - and _", "the namespace %q %s", word, reason)
		}
	}
}

func (s *scope) sameNamespace(d *document, known, n *keyspace.Namespace) {
	of := func(t *scalar.Type) string {
		if t == nil {
			return ""
		}
		return t.Definition()
	}
	if of(known.Names) != of(n.Names) {
		d.report("KW004", n.Pos, "write the same names in both files", "the namespace %s has other names at %s:%d", n.Default,
			known.Pos.File, known.Pos.Line)
	}
}

// inNamespace moves a pattern into the namespace that is in effect.
func (s *scope) inNamespace(d *document, n *yaml.Node, what string, p *pattern.Pattern) *pattern.Pattern {
	if d.space == nil {
		return p
	}
	if !pattern.InNamespace(p.String(), d.space.Default) {
		d.report("KW107", d.at(n), fmt.Sprintf("begin it with %s:", d.space.Default),
			"%s is outside of the namespace %s: two programs with different namespaces would share it", what, d.space.Default)
		return p
	}
	return d.moved(n, what, p)
}

// moved returns a pattern with the name of the namespace that is in effect.
func (d *document) moved(n *yaml.Node, what string, p *pattern.Pattern) *pattern.Pattern {
	if d.space.Name == d.space.Default {
		return p
	}
	out, err := pattern.Parse(pattern.Moved(p.String(), d.space.Default, d.space.Name), p.Types())
	if err != nil {
		d.report("KW101", d.at(n), "choose a shorter name", "%s in the namespace %s: %v", what, d.space.Name, err)
		return nil
	}
	return out
}

// former returns an old pattern of an entry. One outside of the namespace is from the
// time before there was one: its keys belong to the declared name only.
func (s *scope) former(d *document, n *yaml.Node, what string) *pattern.Pattern {
	space := d.space
	d.space = nil
	p := s.pattern(d, n, what, nil)
	d.space = space
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
func (d *document) globIn(n *yaml.Node, text, section string) (string, bool) {
	if d.space == nil || section == "foreign" && !pattern.InNamespace(text, d.space.Default) {
		return text, true
	}
	if !pattern.InNamespace(text, d.space.Default) {
		d.report("KW107", d.at(n), fmt.Sprintf("begin it with %s:", d.space.Default),
			"the glob %q of %s reaches outside of the namespace %s", text, section, d.space.Default)
		return text, false
	}
	return pattern.Moved(text, d.space.Default, d.space.Name), true
}

// spaces adds the globs of namespaces: of those in effect, and of those that a program may
// choose and that are not, whose keys are other software's to this one. Those of an enum
// become globs of foreign.
func (s *scope) spaces() {
	for _, n := range s.ks.Spaces {
		if p, err := pattern.Glob(n.Glob()); err == nil {
			s.ks.Inside = append(s.ks.Inside, keyspace.Glob{Text: n.Name + ":*", Pattern: p, Pos: n.Pos})
		}
		if n.Names != nil && n.Names.Kind != scalar.Enum {
			s.typedSiblings(n)
		}
		others := n.Others()
		if !s.affordsPatterns(n.Pos, len(others)) {
			return
		}
		for _, other := range others {
			text := other + ":*"
			if p, err := pattern.Glob(text); err == nil &&
				!slices.ContainsFunc(s.ks.Foreign, func(g keyspace.Glob) bool { return g.Text == text }) {
				s.ks.Foreign = append(s.ks.Foreign, keyspace.Glob{Text: text, Pattern: p, Pos: n.Pos, Sibling: true})
			}
		}
	}
}

// typedSiblings are the namespaces whose names are of a type.
func (s *scope) typedSiblings(n *keyspace.Namespace) {
	others, err := pattern.Namespaces(*n.Names)
	if err != nil { // too complex: the keys of other namespaces are undeclared
		return
	}
	s.ks.Siblings = append(s.ks.Siblings,
		keyspace.Glob{Text: "other namespaces of " + n.Default, Pattern: others, Pos: n.Pos, Sibling: true})
}
