package keyspace

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/finding"
	yaml "go.yaml.in/yaml/v4"
)

// reader walks the YAML nodes of one file and notes what is wrong with them. It
// never stops at a fault: what can be read is read, so that one run reports
// everything.
type reader struct {
	file string
	dir  string // the file's folder, for the files it names
	out  *[]finding.Finding
}

func (r *reader) report(code string, pos Pos, fix, format string, args ...any) {
	*r.out = append(*r.out, finding.Finding{Code: code, Severity: finding.Error, Pos: pos, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// at is the position of a node; a scalar on one line also has an end.
func (r *reader) at(n *yaml.Node) Pos {
	p := Pos{File: r.file, Line: n.Line, Column: n.Column}
	if n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") {
		p.EndColumn = n.Column + utf8.RuneCountInString(n.Value) + 2*quotes(n)
	}
	return p
}

// within is the position of some bytes of a scalar's value. It is exact for
// scalars on one line without escapes; of others it is the start.
func (r *reader) within(n *yaml.Node, offset, length int) Pos {
	p := r.at(n)
	if p.EndColumn == 0 || offset > len(n.Value) {
		return p
	}
	p.Column += quotes(n) + utf8.RuneCountInString(n.Value[:offset])
	p.EndColumn = p.Column + max(1, utf8.RuneCountInString(n.Value[offset:min(offset+length, len(n.Value))]))
	return p
}

func quotes(n *yaml.Node) int {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return 1
	}
	return 0
}

// property is one key of a mapping with its value.
type property struct {
	name       string
	key, value *yaml.Node
}

// mapping reads the properties of a mapping and reports duplicates. what names
// the mapping in messages.
func (r *reader) mapping(n *yaml.Node, what string) []property {
	if n.Kind != yaml.MappingNode {
		r.wrongKind(n, what, "a mapping of names to values")
		return nil
	}
	var out []property
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			r.report("KW005", r.at(k), "write a plain name", "a name in %s must be text", what)
		case k.Value == "<<":
			r.report("KW007", r.at(k), "write the properties out", "merge keys are not supported")
		case slices.ContainsFunc(out, func(p property) bool { return p.name == k.Value }):
			r.report("KW004", r.at(k), "remove one of them", "%q stands twice in %s", k.Value, what)
		default:
			out = append(out, property{k.Value, k, n.Content[i+1]})
		}
	}
	return out
}

// known reports the properties that are not in allowed and returns the rest by
// name.
func (r *reader) known(n *yaml.Node, what string, allowed []string) map[string]property {
	out := map[string]property{}
	for _, p := range r.mapping(n, what) {
		if !slices.Contains(allowed, p.name) {
			r.unknown(p, what, allowed)
			continue
		}
		out[p.name] = p
	}
	return out
}

func (r *reader) unknown(p property, what string, allowed []string) {
	fix := "one of: " + strings.Join(allowed, ", ")
	if near := nearest(p.name, allowed); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	r.report("KW003", r.at(p.key), fix, "%s has no property %q", what, p.name)
}

// text reads a scalar as text; numbers and booleans are text too, as written.
func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.wrongKind(n, what, "text")
		return "", false
	}
	return n.Value, true
}

// wrongKind explains the flow-style trap where it is one: {id} without quotes
// is a mapping to YAML.
func (r *reader) wrongKind(n *yaml.Node, what, want string) {
	pos := r.at(n)
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && want == "text" {
		r.report("KW009", pos, "put quotes around the whole value", "%s begins with {, which YAML reads as a mapping", what)
		return
	}
	r.report("KW005", pos, "", "%s must be %s, not %s", what, want, kindName(n))
}

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.Tag == "!!null":
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}

// list reads a list of scalars; a single scalar counts as a list of one.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return []*yaml.Node{n}
	}
	if n.Kind != yaml.SequenceNode {
		r.wrongKind(n, what, "a list")
		return nil
	}
	var out []*yaml.Node
	for _, item := range n.Content {
		if _, ok := r.text(item, "an item of "+what); ok {
			out = append(out, item)
		}
	}
	return out
}

func (r *reader) texts(n *yaml.Node, what string) []string {
	var out []string
	for _, item := range r.list(n, what) {
		out = append(out, item.Value)
	}
	return out
}

// name checks the name of something declared: it becomes an identifier in
// generated code, an anchor in documents and a label in metrics.
func (r *reader) name(p property, what string, camel bool) bool {
	for i, c := range p.name {
		lower := c == '_' || c >= 'a' && c <= 'z' || camel && c >= 'A' && c <= 'Z'
		if !lower && (i == 0 || c < '0' || c > '9') {
			style := "lower-case letters, digits and _"
			if camel {
				style = "letters, digits and _"
			}
			r.report("KW010", r.at(p.key), "", "%q cannot name %s: %s, not beginning with a digit", p.name, what, style)
			return false
		}
	}
	if len(p.name) > 64 || p.name == "" {
		r.report("KW010", r.at(p.key), "", "the name of %s has 1 to 64 characters", what)
		return false
	}
	return true
}

// refuse reports YAML that the language does without: anchors, aliases and
// explicit tags make a declaration that cannot be searched by eye.
func (r *reader) refuse(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.report("KW007", r.at(n), "write the value out; for a pattern that begins with *, put quotes around it", "aliases (*%s) are not supported", n.Value)
		return
	case n.Anchor != "":
		r.report("KW007", r.at(n), "write the value out where it is used", "anchors (&%s) are not supported", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.report("KW007", r.at(n), "remove the tag", "explicit tags (%s) are not supported", n.Tag)
	}
	for _, c := range n.Content {
		r.refuse(c)
	}
}

// nearest is the candidate that word was probably meant to be, "" if none is
// near.
func nearest(word string, candidates []string) string {
	best, limit := "", 1+len(word)/3
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
