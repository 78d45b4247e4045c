package typescript

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/gen/portable"
	"github.com/keywright/keywright/keyspace/pattern"
)

// begin writes the head of a constant, or of the function that makes it for a
// namespace.
func (i *item) begin(typ, maker string) {
	b := &i.module.body
	if i.module.space == nil {
		fmt.Fprintf(b, "export const %s: %s = %s(\n", i.constant, typ, maker)
		return
	}
	fmt.Fprintf(b, "const $in_%s = ($ns: string): %s => %s(\n", i.constant, typ, maker)
}

// end writes the constant after the function that makes it.
func (i *item) end(typ string, doc []string) {
	m := i.module
	if m.space == nil {
		return
	}
	m.makers = append(m.makers, i.constant)
	comment(&m.body, "", doc)
	fmt.Fprintf(&m.body, "export const %s: %s = $in_%s(%s);\n\n", i.constant, typ, i.constant, quote(m.space.Name))
}

// glob returns the expression of what SCAN … MATCH takes.
func (i *item) glob(p *pattern.Pattern) string {
	if i.module.space == nil {
		return bytesOrText(p.ScanGlob())
	}
	var texts, bytes []string
	text := true
	for _, s := range portable.GlobSteps(i.steps) {
		if s.Namespace {
			texts, bytes = append(texts, "$ns"), append(bytes, "...$encoder.encode($ns)")
			continue
		}
		text = text && utf8.ValidString(s.Literal)
		texts = append(texts, quote(s.Literal))
		for _, b := range []byte(s.Literal) {
			bytes = append(bytes, fmt.Sprint(b))
		}
	}
	if !text {
		return "[" + strings.Join(bytes, ", ") + "]"
	}
	return strings.Join(texts, " + ")
}

// inNamespace writes the function that gives everything in another namespace.
func (m *module) inNamespace() string {
	if m.space == nil {
		return ""
	}
	var b strings.Builder
	check := "true"
	if allowed := portable.Allowed(m.space); allowed != nil {
		check = fmt.Sprintf("name === %s || %s.walk($encoder.encode(name), 0, (end) => end === name.length)",
			quote(m.space.Default), m.matcher(allowed))
	}
	b.WriteString("\n/**\n * Everything in another namespace: one per environment or tenant. Throws a KeyError\n * for " +
		"a name that the declaration does not allow.\n */\nexport function inNamespace(name: string): {\n")
	for _, c := range m.makers {
		fmt.Fprintf(&b, "  readonly %s: typeof %s;\n", c, c)
	}
	fmt.Fprintf(&b,
		"} {\n  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name) || !(%s)) throw new KeyError(\"namespace\", \"namespace\", \"is "+
			"no name that the declaration allows\");\n  return Object.freeze({\n", check)
	for _, c := range m.makers {
		fmt.Fprintf(&b, "    %s: $in_%s(name),\n", c, c)
	}
	b.WriteString("  });\n}\n")
	return b.String()
}
