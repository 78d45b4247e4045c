// Package node reads the YAML of one file: text becomes nodes, and nodes become the words, numbers, lists and
// mappings of Go. It notes each fault with its line and column, and proposes what was meant.
//
// It knows the form of a declaration and not its content: no section, no entry, no other file.
package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	yaml "go.yaml.in/yaml/v4"
)

// Reader walks the YAML nodes of one file and notes what is wrong with them. It
// never stops at a fault: what can be read is read, so that one run reports
// everything.
type Reader struct {
	File  string
	Dir   string // the file's folder, for the files it names
	Lines []string
	Out   *[]finding.Finding
}

// Report notes a fault.
func (r *Reader) Report(code string, pos keyspace.Pos, fix, format string, args ...any) {
	*r.Out = append(*r.Out,
		finding.Finding{Code: code, Severity: finding.Error, Pos: pos, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// Property represents one key of a mapping with its value.
type Property struct {
	Name       string
	Key, Value *yaml.Node
}

// Mapping reads the properties of a mapping and reports duplicates. what names
// the mapping in messages.
func (r *Reader) Mapping(n *yaml.Node, what string) []Property {
	if n.Kind != yaml.MappingNode {
		r.WrongKind(n, what, "a mapping of names to values")
		return nil
	}
	var out []Property
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			r.Report("KW005", r.At(k), "write a plain name", "a name in %s must be text", what)
		case k.Value == "<<":
			r.Report("KW007", r.At(k), "write the properties out", "merge keys are not supported")
		case seen[k.Value]:
			r.Report("KW004", r.At(k), "remove one of them", "%q is there twice in %s", k.Value, what)
		default:
			seen[k.Value] = true
			out = append(out, Property{k.Value, k, n.Content[i+1]})
		}
	}
	return out
}

// Known reports the properties that are not in allowed and returns the rest by
// name.
func (r *Reader) Known(n *yaml.Node, what string, allowed []string) map[string]Property {
	out := map[string]Property{}
	for _, p := range r.Mapping(n, what) {
		if !slices.Contains(allowed, p.Name) {
			r.Unknown(p, what, allowed)
			continue
		}
		out[p.Name] = p
	}
	return out
}

// Unknown reports a property that is not in allowed.
func (r *Reader) Unknown(p Property, what string, allowed []string) {
	fix := cmp.Or(r.meant(p.Name, what, allowed), "one of: "+strings.Join(allowed, ", "))
	r.Report("KW003", r.At(p.Key), fix, "%s has no property %q", what, p.Name)
}

// Text reads a scalar that is text to every reader of YAML. A number or a word
// like true is refused: the editor's schema refuses it, too.
func (r *Reader) Text(n *yaml.Node, what string) (string, bool) {
	text, ok := r.ScalarText(n, what)
	return text, ok && r.IsText(n, what)
}

// ScalarText reads a scalar as it is written, numbers and booleans, too: a value that has
// a form of its own, whose reader explains better what is wrong with a number.
func (r *Reader) ScalarText(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.WrongKind(n, what, "text")
		return "", false
	}
	return n.Value, true
}

// others lists the scalars of YAML that are no text, as messages call them.
var others = map[string]string{"!!int": "a number", "!!float": "a number", "!!bool": "true or false"}

// IsText reports a scalar that YAML reads as a number or boolean.
func (r *Reader) IsText(n *yaml.Node, what string) bool {
	kind, other := others[n.Tag]
	if other {
		r.Report("KW005", r.At(n), fmt.Sprintf("quote it: %q", n.Value), "%s must be text, and YAML reads %s as %s", what,
			n.Value, kind)
	}
	return !other
}

// WrongKind explains the flow-style trap where it is one: {id} without quotes
// is a mapping to YAML.
func (r *Reader) WrongKind(n *yaml.Node, what, want string) {
	pos := r.At(n)
	if n.Kind == yaml.AliasNode {
		return // reported by refuse
	}
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && want == "text" {
		r.Report("KW009", pos, "put quotes around the whole value", "%s begins with {, which YAML reads as a mapping", what)
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
	r.Report("KW005", pos, fix, "%s must be %s, not %s", what, want, KindName(n))
}

// KindName says what a node is, for messages.
func KindName(n *yaml.Node) string {
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

// List reads a list of scalars; a single scalar counts as a list of one.
func (r *Reader) List(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		if !r.IsText(n, what) {
			return nil
		}
		return []*yaml.Node{n}
	}
	if n.Kind != yaml.SequenceNode {
		r.WrongKind(n, what, "a list")
		return nil
	}
	var out []*yaml.Node
	for _, item := range n.Content {
		if _, ok := r.Text(item, "an item of "+what); ok {
			out = append(out, item)
		}
	}
	return out
}

// Texts reads a list of texts.
func (r *Reader) Texts(n *yaml.Node, what string) []string {
	var out []string
	for _, item := range r.List(n, what) {
		out = append(out, item.Value)
	}
	return out
}

// Name checks the name of something declared: it becomes an identifier in
// generated code, an anchor in documents and a label in metrics.
func (r *Reader) Name(p Property, what string, camel bool) bool {
	style := "lower-case letters, digits and _"
	if camel {
		style = "letters, digits and _"
	}
	if p.Name == "" || len(p.Name) > maxName {
		r.Report("KW010", r.At(p.Key), "", "the name of %s has 1 to %d characters", what, maxName)
		return false
	}
	for i, c := range p.Name {
		lower := c == '_' || c >= 'a' && c <= 'z' || camel && c >= 'A' && c <= 'Z'
		if lower || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		shown := strconv.QuoteRune(c)
		if c >= utf8.RuneSelf {
			shown += fmt.Sprintf(" (%U)", c) // it may look like an ASCII letter
		}
		fix := ""
		if id := identifier(p.Name, camel); id != "" {
			fix = Proposal(id)
		}
		r.Report("KW010", r.At(p.Key), fix, "%q cannot name %s because of %s: %s, not beginning with a digit", p.Name, what,
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

// OneOf reads a list whose items are words of a fixed set.
func (r *Reader) OneOf(n *yaml.Node, what string, words []string) []string {
	var out []string
	for _, item := range r.List(n, what) {
		if !slices.Contains(words, item.Value) {
			fix := cmp.Or(r.Near(item.Value, words), "one of: "+strings.Join(words, ", "))
			r.Report("KW301", r.At(item), fix, "%q is nothing that %s knows", item.Value, what)
			continue
		}
		out = append(out, item.Value)
	}
	return out
}

// Choice reads one word of a fixed set, "" for anything else.
func (r *Reader) Choice(n *yaml.Node, what string, words []string) string {
	if n.Kind == yaml.SequenceNode {
		r.WrongKind(n, what, "one of "+strings.Join(words, ", "))
		return ""
	}
	return strings.Join(r.OneOf(n, what, words), "")
}

// Duration reads a property that is a duration, 0 if it is absent.
func (r *Reader) Duration(props map[string]Property, name string) time.Duration {
	p, ok := props[name]
	if !ok {
		return 0
	}
	text, ok := r.ScalarText(p.Value, name)
	if !ok {
		return 0
	}
	dur, err := keyspace.ParseDuration(text)
	if fault, ok := errors.AsType[*keyspace.TTLError](err); ok {
		r.Report("KW307", r.Within(p.Value, fault.Offset, fault.Length), fault.Fix, "%s: %s", name, fault.Message)
	}
	return dur
}

// Number reads a property that is a whole number of at least min, 0 if it is absent.
func (r *Reader) Number(props map[string]Property, name string, min int64) int64 {
	p, ok := props[name]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(p.Value.Value, 10, 64)
	if p.Value.Tag == "!!str" && err == nil {
		r.Report("KW005", r.At(p.Value), "write "+p.Value.Value+" without quotes", "%s must be a number, not text", name)
		return n
	}
	if err != nil || n < min || p.Value.Kind != yaml.ScalarNode {
		r.Report("KW307", r.At(p.Value), meantNumber(p.Value.Value), "%s must be a whole number of at least %d, not %s", name,
			min, KindName(p.Value))
	}
	return n
}

// Truth reads a property that is true or false.
func (r *Reader) Truth(props map[string]Property, name string) bool {
	p, ok := props[name]
	if ok && !Is(p.Value, true) && !Is(p.Value, false) {
		r.Report("KW005", r.At(p.Value), "write true or false", "%s must be true or false, not %s", name, KindName(p.Value))
	}
	return ok && Is(p.Value, true)
}

// Is says whether YAML reads a node as this boolean.
func Is(n *yaml.Node, truth bool) bool {
	return n.Tag == "!!bool" && strings.EqualFold(n.Value, strconv.FormatBool(truth))
}

// Doc reads a text for people.
func (r *Reader) Doc(props map[string]Property) string {
	p, ok := props["doc"]
	if !ok {
		return ""
	}
	text, _ := r.Text(p.Value, "doc")
	return text
}

// HasKey reports whether a mapping has one of these properties.
func HasKey(n *yaml.Node, names ...string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if slices.Contains(names, n.Content[i].Value) {
			return true
		}
	}
	return false
}

// About reads the properties that entries and channels share.
func (r *Reader) About(props map[string]Property, owner string) (doc, own string, readers []string) {
	own = owner
	if p, ok := props["doc"]; ok {
		doc, _ = r.Text(p.Value, "doc")
	}
	if p, ok := props["owner"]; ok {
		own, _ = r.Text(p.Value, "owner")
	}
	if p, ok := props["readers"]; ok {
		readers = r.Texts(p.Value, "readers")
	}
	return strings.TrimSpace(doc), own, readers
}

// Names reads a list of names and notes where each is.
func (r *Reader) Names(props map[string]Property, name, what string, at map[string]keyspace.Pos) []string {
	p, ok := props[name]
	if !ok {
		return nil
	}
	var out []string
	for _, n := range r.List(p.Value, name+" of "+what) {
		out = append(out, n.Value)
		at[name+"."+n.Value] = r.At(n)
	}
	return out
}

// Retired reads a list of names that are gone for good.
func (r *Reader) Retired(props map[string]Property, name string) (out []keyspace.Retired) {
	p, ok := props[name]
	if !ok {
		return nil
	}
	for _, n := range r.List(p.Value, name) {
		out = append(out, keyspace.Retired{Name: n.Value, Pos: r.At(n)})
	}
	return out
}
