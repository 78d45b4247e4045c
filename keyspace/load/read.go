package load

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	yaml "go.yaml.in/yaml/v4"
)

// reader walks the YAML nodes of one file and notes what is wrong with them. It
// never stops at a fault: what can be read is read, so that one run reports
// everything.
type reader struct {
	file  string
	dir   string // the file's folder, for the files it names
	lines []string
	out   *[]finding.Finding
}

func (r *reader) report(code string, pos keyspace.Pos, fix, format string, args ...any) {
	*r.out = append(*r.out,
		finding.Finding{Code: code, Severity: finding.Error, Pos: pos, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// property represents one key of a mapping with its value.
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
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			r.report("KW005", r.at(k), "write a plain name", "a name in %s must be text", what)
		case k.Value == "<<":
			r.report("KW007", r.at(k), "write the properties out", "merge keys are not supported")
		case seen[k.Value]:
			r.report("KW004", r.at(k), "remove one of them", "%q is there twice in %s", k.Value, what)
		default:
			seen[k.Value] = true
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
	fix := cmp.Or(r.meant(p.name, what, allowed), "one of: "+strings.Join(allowed, ", "))
	r.report("KW003", r.at(p.key), fix, "%s has no property %q", what, p.name)
}

// text reads a scalar that is text to every reader of YAML. A number or a word
// like true is refused: the editor's schema refuses it, too.
func (r *reader) text(n *yaml.Node, what string) (string, bool) {
	text, ok := r.scalarText(n, what)
	return text, ok && r.isText(n, what)
}

// scalarText reads a scalar as it is written, numbers and booleans, too: a value that has
// a form of its own, whose reader explains better what is wrong with a number.
func (r *reader) scalarText(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.wrongKind(n, what, "text")
		return "", false
	}
	return n.Value, true
}

// others lists the scalars of YAML that are no text, as messages call them.
var others = map[string]string{"!!int": "a number", "!!float": "a number", "!!bool": "true or false"}

// isText reports a scalar that YAML reads as a number or boolean.
func (r *reader) isText(n *yaml.Node, what string) bool {
	kind, other := others[n.Tag]
	if other {
		r.report("KW005", r.at(n), fmt.Sprintf("quote it: %q", n.Value), "%s must be text, and YAML reads %s as %s", what,
			n.Value, kind)
	}
	return !other
}

// wrongKind explains the flow-style trap where it is one: {id} without quotes
// is a mapping to YAML.
func (r *reader) wrongKind(n *yaml.Node, what, want string) {
	pos := r.at(n)
	if n.Kind == yaml.AliasNode {
		return // reported by refuse
	}
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && want == "text" {
		r.report("KW009", pos, "put quotes around the whole value", "%s begins with {, which YAML reads as a mapping", what)
		return
	}
	fix := ""
	switch {
	case n.Kind == yaml.SequenceNode && strings.HasPrefix(want, "a mapping of names"):
		fix = "write a line `name: …` for each, without the -"
	case n.Kind == yaml.ScalarNode && n.Tag == "!!str" && strings.HasPrefix(want, "a mapping with key, type"):
		fix = fmt.Sprintf("did you mean {key: %q, type: string, ttl: …}?", n.Value)
	case n.Tag == "!!null" && what == "ttl":
		fix = "write none if it must never expire, any if that is undecided"
	}
	r.report("KW005", pos, fix, "%s must be %s, not %s", what, want, kindName(n))
}

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}

// list reads a list of scalars; a single scalar counts as a list of one.
func (r *reader) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		if !r.isText(n, what) {
			return nil
		}
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
	style := "lower-case letters, digits and _"
	if camel {
		style = "letters, digits and _"
	}
	if p.name == "" || len(p.name) > maxName {
		r.report("KW010", r.at(p.key), "", "the name of %s has 1 to %d characters", what, maxName)
		return false
	}
	for i, c := range p.name {
		lower := c == '_' || c >= 'a' && c <= 'z' || camel && c >= 'A' && c <= 'Z'
		if lower || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		shown := strconv.QuoteRune(c)
		if c >= utf8.RuneSelf {
			shown += fmt.Sprintf(" (%U)", c) // it may look like an ASCII letter
		}
		fix := ""
		if id := identifier(p.name, camel); id != "" {
			fix = proposal(id)
		}
		r.report("KW010", r.at(p.key), fix, "%q cannot name %s because of %s: %s, not beginning with a digit", p.name, what,
			shown, style)
		return false
	}
	return true
}

const maxName = 64

// identifier returns the nearest valid name to what someone wrote, "" if too little
// of it remains: `user-name` and `userName` become user_name.
func identifier(name string, camel bool) string {
	var b strings.Builder
	for i, c := range name {
		switch {
		case c >= 'A' && c <= 'Z' && !camel:
			if i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
				b.WriteByte('_')
			}
			b.WriteRune(c - 'A' + 'a')
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' && i > 0:
			b.WriteRune(c)
		case strings.ContainsRune("-. :/", c):
			b.WriteByte('_')
		default:
			return ""
		}
	}
	return b.String()
}

// oneOf reads a list whose items are words of a fixed set.
func (r *reader) oneOf(n *yaml.Node, what string, words []string) []string {
	var out []string
	for _, item := range r.list(n, what) {
		if !slices.Contains(words, item.Value) {
			fix := cmp.Or(r.near(item.Value, words), "one of: "+strings.Join(words, ", "))
			r.report("KW301", r.at(item), fix, "%q is nothing that %s knows", item.Value, what)
			continue
		}
		out = append(out, item.Value)
	}
	return out
}

// choice reads one word of a fixed set, "" for anything else.
func (r *reader) choice(n *yaml.Node, what string, words []string) string {
	if n.Kind == yaml.SequenceNode {
		r.wrongKind(n, what, "one of "+strings.Join(words, ", "))
		return ""
	}
	return strings.Join(r.oneOf(n, what, words), "")
}

func (r *reader) duration(props map[string]property, name string) time.Duration {
	p, ok := props[name]
	if !ok {
		return 0
	}
	text, ok := r.scalarText(p.value, name)
	if !ok {
		return 0
	}
	dur, err := keyspace.ParseDuration(text)
	if fault, ok := errors.AsType[*keyspace.TTLError](err); ok {
		r.report("KW307", r.within(p.value, fault.Offset, fault.Length), fault.Fix, "%s: %s", name, fault.Message)
	}
	return dur
}

func (r *reader) number(props map[string]property, name string, min int64) int64 {
	p, ok := props[name]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(p.value.Value, 10, 64)
	if p.value.Tag == "!!str" && err == nil {
		r.report("KW005", r.at(p.value), "write "+p.value.Value+" without quotes", "%s must be a number, not text", name)
		return n
	}
	if err != nil || n < min || p.value.Kind != yaml.ScalarNode {
		r.report("KW307", r.at(p.value), meantNumber(p.value.Value), "%s must be a whole number of at least %d, not %s", name,
			min, kindName(p.value))
	}
	return n
}

// truth reads a property that is true or false.
func (r *reader) truth(props map[string]property, name string) bool {
	p, ok := props[name]
	if ok && !is(p.value, true) && !is(p.value, false) {
		r.report("KW005", r.at(p.value), "write true or false", "%s must be true or false, not %s", name, kindName(p.value))
	}
	return ok && is(p.value, true)
}

// is says whether YAML reads a node as this boolean.
func is(n *yaml.Node, truth bool) bool {
	return n.Tag == "!!bool" && strings.EqualFold(n.Value, strconv.FormatBool(truth))
}

// doc reads a text for people.
func (r *reader) doc(props map[string]property) string {
	p, ok := props["doc"]
	if !ok {
		return ""
	}
	text, _ := r.text(p.value, "doc")
	return text
}

// hasKey reports whether a mapping has one of these properties.
func hasKey(n *yaml.Node, names ...string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if slices.Contains(names, n.Content[i].Value) {
			return true
		}
	}
	return false
}

// about reads the properties that entries and channels share.
func (r *reader) about(props map[string]property, owner string) (doc, own string, readers []string) {
	own = owner
	if p, ok := props["doc"]; ok {
		doc, _ = r.text(p.value, "doc")
	}
	if p, ok := props["owner"]; ok {
		own, _ = r.text(p.value, "owner")
	}
	if p, ok := props["readers"]; ok {
		readers = r.texts(p.value, "readers")
	}
	return strings.TrimSpace(doc), own, readers
}

// names reads a list of names and notes where each is.
func (r *reader) names(props map[string]property, name, what string, at map[string]keyspace.Pos) []string {
	p, ok := props[name]
	if !ok {
		return nil
	}
	var out []string
	for _, n := range r.list(p.value, name+" of "+what) {
		out = append(out, n.Value)
		at[name+"."+n.Value] = r.at(n)
	}
	return out
}

// retired reads a list of names that are gone for good.
func (r *reader) retired(props map[string]property, name string) (out []keyspace.Retired) {
	p, ok := props[name]
	if !ok {
		return nil
	}
	for _, n := range r.list(p.value, name) {
		out = append(out, keyspace.Retired{Name: n.Value, Pos: r.at(n)})
	}
	return out
}
