package scope

import (
	"errors"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// Pattern parses a key pattern or channel. local answers placeholders before
// the vars do: the fields of an entity in the patterns of its indexes.
func (s *Scope) Pattern(d *Document, n *yaml.Node, what string,
	local func(string) (scalar.Type, bool)) *pattern.Pattern {
	text, ok := d.Text(n, what)
	if !ok {
		return nil
	}
	if s.room <= 0 || !s.AffordsPatterns(d.At(n), 1) {
		return nil // which is said of what needs them
	}
	p, err := pattern.Parse(text, func(name string) (scalar.Type, bool) {
		t, ok := scalar.Type{}, false
		if local != nil {
			t, ok = local(name)
		}
		if !ok {
			t, ok = s.UseVar(name)
		}
		s.spells(d.At(n), 1, t)
		return t, ok
	})
	if s.Over {
		return nil
	}
	var fault *pattern.SyntaxError
	if errors.As(err, &fault) {
		code := "KW101"
		if fault.Ambiguous != nil {
			code = "KW102"
		}
		d.Report(code, d.Within(n, fault.Offset, fault.Length), node.Proposal(fault.Proposal), "%s: %s", what, fault.Message)
		return nil
	}
	if !s.affordsPattern(p) {
		d.Report("KW101", d.At(n), simpler, "%s: "+tooManyStates, what, MaxStates)
		return nil
	}
	return s.inNamespace(d, n, what, p)
}

// escaped takes out what a backslash makes literal in a glob.
var escaped = strings.NewReplacer(`\\`, "", `\{`, "", `\}`, "")

// Glob reads a glob, which lies in the namespace of the file.
func (d *Document) Glob(n *yaml.Node, section string) (keyspace.Glob, bool) {
	text, ok := d.Text(n, "a glob")
	if !ok {
		return keyspace.Glob{}, false
	}
	if text, ok = d.globIn(n, text, section); !ok {
		return keyspace.Glob{}, false
	}
	p, err := pattern.Glob(text)
	if err != nil {
		d.Report("KW104", d.At(n), "", "the glob cannot be used: %v", err)
		return keyspace.Glob{}, false
	}
	if strings.Contains(escaped.Replace(n.Value), "{") {
		d.Report("KW104", d.At(n), "write * where the placeholder is, as in poppo:temp:*; a literal brace is written \\{",
			"%q is a glob and has no placeholders: { is a literal brace here", n.Value)
	}
	return keyspace.Glob{Text: text, Pattern: p, Pos: d.At(n)}, true
}
