package load

import (
	"errors"
	"fmt"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// pattern parses a key pattern or channel. local answers placeholders before
// the vars do: the fields of an entity in the patterns of its indexes.
func (l *loader) pattern(d *document, n *yaml.Node, what string,
	local func(string) (scalar.Type, bool)) *pattern.Pattern {
	text, ok := d.text(n, what)
	if !ok {
		return nil
	}
	if l.room <= 0 || !l.affordsPatterns(d.at(n), 1) {
		return nil // which is said of what needs them
	}
	p, err := pattern.Parse(text, func(name string) (scalar.Type, bool) {
		t, ok := scalar.Type{}, false
		if local != nil {
			t, ok = local(name)
		}
		if !ok {
			t, ok = l.useVar(name)
		}
		l.spells(d.at(n), 1, t)
		return t, ok
	})
	if l.over {
		return nil
	}
	var fault *pattern.SyntaxError
	if errors.As(err, &fault) {
		code := "KW101"
		if fault.Ambiguous != nil {
			code = "KW102"
		}
		fix := proposal(fault.Proposal)
		if strings.Contains(fault.Proposal, "{}") || strings.Trim(fault.Proposal, "{}_") == "" {
			fix = "" // nothing of a name was there to propose
		}
		d.report(code, d.within(n, fault.Offset, fault.Length), fix, "%s: %s", what, fault.Message)
		return nil
	}
	if !l.affordsPattern(p) {
		d.report("KW101", d.at(n), simpler, "%s: "+tooManyStates, what, maxStates)
		return nil
	}
	return l.inNamespace(d, n, what, p)
}

// escaped takes out what a backslash makes literal in a glob.
var escaped = strings.NewReplacer(`\\`, "", `\{`, "", `\}`, "")

func (d *document) glob(n *yaml.Node, section string) (keyspace.Glob, bool) {
	text, ok := d.text(n, "a glob")
	if !ok {
		return keyspace.Glob{}, false
	}
	if text, ok = d.globIn(n, text, section); !ok {
		return keyspace.Glob{}, false
	}
	p, err := pattern.Glob(text)
	if err != nil {
		d.report("KW104", d.at(n), "", "the glob cannot be used: %v", err)
		return keyspace.Glob{}, false
	}
	if strings.Contains(escaped.Replace(n.Value), "{") {
		d.report("KW104", d.at(n), "write * where the placeholder is, as in poppo:temp:*; a literal brace is written \\{",
			"%q is a glob and has no placeholders: { is a literal brace here", n.Value)
	}
	return keyspace.Glob{Text: text, Pattern: p, Pos: d.at(n)}, true
}

// sectionShape reads the naming law: segments with their separators, `[…]`
// around optional ones at the end.
func (l *loader) sectionShape(d *document) {
	p, ok := d.props["shape"]
	if !ok {
		return
	}
	text, ok := d.text(p.value, "shape")
	if !ok {
		return
	}
	if d.space != nil {
		text = pattern.Moved(text, d.space.Default, d.space.Name)
	}
	parts, err := l.shapeParts(text)
	if err != nil {
		d.report("KW106", d.at(p.value), `as in "{purpose}:{domain}:{resource}[:{id}]"`, "shape: %v", err)
		return
	}
	l.ks.Shapes = append(l.ks.Shapes, &keyspace.Shape{Text: text, Parts: parts, Pos: d.at(p.value)})
}

func (l *loader) shapeParts(text string) ([]keyspace.ShapePart, error) {
	var parts []keyspace.ShapePart
	optional := false
	for rest := text; rest != ""; {
		part := keyspace.ShapePart{}
		if rest[0] == '[' {
			optional, rest = true, rest[1:]
		}
		part.Optional = optional
		if len(parts) > 0 {
			if rest == "" || rest[0] != ':' {
				return nil, fmt.Errorf("expected : before %q", rest)
			}
			part.Separator, rest = ":", rest[1:]
		}
		end := strings.IndexAny(rest, ":[]")
		if end < 0 {
			end = len(rest)
		}
		if optional && (end == len(rest) || rest[end] != ']') {
			return nil, fmt.Errorf("the optional part %q has no closing ]", rest)
		}
		segment := rest[:end]
		rest = rest[end:]
		if optional {
			rest = rest[1:]
			if rest != "" && rest[0] != '[' {
				return nil, fmt.Errorf("only optional parts may follow an optional one, not %q", rest)
			}
		}
		switch {
		case segment == "":
			return nil, fmt.Errorf("a part is empty")
		case segment[0] == '{' && strings.IndexAny(segment[1:], "{}") == len(segment)-2:
			part.Name = segment[1 : len(segment)-1]
			if t, ok := l.useVar(part.Name); ok {
				part.Type = &t
			}
		case strings.ContainsAny(segment, "{}"):
			return nil, fmt.Errorf("a part is either a literal or one {name}, not %q", segment)
		default:
			part.Literal = segment
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// free returns a placeholder's name that a pattern does not have.
func free(p *pattern.Pattern, name string) string {
	for p.Has(name) {
		name += "_id"
	}
	return name
}

// without returns the main pattern with the placeholders that leave cut out.
func (b *builder) without(leave func(pattern.Placeholder) bool) *pattern.Pattern {
	base := b.main
	for _, p := range b.main.Placeholders() {
		if leave(p) {
			base = base.Without(p.Name)
		}
	}
	return base
}
