package keyspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// sectionVars notes the vars of all files before it reads the types, since one
// may refer to another. The first declaration of a name counts; a later one
// must say the same.
func (l *loader) sectionVars() {
	var again []pendingVar
	var names []string
	for _, d := range l.docs {
		p, ok := d.props["vars"]
		if !ok {
			continue
		}
		for _, v := range d.mapping(p.value, "vars") {
			if !d.name(v, "a var", true) || !d.notAType(v) {
				continue
			}
			if _, taken := l.pending[v.name]; taken {
				again = append(again, pendingVar{v, d})
				continue
			}
			l.pending[v.name] = pendingVar{v, d}
			names = append(names, v.name)
		}
	}
	for _, name := range names {
		if p, ok := l.pending[name]; ok {
			delete(l.pending, name)
			l.declare(p.d, p.property)
		}
	}
	for _, p := range again {
		l.sameVar(p.d, p.property)
	}
}

func (l *loader) declare(d *document, v property) {
	t, ok := l.varType(d, v)
	l.vars[v.name] = &Var{Name: v.name, Type: t, Pos: d.at(v.key), Used: !ok}
}

// varType reads what a var is: a type, or a type with a default.
func (l *loader) varType(d *document, v property) (t scalar.Type, ok bool) {
	what := "the type of " + v.name
	if v.value.Kind != yaml.MappingNode || !hasKey(v.value, childProperties["vars"]...) {
		t, ok = l.typeOf(d, v.value, what)
		t.Var, t.Default = "", ""
		return t, ok
	}
	props := d.known(v.value, "the var "+v.name, childProperties["vars"])
	word, there := props["type"]
	if !there {
		d.report("KW006", d.at(v.value), "add type: …", "the var %s has no type", v.name)
		return t, false
	}
	t, ok = l.typeOf(d, word.value, what)
	if t.Var, t.Default = "", ""; !ok {
		return t, false
	}
	if p, there := props["default"]; there {
		t.Default = l.defaultOf(d, v.name, p.value, t)
	}
	return t, true
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

// withDefault are the kinds that may have a default: no key has an empty text, so that is one
// that was left out. A number, a time or a truth that was left out is 0 to Go.
var withDefault = []scalar.Kind{scalar.Text, scalar.UUID, scalar.ULID, scalar.Hex, scalar.Slug, scalar.Enum, scalar.Regexp}

// defaultOf reads what a placeholder is when it is left out.
func (l *loader) defaultOf(d *document, name string, n *yaml.Node, t scalar.Type) string {
	what := "the default of " + name
	text, ok := d.word(n, what)
	if !ok || !d.isText(n, what) {
		return ""
	}
	if !slices.Contains(withDefault, t.Kind) {
		d.report("KW103", d.at(n), "leave the default out", "%s: a var of the type %s has none, only one that is a text", what, t.Definition())
		return ""
	}
	p, err := pattern.Parse("{"+name+"}", func(string) (scalar.Type, bool) { return t, true })
	if err == nil {
		_, err = p.Build(text)
	}
	if text == "" {
		err = &pattern.ValueError{Reason: "is empty, and a key has no such part"}
	}
	if fault, ok := errors.AsType[*pattern.ValueError](err); ok {
		d.report("KW103", d.at(n), "give one that a key may have", "%s: %q %s", what, text, fault.Reason)
		return ""
	}
	return text
}

func (l *loader) sameVar(d *document, v property) {
	t, ok := l.varType(d, v)
	known := l.vars[v.name]
	if ok && t.Default != "" && t.Default != known.Type.Default {
		d.report("KW004", d.at(v.key), "write the same default in both files, or in one", "the default of %s is %q at %s:%d", v.name,
			known.Type.Default, known.Pos.File, known.Pos.Line)
	}
	if ok && known.Type.Definition() != t.Definition() {
		d.report("KW004", d.at(v.key), "give the two placeholders different names", "%s means %s at %s:%d; a placeholder means one thing in a declaration", v.name, known.Type.Definition(), known.Pos.File, known.Pos.Line)
	}
}

// notAType keeps a var from hiding a type: `text: uuid` would change the
// meaning of every `text` in the file.
func (d *document) notAType(v property) bool {
	if _, err := scalar.Parse(v.name, nil); err == nil {
		d.report("KW010", d.at(v.key), "choose another name", "%q is the name of a type", v.name)
		return false
	}
	return true
}

func (l *loader) sectionTTLs(d *document) {
	p, ok := d.props["ttls"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "ttls") {
		if !d.name(v, "a ttl", true) {
			continue
		}
		if v.name == "none" || v.name == "any" {
			d.report("KW010", d.at(v.key), "choose another name", "%q has a meaning of its own as a ttl", v.name)
			continue
		}
		t, ok := d.parseTTL(v.value)
		if !ok {
			t = TTL{Policy: TTLAny, Text: "any"}
		}
		t.Name = v.name
		if known, taken := l.ttls[v.name]; taken {
			if known.TTL.Text != t.Text {
				d.report("KW004", d.at(v.key), "rename one of them", "the ttl %s is %s at %s:%d", v.name, known.TTL.Text, known.Pos.File, known.Pos.Line)
			}
			continue
		}
		l.ttls[v.name] = &NamedTTL{Name: v.name, TTL: t, Pos: d.at(v.key), Used: !ok}
	}
}

func (d *document) parseTTL(n *yaml.Node) (TTL, bool) {
	text, ok := d.word(n, "ttl")
	if !ok {
		return TTL{}, false
	}
	t, err := ParseTTL(text)
	var fault *TTLError
	if errors.As(err, &fault) {
		d.report("KW201", d.within(n, fault.Offset, fault.Length), fault.Fix, "%s", fault.Message)
		return TTL{}, false
	}
	t.Pos = d.at(n)
	return t, true
}

// ttl resolves a `ttl` property: a name or a TTL written in place.
func (l *loader) ttl(d *document, n *yaml.Node) TTL {
	if named, ok := l.ttls[n.Value]; ok && n.Kind == yaml.ScalarNode && d.isText(n, "ttl") {
		named.Used = true
		t := named.TTL
		t.Pos = d.at(n)
		return t
	}
	if first, rest, _ := strings.Cut(n.Value, " "); n.Kind == yaml.ScalarNode && isName(first) && n.Tag == "!!str" && n.Value != "none" && n.Value != "any" {
		l.unknownTTL(d, n, first, rest)
		return TTL{Policy: TTLAny, Text: "any", Pos: d.at(n)}
	}
	t, ok := d.parseTTL(n)
	if !ok {
		return TTL{Policy: TTLAny, Text: "any", Pos: d.at(n)}
	}
	return t
}

// isName: a duration begins with a digit, a name does not.
func isName(text string) bool {
	return text != "" && strings.IndexByte("0123456789-+~.", text[0]) < 0
}

func (l *loader) unknownTTL(d *document, n *yaml.Node, name, rest string) {
	if _, named := l.ttls[name]; named || name == "none" || name == "any" {
		d.report("KW201", d.within(n, len(name)+1, len(rest)), "declare another one under ttls that says so", "nothing may follow %s", name)
		return
	}
	fix := cmp.Or(nearKey(&d.reader, n.Value, l.ttls, "none", "any"), "declare it under ttls, or write a duration like 30s, none or any")
	d.report("KW201", d.at(n), fix, "%q is neither a duration nor a name from ttls", n.Value)
}

// pattern parses a key pattern or channel. local answers placeholders before
// the vars do: the fields of an entity in the patterns of its indexes.
func (l *loader) pattern(d *document, n *yaml.Node, what string, local func(string) (scalar.Type, bool)) *pattern.Pattern {
	text, ok := d.text(n, what)
	if !ok {
		return nil
	}
	if l.room <= 0 {
		return nil // which is said of what needs them
	}
	p, err := pattern.Parse(text, func(name string) (scalar.Type, bool) {
		if local != nil {
			if t, ok := local(name); ok {
				return t, true
			}
		}
		t, ok := l.useVar(name)
		return t, ok
	})
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

func (d *document) glob(n *yaml.Node, section string) (Glob, bool) {
	text, ok := d.text(n, "a glob")
	if !ok {
		return Glob{}, false
	}
	if text, ok = d.globIn(n, text, section); !ok {
		return Glob{}, false
	}
	p, err := pattern.Glob(text)
	if err != nil {
		d.report("KW104", d.at(n), "", "the glob cannot be used: %v", err)
		return Glob{}, false
	}
	if strings.Contains(escaped.Replace(n.Value), "{") {
		d.report("KW104", d.at(n), "write * where the placeholder is, as in poppo:temp:*; a literal brace is written \\{", "%q is a glob and has no placeholders: { is a literal brace here", n.Value)
	}
	return Glob{Text: text, Pattern: p, Pos: d.at(n)}, true
}

// about reads the properties that entries and channels share.
func (d *document) about(props map[string]property, owner string) (doc, own string, readers []string) {
	own = owner
	if p, ok := props["doc"]; ok {
		doc, _ = d.text(p.value, "doc")
	}
	if p, ok := props["owner"]; ok {
		own, _ = d.text(p.value, "owner")
	}
	if p, ok := props["readers"]; ok {
		readers = d.texts(p.value, "readers")
	}
	return strings.TrimSpace(doc), own, readers
}

// fields reads a mapping of names to types.
func (l *loader) fields(d *document, props map[string]property, name, what string) []Field {
	p, ok := props[name]
	if !ok {
		return nil
	}
	var out []Field
	for _, f := range d.mapping(p.value, name+" of "+what) {
		if t, ok := l.typeOf(d, f.value, "the type of "+f.name); ok {
			out = append(out, Field{Name: f.name, Type: t, Pos: d.at(f.key)})
		}
	}
	return out
}

func (l *loader) sectionEvents(d *document) {
	p, ok := d.props["events"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "events") {
		if d.name(v, "an event", false) {
			l.take(d, "event", v)
		}
		what := "the event " + v.name
		e := &Event{Name: v.name, Pos: d.at(v.key), At: map[string]Pos{}}
		props := d.known(v.value, what, childProperties["events"])
		for name, prop := range props {
			e.At[name] = d.at(prop.value)
		}
		if prop, ok := props["doc"]; ok {
			e.Doc, _ = d.text(prop.value, "doc")
		}
		if prop, ok := props["with"]; ok {
			e.With = d.texts(prop.value, "with")
		}
		e.Deletes = l.names(d, props, "deletes", what, e.At)
		e.Emits = l.names(d, props, "emits", what, e.At)
		l.ks.Events = append(l.ks.Events, e)
	}
}

// names reads a list of names and notes where each stands.
func (l *loader) names(d *document, props map[string]property, name, what string, at map[string]Pos) []string {
	p, ok := props[name]
	if !ok {
		return nil
	}
	var out []string
	for _, n := range d.list(p.value, name+" of "+what) {
		out = append(out, n.Value)
		at[name+"."+n.Value] = d.at(n)
	}
	return out
}

// maxKeep bounds `keep` of a clean-up rule.
const maxKeep = 10_000

// keep reads how many of the newest keys stay.
func (d *document) keep(props map[string]property) int {
	n := d.number(props, "keep", 1)
	if n > maxKeep {
		d.report("KW307", d.at(props["keep"].value), "", "keep is at most %d, not %d", maxKeep, n)
		return maxKeep
	}
	return int(n)
}

func (l *loader) sectionCleanup(d *document) {
	p, ok := d.props["cleanup"]
	if !ok {
		return
	}
	if p.value.Kind != yaml.SequenceNode {
		d.wrongKind(p.value, "cleanup", "a list of rules like {match: \"temp:*\", idle: 1d}")
		return
	}
	for _, n := range p.value.Content {
		props := d.known(n, "a cleanup rule", childProperties["cleanup"])
		c := Cleanup{Pos: d.at(n)}
		match, ok := props["match"]
		if n.Kind != yaml.MappingNode {
			continue
		}
		if !ok {
			d.report("KW006", d.at(n), `add match: "temp:*"`, "a cleanup rule has no match")
			continue
		}
		if c.Match, ok = d.glob(match.value, "cleanup"); !ok {
			continue
		}
		c.Idle, c.Older = d.duration(props, "idle"), d.duration(props, "older")
		c.Keep = d.keep(props)
		said := 0
		for _, name := range []string{"idle", "older", "keep"} {
			if _, ok := props[name]; ok {
				said++
			}
		}
		if said != 1 {
			d.report("KW006", d.at(n), "add idle: 1d (not used for a day), older: 1d or keep: 7", "a cleanup rule says one of idle, older and keep")
		}
		l.ks.Cleanup = append(l.ks.Cleanup, c)
	}
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
	l.ks.Shapes = append(l.ks.Shapes, &Shape{Text: text, Parts: parts, Pos: d.at(p.value)})
}

func (l *loader) shapeParts(text string) ([]ShapePart, error) {
	var parts []ShapePart
	optional := false
	for rest := text; rest != ""; {
		part := ShapePart{}
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

// targets are what `gen` can name.
var targets = []string{"go", "ts", "py", "docs", "acl", "conformance", "prometheus", "grafana"}

// Targets are the words `gen` may have.
func Targets() []string { return slices.Clone(targets) }

// outputs reads `gen`, of the first file only: an imported file is part of
// somebody else's output.
func (l *loader) outputs(d *document) {
	p, ok := d.props["gen"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "gen") {
		folder, _ := d.text(v.value, "the folder of "+v.name)
		switch {
		case !slices.Contains(targets, v.name):
			d.report("KW003", d.at(v.key), cmp.Or(d.near(v.name, targets), "one of: "+strings.Join(targets, ", ")), "gen: %q is nothing that can be generated", v.name)
		case folder == "" || path.IsAbs(folder) || strings.ContainsAny(folder, "\\:"):
			d.report("KW308", d.at(v.value), "as in go: internal/keys", "gen: %q is not a folder relative to this file", folder)
		case !fs.ValidPath(path.Clean(folder)):
			d.report("KW308", d.at(v.value), "as in go: internal/keys; to write elsewhere, run keywright gen "+v.name+" --out FOLDER", "gen: %q is outside of the folder of this file", folder)
		default:
			l.ks.Outputs = append(l.ks.Outputs, Output{v.name, path.Clean(folder), d.at(v.value)})
		}
	}
}
