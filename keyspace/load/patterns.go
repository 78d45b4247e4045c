package load

import (
	"errors"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// pattern parses a key pattern or channel. local answers placeholders before
// the vars do: the fields of an entity in the patterns of its indexes.
func (s *scope) pattern(d *document, n *yaml.Node, what string,
	local func(string) (scalar.Type, bool)) *pattern.Pattern {
	text, ok := d.text(n, what)
	if !ok {
		return nil
	}
	if s.room <= 0 || !s.affordsPatterns(d.at(n), 1) {
		return nil // which is said of what needs them
	}
	p, err := pattern.Parse(text, func(name string) (scalar.Type, bool) {
		t, ok := scalar.Type{}, false
		if local != nil {
			t, ok = local(name)
		}
		if !ok {
			t, ok = s.useVar(name)
		}
		s.spells(d.at(n), 1, t)
		return t, ok
	})
	if s.over {
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
	if !s.affordsPattern(p) {
		d.report("KW101", d.at(n), simpler, "%s: "+tooManyStates, what, maxStates)
		return nil
	}
	return s.inNamespace(d, n, what, p)
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
