package keyspace

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// kind is what a `type` means: the construct, the Redis type of its main key,
// the properties it has beside the common ones, and how it expands.
type kind struct {
	construct Construct
	main      Kind
	props     []string
	expand    func(*builder)
}

// common are the properties of every entry with a key.
var common = []string{"doc", "key", "type", "ttl", "owner", "readers", "was", "skip"}

// kinds is the table of types. A new construct is a row here and a function in
// construct.go.
var kinds = map[string]kind{
	"string":    {Plain, String, []string{"value", "gate"}, (*builder).plainString},
	"hash":      {Plain, Hash, []string{"fields", "field", "value", "gate"}, (*builder).plainHash},
	"list":      {Plain, List, []string{"member", "gate"}, (*builder).plainCollection},
	"set":       {Plain, Set, []string{"member", "gate"}, (*builder).plainCollection},
	"zset":      {Plain, ZSet, []string{"member", "score", "gate"}, (*builder).plainCollection},
	"stream":    {Plain, Stream, []string{"fields", "maxlen", "groups", "gate"}, (*builder).plainStream},
	"cache":     {Cache, String, []string{"value", "fresh", "absent", "fill"}, (*builder).cache},
	"lock":      {Lock, String, []string{"notify", "fence", "waiters", "shared"}, (*builder).lock},
	"queue":     {Queue, List, []string{"order", "value", "job", "result", "leases", "delayed", "dead", "state", "workers", "runs", "unique", "notify", "lease", "retry"}, (*builder).queue},
	"ranking":   {Ranking, ZSet, []string{"member", "score", "ties", "cached", "window"}, (*builder).ranking},
	"entity":    {Entity, Hash, []string{"fields", "index", "emits", "stamps", "ttl_by", "expiry", "ledger", "pending", "sweep"}, (*builder).entity},
	"counter":   {Counter, String, nil, (*builder).counter},
	"ratelimit": {RateLimit, String, []string{"rate", "algorithm"}, (*builder).rateLimit},
	"script":    {Script, "", []string{"file", "keys", "args", "returns", "effect"}, nil},
}

// Types are the words `type` may be, sorted.
func Types() []string { return sortedKeys(kinds) }

// Properties are the properties an entry of a type may have.
func Properties(typ string) []string {
	k, ok := kinds[typ]
	if !ok {
		return nil
	}
	if k.construct == Script {
		return append([]string{"doc", "type", "owner", "readers"}, k.props...)
	}
	return append(slices.Clone(common), k.props...)
}

// TopLevel are the sections a file may have.
func TopLevel() []string { return slices.Clone(topLevel) }

// childProperties are the properties of the mappings that are no entries.
var childProperties = map[string][]string{
	"channels":   {"channel", "doc", "message", "envelope", "sharded", "durable", "reply", "reply_channel", "owner", "readers"},
	"durable":    {"maxlen", "age", "groups", "retry", "dead"},
	"events":     {"doc", "with", "deletes", "emits"},
	"cleanup":    {"match", "idle", "older", "keep"},
	"pressure":   {"at", "entry", "where", "shorten", "release"},
	"janitor":    {"doc", "do", "every", "cron", "zone", "entry", "keep"},
	"namespace":  {"default", "names"},
	"migrations": {"doc", "sources", "parts", "gates", "compare"},
	"source":     {"doc", "file", "format"},
	"part":       {"doc", "moves", "gates"},
	"move":       {"from", "to", "with", "field", "member", "score", "value", "fields", "tries", "ttl", "kept", "except"},
	"move ttl":   {"from", "until", "over"},
	"gates":      {"compared", "unequal", "for", "marks", "backup"},
	"compare":    {"entry", "field", "as", "owner", "until", "doc"},
	"vars":       {"type", "default"},
	"emits":      {"create", "update", "delete", "expire"},
	"stamps":     {"created", "updated", "version"},
}

// ChildProperties are the properties of one channel, event, clean-up or pressure
// rule, of a job of the janitor, of `durable`, of `emits`, of `namespace`, of a var, and of what a migration is made of:
// "migrations", "source", "part", "move", "move ttl", "gates" and "compare".
func ChildProperties(of string) []string { return slices.Clone(childProperties[of]) }

// builder reads one entry.
type builder struct {
	*loader
	d     *document
	e     *Entry
	kind  kind
	node  *yaml.Node // the entry as it is written
	props map[string]property
	main  *pattern.Pattern
}

func (l *loader) sectionKeys(d *document) {
	p, ok := d.props["keys"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "keys") {
		if len(l.ks.Entries) >= MaxEntries {
			d.report("KW008", d.at(v.key), "", "a declaration has at most %d entries", MaxEntries)
			return
		}
		if d.name(v, "an entry", false) {
			l.take(d, "entry", v)
		}
		l.entry(d, v) // also one of a bad name: what is wrong in it is to be seen
	}
}

func (l *loader) entry(d *document, v property) {
	what := "the entry " + v.name
	typ, k, ok := l.entryType(d, v, what)
	if !ok {
		l.untyped(d, v, what)
		return
	}
	b := &builder{loader: l, d: d, kind: k, node: v.value}
	b.e = &Entry{Name: v.name, Namespace: d.space, Type: typ, Construct: k.construct, Pos: d.at(v.key), At: map[string]Pos{}, Emits: map[string]string{}}
	b.props = b.ownProperties(v, what)
	for name, p := range b.props {
		b.e.At[name] = d.at(p.value)
	}
	b.e.Doc, b.e.Owner, b.e.Readers = d.about(b.props, d.owner)
	if k.construct == Script {
		b.script(what)
		l.ks.Entries = append(l.ks.Entries, b.e)
		return
	}
	if !b.keyAndTTL(what) {
		return
	}
	k.expand(b)
	b.gate()
	l.ks.Entries = append(l.ks.Entries, b.e)
	l.ks.Keys = append(l.ks.Keys, b.e.Keys...)
}

func (l *loader) entryType(d *document, v property, what string) (string, kind, bool) {
	if v.value.Kind != yaml.MappingNode {
		d.wrongKind(v.value, what, "a mapping with key, type and ttl")
		return "", kind{}, false
	}
	for i := 0; i+1 < len(v.value.Content); i += 2 {
		n := v.value.Content[i+1]
		if v.value.Content[i].Value != "type" {
			continue
		}
		typ, ok := d.word(n, "type")
		k, known := kinds[typ]
		if ok && !known {
			fix := cmp.Or(proposal(otherTypes[strings.ToLower(typ)]), d.near(typ, Types()), "one of: "+strings.Join(Types(), ", "))
			d.report("KW103", d.at(n), fix, "%s: %q is not a type", what, typ)
		}
		return typ, k, known
	}
	if everywhere := Properties("string"); misspelt(v.value, "type", everywhere) {
		for _, p := range d.mapping(v.value, what) {
			if !slices.Contains(everywhere, p.name) && misspelt(&yaml.Node{Content: []*yaml.Node{p.key, p.value}}, "type", everywhere) {
				d.report("KW003", d.at(p.key), proposal("type"), "%s has no property %q", what, p.name)
			}
		}
		return "", kind{}, false
	}
	d.report("KW006", d.at(v.key), "add type: one of "+strings.Join(Types(), ", "), "%s has no type", what)
	return "", kind{}, false
}

// untyped looks at what can be judged in an entry without a valid type.
func (l *loader) untyped(d *document, v property, what string) {
	if v.value.Kind != yaml.MappingNode {
		return
	}
	for _, p := range d.mapping(v.value, what) {
		switch p.name {
		case "key":
			l.pattern(d, p.value, "the key of "+v.name, nil)
		case "ttl":
			l.ttl(d, p.value)
		}
	}
}

// ownProperties reports properties that belong to other types apart from those
// that exist nowhere.
func (b *builder) ownProperties(v property, what string) map[string]property {
	allowed := Properties(b.e.Type)
	out := map[string]property{}
	for _, p := range b.d.mapping(v.value, what) {
		switch {
		case slices.Contains(allowed, p.name):
			out[p.name] = p
		case len(typesWith(p.name)) > 0:
			b.d.report("KW302", b.d.at(p.key), b.d.insteadOf(p.name, allowed), "a %s has no %s; it belongs to %s", b.e.Type, p.name, strings.Join(typesWith(p.name), ", "))
		default:
			b.d.unknown(p, what, allowed)
		}
	}
	return out
}

func typesWith(name string) []string {
	var out []string
	for _, t := range Types() {
		if slices.Contains(Properties(t), name) {
			out = append(out, t)
		}
	}
	return out
}

// insteadOf proposes the property that says for this type what name says for
// another.
func (d *document) insteadOf(name string, allowed []string) string {
	for _, same := range [][]string{{"value", "member"}, {"fields", "value"}} {
		for i, s := range same {
			if s == name && slices.Contains(allowed, same[1-i]) {
				return proposal(same[1-i])
			}
		}
	}
	return "remove it, or change the type"
}

func (b *builder) keyAndTTL(what string) bool {
	p, ok := b.props["key"]
	if node := b.node; !ok && !misspelt(node, "key", Properties(b.e.Type)) {
		b.d.report("KW006", b.e.Pos, "add key: …", "%s has no key", what)
	} else if ok {
		b.main = b.pattern(b.d, p.value, "the key of "+b.e.Name, nil)
	}
	if p, ok := b.props["ttl"]; ok {
		b.e.TTL = b.ttl(b.d, p.value)
	} else {
		if !misspelt(b.node, "ttl", Properties(b.e.Type)) {
			b.d.report("KW202", b.e.Pos, "add ttl: a duration like 30s, none (must never expire) or any (undecided)", "%s has no ttl", what)
		}
		b.e.TTL = TTL{Policy: TTLAny, Text: "any"}
	}
	if p, ok := b.props["was"]; ok {
		for _, n := range b.d.list(p.value, "was") {
			if old := b.former(b.d, n, "the old key of "+b.e.Name); old != nil {
				b.e.Was = append(b.e.Was, old)
			}
		}
	}
	if p, ok := b.props["skip"]; ok {
		b.e.Skip = b.d.oneOf(p.value, "skip", []string{"shape", "owns"})
	}
	return b.main != nil
}

// oneOf reads a list whose items are words of a fixed set.
func (d *document) oneOf(n *yaml.Node, what string, words []string) []string {
	var out []string
	for _, item := range d.list(n, what) {
		if !slices.Contains(words, item.Value) {
			fix := cmp.Or(d.near(item.Value, words), "one of: "+strings.Join(words, ", "))
			d.report("KW301", d.at(item), fix, "%q is nothing that %s knows", item.Value, what)
			continue
		}
		out = append(out, item.Value)
	}
	return out
}

// choice reads one word of a fixed set, "" for anything else.
func (d *document) choice(n *yaml.Node, what string, words []string) string {
	if n.Kind == yaml.SequenceNode {
		d.wrongKind(n, what, "one of "+strings.Join(words, ", "))
		return ""
	}
	return strings.Join(d.oneOf(n, what, words), "")
}

func (d *document) duration(props map[string]property, name string) time.Duration {
	p, ok := props[name]
	if !ok {
		return 0
	}
	text, ok := d.word(p.value, name)
	if !ok {
		return 0
	}
	dur, fault := duration(word{text, 0})
	if fault != nil {
		d.report("KW307", d.within(p.value, fault.Offset, fault.Length), fault.Fix, "%s: %s", name, fault.Message)
	}
	return dur
}

func (d *document) number(props map[string]property, name string, min int64) int64 {
	p, ok := props[name]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(p.value.Value, 10, 64)
	if p.value.Tag == "!!str" && err == nil {
		d.report("KW005", d.at(p.value), "write "+p.value.Value+" without quotes", "%s must be a number, not text", name)
		return n
	}
	if err != nil || n < min || p.value.Kind != yaml.ScalarNode {
		d.report("KW307", d.at(p.value), meantNumber(p.value.Value), "%s must be a whole number of at least %d, not %s", name, min, kindName(p.value))
	}
	return n
}

// optionalType reads a property that is a scalar type, nil if it is absent.
func (b *builder) optionalType(name string) *scalar.Type {
	p, ok := b.props[name]
	if !ok {
		return nil
	}
	t, ok := b.typeOf(b.d, p.value, "the "+name+" of "+b.e.Name)
	if !ok {
		return nil
	}
	return &t
}

func (b *builder) script(what string) {
	s := &ScriptSpec{Keys: b.names(b.d, b.props, "keys", what, b.e.At)}
	b.e.Script = s
	if p, ok := b.props["file"]; !ok {
		b.d.report("KW006", b.e.Pos, "add file: scripts/"+b.e.Name+".lua", "%s has no file", what)
	} else if text, ok := b.d.text(p.value, "file"); ok {
		s.File = path.Join(b.d.dir, text)
		s.Text = b.scriptText(p.value, s.File)
	}
	s.Args = b.fields(b.d, b.props, "args", what)
	if p, ok := b.props["returns"]; ok {
		if t, ok := b.typeOf(b.d, p.value, "what "+b.e.Name+" returns"); ok {
			s.Returns = &t
		}
	}
	s.Effect = Writes
	if p, ok := b.props["effect"]; ok {
		text, _ := b.d.word(p.value, "effect")
		if s.Effect = Effect(text); !slices.Contains([]Effect{Reads, Idempotent, Writes}, s.Effect) {
			b.d.report("KW103", b.d.at(p.value), cmp.Or(b.d.near(text, []string{"reads", "idempotent", "writes"}), "write reads, idempotent or writes"), "%s: %q is not what a script can do", what, text)
		}
	}
}

// scriptText reads a script: what is declared about it is checked against what
// it does.
func (b *builder) scriptText(n *yaml.Node, file string) string {
	if !fs.ValidPath(file) {
		b.mustExist(b.d, n, file, "the script "+file, "create it")
		return ""
	}
	text, problem := readFile(b.fsys, file)
	if problem != "" {
		b.d.report("KW308", b.d.at(n), "create it", "the script %s %s", file, problem)
	}
	return string(text)
}

// add appends a key to the entry being built.
func (b *builder) add(k *Key) *Key {
	k.Entry, k.Name = b.e, b.e.Name
	if k.Role != "" {
		k.Name += "." + k.Role
	}
	if k.Pos.File == "" {
		k.Pos = b.e.Pos
	}
	b.e.Keys = append(b.e.Keys, k)
	return k
}

// addMain appends the main key.
func (b *builder) addMain(k *Key) *Key {
	k.Pattern, k.Kind, k.TTL, k.Doc = b.main, b.kind.main, b.e.TTL, b.e.Doc
	k.Pos = b.e.At["key"]
	return b.add(k)
}

// addRole appends a helper key: under the pattern the author gave to the
// property, else derived from base.
func (b *builder) addRole(k *Key, base *pattern.Pattern, derive string) *Key {
	if p, ok := b.props[k.Role]; ok {
		if k.Pattern = b.pattern(b.d, p.value, fmt.Sprintf("the %s of %s", k.Role, b.e.Name), nil); k.Pattern == nil {
			return k
		}
		k.Pos = b.d.at(p.value)
		return b.add(k)
	}
	derived, err := base.DeriveIn(b.d.space.name(), derive)
	if err != nil {
		fix := fmt.Sprintf("name it: %s: …", k.Role)
		if k.Role == "seen" { // the library has no other name for it
			fix = "write the key so that one more word may follow it"
		}
		b.d.report("KW105", b.e.Pos, fix, "the %s key of %s cannot be derived: %v", k.Role, b.e.Name, err)
		return k
	}
	k.Pattern, k.Derived, k.Base, k.Suffix = derived, true, base.String(), derive
	return b.add(k)
}
