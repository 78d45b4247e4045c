package pattern

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/internal/automaton"
	"github.com/keywright/keywright/keyspace/scalar"
)

// maxNamespace bounds the name of a namespace.
const maxNamespace = 64

// NamespaceByte reports whether a byte may be in the name of a namespace. The byte
// after the name in a key may not, so that the keys of `poppo` are never keys of
// `poppo-test`.
func NamespaceByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// NamespaceName says why a text is no name of a namespace, "" if it is one.
func NamespaceName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxNamespace:
		return "is longer than 64 bytes"
	}
	for i := range len(name) {
		if !NamespaceByte(name[i]) {
			return "has a byte that is no letter, digit, - or _"
		}
	}
	return ""
}

// InNamespace reports whether the text of a pattern or glob begins with a namespace
// and a byte that ends its name.
func InNamespace(text, name string) bool {
	rest, ok := strings.CutPrefix(text, name)
	return ok && rest != "" && rest[0] != '{' && rest[0] != '*' && rest[0] != '?' && rest[0] != '[' && rest[0] != '\\' &&
		!NamespaceByte(rest[0])
}

// Moved returns the text of a pattern or glob in another namespace: the name is replaced
// where the text begins with it, and where a hash tag before the first
// placeholder does.
func Moved(text, from, to string) string {
	if !InNamespace(text, from) {
		return text
	}
	text = to + text[len(from):]
	if at := tagInNamespace(text, from); at >= 0 {
		text = text[:at] + to + text[at+len(from):]
	}
	return text
}

// tagInNamespace returns where the namespace begins in the hash tag of a pattern, -1 if
// it does not, or if a placeholder comes first.
func tagInNamespace(text, name string) int {
	for at := 0; at < len(text); at++ {
		switch rest := text[at:]; {
		case strings.HasPrefix(rest, `\{`), len(rest) >= 4 && strings.EqualFold(rest[:4], `\x7b`):
			return -1 // a literal brace opens the tag
		case rest[0] == '\\':
			at++
		case strings.HasPrefix(rest, "{#") && InNamespace(rest[2:], name):
			return at + 2
		case rest[0] == '{':
			return -1
		}
	}
	return -1
}

// Namespaced returns the elements of the pattern with the namespace cut out of the
// first literal: an element of its own, whose Namespace is true.
func (p *Pattern) Namespaced(name string) []Element {
	if !InNamespace(p.text, name) || p.glob {
		return p.elems
	}
	first := p.elems[0].Literal
	own := Element{Literal: name, Placeholder: -1, Namespace: true}
	out := []Element{own}
	rest := first[len(name):]
	if tagInNamespace(p.text, name) >= 0 {
		at := strings.IndexByte(rest, '{') + 1
		out = append(out, literalElement(rest[:at]), own)
		rest = rest[at+len(name):]
	}
	if rest != "" {
		out = append(out, literalElement(rest))
	}
	return slices.Concat(out, p.elems[1:])
}

// Namespaces matches all keys of all namespaces whose names are of a type.
func Namespaces(names scalar.Type) (*Pattern, error) {
	lang, err := names.Key()
	if err != nil {
		return nil, err
	}
	var ends automaton.Set
	for b := range 256 {
		if !NamespaceByte(byte(b)) {
			ends = ends.Union(automaton.Range(byte(b), byte(b)))
		}
	}
	p := &Pattern{text: "{namespace}:*", glob: true, elems: []Element{
		{Placeholder: -1, Expr: lang.Expr.Without(ends)},
		{Placeholder: -1, Expr: automaton.One(ends), Crosses: true},
		{Placeholder: -1, Expr: automaton.Star(automaton.One(automaton.All)), Crosses: true},
	}}
	return p, p.compile()
}

// DeriveIn is Derive where keys are in a namespace: the derived key begins with it,
// too, as in poppo:{poppo:lock:issue:{number}}:fence.
func (p *Pattern) DeriveIn(namespace, role string) (*Pattern, error) {
	if p.tagged || namespace == "" {
		return p.Derive(role)
	}
	derived, err := p.Derive(role)
	if err != nil {
		return nil, err
	}
	return Parse(namespace+":"+derived.text, p.Types())
}
