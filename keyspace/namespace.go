package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// Namespace is the first part of all keys and channels of a file, of which a
// program chooses another one when it starts: one per environment or tenant.
type Namespace struct {
	Default string       // as written in the patterns of the file
	Name    string       // in effect: that of LoadIn, else Default
	Names   *scalar.Type // which names may be chosen; nil: any
	Pos     Pos
}

// BeforeNamespaces chooses no name for a namespace: what LoadIn loads then has fixed names,
// as before the declaration had that namespace.
const BeforeNamespaces = "-"

// name is the one in effect, "" without a namespace.
func (n *Namespace) name() string {
	if n == nil {
		return ""
	}
	return n.Name
}

// Glob matches the keys of the namespace in effect, and no key of another one.
func (n *Namespace) Glob() string { return n.Name + `[^\-A-Za-z0-9_]*` }

// Refuse says why a name cannot be chosen, "" if it can.
func (n *Namespace) Refuse(name string) string {
	if reason := pattern.NamespaceName(name); reason != "" {
		return reason
	}
	if n.Names != nil && name != n.Default && !n.Names.Is([]byte(name)) {
		return "is not " + n.Names.Describe()
	}
	return ""
}

// Others are the namespaces that the declaration names beside the one in effect.
func (n *Namespace) Others() []string {
	if n.Names == nil || n.Names.Kind != scalar.Enum {
		return nil
	}
	return slices.DeleteFunc(append([]string{n.Default}, slices.DeleteFunc(slices.Clone(n.Names.Values), func(w string) bool { return w == n.Default })...), func(w string) bool { return w == n.Name })
}

// Namespace is the only one of the declaration, nil if there is none or several.
func (ks *Keyspace) Namespace() *Namespace {
	if len(ks.Spaces) != 1 {
		return nil
	}
	return ks.Spaces[0]
}

// Choose reads which namespaces are to be used: NAME where the declaration has one,
// or DECLARED=NAME, with commas between several. The result is for LoadIn.
func (ks *Keyspace) Choose(text string) (map[string]string, error) {
	out := map[string]string{}
	for choice := range strings.SplitSeq(text, ",") {
		declared, name, named := strings.Cut(choice, "=")
		if !named {
			declared, name = "", choice
		}
		n, err := ks.space(declared)
		if err != nil {
			return nil, err
		}
		if reason := n.Refuse(name); reason != "" {
			return nil, fmt.Errorf("the namespace %s %s", finding.Printable(fmt.Sprintf("%q", name)), reason)
		}
		if _, twice := out[n.Default]; twice {
			return nil, fmt.Errorf("the namespace %s has two names", n.Default)
		}
		out[n.Default] = name
	}
	used := map[string]string{}
	for _, n := range ks.Spaces {
		name := cmp.Or(out[n.Default], n.Default)
		if other, taken := used[name]; taken {
			return nil, fmt.Errorf("the namespaces %s and %s cannot both be %s", other, n.Default, name)
		}
		used[name] = n.Default
	}
	return out, nil
}

// space finds a namespace by its declared name; "" is the only one.
func (ks *Keyspace) space(declared string) (*Namespace, error) {
	var names []string
	for _, n := range ks.Spaces {
		names = append(names, n.Default)
		if n.Default == declared || declared == "" && len(ks.Spaces) == 1 {
			return n, nil
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("the declaration has no namespace: its keys have fixed names")
	case declared == "":
		return nil, fmt.Errorf("the declaration has the namespaces %s: say which one, as in %s=%s-test", strings.Join(names, ", "), names[0], names[0])
	}
	return nil, fmt.Errorf("the declaration has no namespace %s; it has %s", finding.Printable(fmt.Sprintf("%q", declared)), strings.Join(names, ", "))
}

// namespace reads the section. A file without one has that of the first file.
func (l *loader) namespace(d *document, first bool) {
	p, ok := d.props["namespace"]
	if !ok {
		if !first {
			d.space = l.docs[0].space
		}
		return
	}
	n := &Namespace{Pos: d.at(p.value)}
	text := p.value
	if p.value.Kind == yaml.MappingNode {
		props := d.known(p.value, "namespace", childProperties["namespace"])
		word, ok := props["default"]
		if !ok {
			d.report("KW006", d.at(p.value), "add default: …, the name that the patterns of the file begin with", "the namespace has no default")
			return
		}
		text = word.value
		if names, ok := props["names"]; ok {
			if t, ok := l.typeOf(d, names.value, "the names of the namespace"); ok {
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
	l.enumOfNames(d, n)
	name := l.chosen[n.Default]
	if name == BeforeNamespaces {
		return
	}
	n.Name = cmp.Or(name, n.Default)
	for _, known := range l.ks.Spaces {
		if known.Default == n.Default {
			l.sameNamespace(d, known, n)
			d.space = known
			return
		}
	}
	d.space = n
	l.ks.Spaces = append(l.ks.Spaces, n)
}

// enumOfNames reports words of an enum that no namespace can have.
func (l *loader) enumOfNames(d *document, n *Namespace) {
	if n.Names == nil || n.Names.Kind != scalar.Enum {
		return
	}
	for _, word := range n.Names.Values {
		if reason := pattern.NamespaceName(word); reason != "" {
			d.report("KW107", n.Pos, "letters, digits, - and _", "the namespace %q %s", word, reason)
		}
	}
}

func (l *loader) sameNamespace(d *document, known, n *Namespace) {
	of := func(t *scalar.Type) string {
		if t == nil {
			return ""
		}
		return t.Definition()
	}
	if of(known.Names) != of(n.Names) {
		d.report("KW004", n.Pos, "write the same names in both files", "the namespace %s has other names at %s:%d", n.Default, known.Pos.File, known.Pos.Line)
	}
}

// inNamespace moves a pattern into the namespace that is in effect.
func (l *loader) inNamespace(d *document, n *yaml.Node, what string, p *pattern.Pattern) *pattern.Pattern {
	if d.space == nil {
		return p
	}
	if !pattern.InNamespace(p.String(), d.space.Default) {
		d.report("KW107", d.at(n), fmt.Sprintf("begin it with %s:", d.space.Default), "%s is outside of the namespace %s: two programs with different namespaces would share it", what, d.space.Default)
		return p
	}
	return d.moved(n, what, p)
}

// moved is a pattern with the name of the namespace that is in effect.
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

// former is an old pattern of an entry. One outside of the namespace is from the
// time before there was one: its keys belong to the declared name only.
func (l *loader) former(d *document, n *yaml.Node, what string) *pattern.Pattern {
	space := d.space
	d.space = nil
	p := l.pattern(d, n, what, nil)
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

// globIn is a glob in the namespace in effect. Those of foreign may be anywhere.
func (d *document) globIn(n *yaml.Node, text, section string) (string, bool) {
	if d.space == nil || section == "foreign" && !pattern.InNamespace(text, d.space.Default) {
		return text, true
	}
	if !pattern.InNamespace(text, d.space.Default) {
		d.report("KW107", d.at(n), fmt.Sprintf("begin it with %s:", d.space.Default), "the glob %q of %s reaches outside of the namespace %s", text, section, d.space.Default)
		return text, false
	}
	return pattern.Moved(text, d.space.Default, d.space.Name), true
}

// spaces adds the globs of namespaces: of those in effect, and of those that a program may
// choose and that are not, whose keys are other software's to this one. Those of an enum
// become globs of foreign.
func (l *loader) spaces() {
	for _, n := range l.ks.Spaces {
		if p, err := pattern.Glob(n.Glob()); err == nil {
			l.ks.inside = append(l.ks.inside, Glob{Text: n.Name + ":*", Pattern: p, Pos: n.Pos})
		}
		if n.Names != nil && n.Names.Kind != scalar.Enum {
			l.typedSiblings(n)
		}
		for _, other := range n.Others() {
			text := other + ":*"
			if p, err := pattern.Glob(text); err == nil && !slices.ContainsFunc(l.ks.Foreign, func(g Glob) bool { return g.Text == text }) {
				l.ks.Foreign = append(l.ks.Foreign, Glob{Text: text, Pattern: p, Pos: n.Pos, Sibling: true})
			}
		}
	}
}

// typedSiblings are the namespaces whose names are of a type.
func (l *loader) typedSiblings(n *Namespace) {
	others, err := pattern.Namespaces(*n.Names)
	if err != nil { // too complex: the keys of other namespaces are undeclared
		return
	}
	l.ks.spaces = append(l.ks.spaces, Glob{Text: "other namespaces of " + n.Default, Pattern: others, Pos: n.Pos, Sibling: true})
}

// Generated is the namespace of code that is generated, nil if keys have fixed names.
// Code has one: it is refused for a declaration with several, or with entries
// outside of the one there is.
func (ks *Keyspace) Generated() (*Namespace, error) {
	if len(ks.Spaces) == 0 {
		return nil, nil
	}
	space := ks.Spaces[0]
	for _, e := range ks.Entries {
		if e.Namespace != space && e.Script == nil {
			return nil, fmt.Errorf("the entry %s is not in the namespace %s: generate code from one file, with imports in its namespace", e.Name, space.Default)
		}
	}
	for _, c := range ks.Channels {
		if c.Namespace != space {
			return nil, fmt.Errorf("the channel %s is not in the namespace %s: generate code from one file, with imports in its namespace", c.Name, space.Default)
		}
	}
	return space, nil
}
