package golang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// namespace writes the type of the namespace, whose methods build and read keys,
// and the option that chooses one.
func (g *generator) namespace() {
	if g.space == nil {
		return
	}
	g.methods.Take("Namespace")
	g.tuning = append(g.tuning, "Namespace Namespace // of InNamespace; zero: "+g.space.Name)
	g.held = append(g.held, "ns Namespace")
	g.making = append(g.making, "k.ns = t.Namespace")
	g.printf("// Namespace is the first part of every key and channel: one per environment or\n// tenant. The zero "+
		"value is the declared one, %s.\ntype Namespace struct{ name string }\n\n", printable(g.space.Name))
	g.printf("// InNamespace is the namespace of a name, for Tuning. It refuses a name that the\n// declaration does " +
		"not allow.\nfunc InNamespace(name string) (Namespace, error) {\n")
	g.printf("if reason := %s.Namespace(name, %s); reason != \"\" {\nreturn Namespace{}, %s.Refuse(\"namespace\", "+
		"\"namespace\", reason)\n}\nreturn Namespace{name}, nil\n}\n\n", g.use(module+"/keyspace/key"), g.allowed(),
		g.use(module+"/keyspace/key"))
	g.printf("// String is the name.\nfunc (ns Namespace) String() string {\nif ns.name == \"\" {\nreturn %s\n}\nreturn "+
		"ns.name\n}\n\n", quote(g.space.Name))
	g.printf("// Namespace is that of all keys and channels.\nfunc (k *Keyspace) Namespace() Namespace { " +
		"return k.ns }\n\n")
}

// allowed returns an expression that says why a name is not among those that are
// declared, nil if any is.
func (g *generator) allowed() string {
	t := g.space.Names
	if t == nil {
		return "nil"
	}
	if t.Kind == scalar.Enum {
		list := enumWords(*t, false)
		if !slices.Contains(t.Values, g.space.Default) {
			list = quote(g.space.Default) + ", " + list
		}
		return fmt.Sprintf("func(name string) string { return key.OneOf(name, %s) }", list)
	}
	return fmt.Sprintf("func(name string) string {\nif name == %s {\nreturn \"\"\n}\nreturn %s.Text(name, false)\n}",
		quote(g.space.Default), g.scalarVar(*t))
}

// elements returns the pieces of a pattern, the namespace one of its own.
func (g *generator) elements(p *pattern.Pattern) []pattern.Element {
	if g.space == nil {
		return p.Elements()
	}
	return p.Namespaced(g.space.Name)
}

// call returns how a builder or parser is called where k is the Keyspace.
func (g *generator) call(name string) string { return g.whenNamed("k.ns.") + name }

// whenNamed returns a piece of code that only a keyspace with a namespace has.
func (g *generator) whenNamed(text string) string {
	if g.space == nil {
		return ""
	}
	return text
}

// receiver makes a builder or parser a method of Namespace.
func (g *generator) receiver() string { return g.whenNamed("(ns Namespace) ") }

// method0 makes a helper that builds keys a method of Keyspace.
func (g *generator) method0() string { return g.whenNamed("(k *Keyspace) ") }

// piece returns a literal of a pattern as an expression; ns is that of the namespace.
func (g *generator) piece(e pattern.Element, ns string) string {
	if e.Namespace {
		return ns + ".String()"
	}
	return quote(e.Literal)
}

// whole returns a pattern without placeholders as an expression.
func (g *generator) whole(elems []pattern.Element) string {
	parts := make([]string, len(elems))
	for i, e := range elems {
		parts[i] = g.piece(e, "ns")
	}
	return strings.Join(parts, " + ")
}

// sizes returns how many bytes the literals take: a number, and an expression after it.
func (g *generator) sizes(elems []pattern.Element) (fixed int, variable string) {
	for _, e := range elems {
		if e.Namespace {
			variable += "+len(ns.String())"
		} else {
			fixed += len(e.Literal)
		}
	}
	return fixed, variable
}

// glob returns the expression of what PSUBSCRIBE takes for a channel.
func (g *generator) glob(p *pattern.Pattern) string {
	if g.space == nil {
		return quote(p.ScanGlob())
	}
	var parts []string
	literal := ""
	for _, e := range g.elements(p) {
		switch {
		case e.Namespace:
			if literal != "" {
				parts = append(parts, quote(literal))
			}
			parts, literal = append(parts, "k.ns.String()"), ""
		case e.Placeholder >= 0:
			literal += "*"
		default:
			literal += pattern.GlobLiteral(e.Literal)
		}
	}
	if literal != "" {
		parts = append(parts, quote(literal))
	}
	return strings.Join(parts, " + ")
}

// undone writes what brings a key into the declared namespace, for a reader that
// knows no other.
func (g *generator) undone(c *keyCode, refuse string) {
	if g.space == nil {
		return
	}
	g.printf("rest := text\n")
	lead := ""
	for _, e := range c.elems {
		if e.Placeholder >= 0 {
			break
		}
		g.printf("if rest, ok = %s.CutPrefix(rest, %s); !ok {\n%s\n}\n", g.use("strings"), g.piece(e, "ns"), refuse)
		lead += e.Literal
	}
	g.printf("text = %s + rest\n", quote(lead))
}
