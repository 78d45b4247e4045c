// Package construct reads the sections `keys` and `channels`: it makes the keys and channels of each entry. A
// construct is a file here, which says which keys a `type` means, and a row in the table of types.
//
// It does not decide which vars, TTLs and patterns there are; package scope does. It reads no section that
// refers to entries.
package construct

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// kind describes what a `type` means: the Redis type of its main key ("" for what has none), the properties it
// has beside the common ones, and how it expands.
type kind struct {
	main   keyspace.Kind
	props  []string
	expand func(*builder)
}

// common lists the properties of every entry with a key.
var common = []string{"doc", "key", "type", "ttl", "owner", "readers", "was", "skip"}

// plain is the table of Redis types.
var plain = map[keyspace.Kind]kind{
	keyspace.String: {keyspace.String, []string{"value", "gate", "retired"}, (*builder).plainString},
	keyspace.Hash:   {keyspace.Hash, []string{"fields", "field", "value", "gate", "retired"}, (*builder).plainHash},
	keyspace.List:   {keyspace.List, []string{"member", "gate"}, (*builder).plainCollection},
	keyspace.Set:    {keyspace.Set, []string{"member", "gate"}, (*builder).plainCollection},
	keyspace.ZSet:   {keyspace.ZSet, []string{"member", "score", "gate"}, (*builder).plainCollection},
	keyspace.Stream: {keyspace.Stream, []string{"fields", "maxlen", "groups", "gate", "retired"}, (*builder).plainStream},
}

// constructs is the table of the other types. Each has its function in a file of its name.
var constructs = map[keyspace.Construct]kind{
	keyspace.Plain: {}, // see plain
	keyspace.Cache: {keyspace.String, []string{"value", "fresh", "absent", "fill", "retired"}, (*builder).cache},
	keyspace.Lock:  {keyspace.String, []string{"notify", "fence", "waiters", "shared"}, (*builder).lock},
	keyspace.Queue: {keyspace.List, []string{"order", "value", "job", "result", "leases", "delayed", "dead", "state",
		"workers", "runs", "unique", "notify", "lease", "retry", "timeout", "retired"}, (*builder).queue},
	keyspace.Ranking: {keyspace.ZSet, []string{"member", "score", "ties", "cached", "window"}, (*builder).ranking},
	keyspace.Entity: {keyspace.Hash, []string{"fields", "index", "emits", "stamps", "ttl_by", "expiry", "ledger",
		"pending", "sweep", "retired"}, (*builder).entity},
	keyspace.Counter:   {keyspace.String, nil, (*builder).counter},
	keyspace.RateLimit: {keyspace.String, []string{"rate", "algorithm"}, (*builder).rateLimit},
	keyspace.Script:    {"", []string{"file", "keys", "args", "returns", "effect"}, (*builder).script},
	keyspace.Topic:     {keyspace.Stream, nil, nil}, // see channel.go: it is no entry of keys
}

// kindOf returns what a type means.
func kindOf(typ string) (k kind, c keyspace.Construct, ok bool) {
	if k, ok = plain[keyspace.Kind(typ)]; ok {
		return k, keyspace.Plain, true
	}
	c = keyspace.Construct(typ)
	k = constructs[c]
	return k, c, k.expand != nil
}

// Types returns the words `type` may be, sorted.
func Types() (words []string) {
	for k := range plain {
		words = append(words, string(k))
	}
	for c, k := range constructs {
		if k.expand != nil {
			words = append(words, string(c))
		}
	}
	slices.Sort(words)
	return words
}

// Properties returns the properties an entry of a type may have.
func Properties(typ string) []string {
	switch k, _, ok := kindOf(typ); {
	case !ok:
		return nil
	case k.main == "":
		return append([]string{"doc", "type", "owner", "readers"}, k.props...)
	default:
		return append(slices.Clone(common), k.props...)
	}
}

// builder reads one entry.
type builder struct {
	*scope.Scope
	d     *scope.Document
	e     *keyspace.Entry
	kind  kind
	node  *yaml.Node // the entry as it is written
	props map[string]node.Property
	main  *pattern.Pattern

	fieldAt map[string]int // where each field of an entity is; made when asked for
}

// ReadKeys reads the entries of one file.
func ReadKeys(s *scope.Scope, d *scope.Document) {
	p, ok := d.Props["keys"]
	if !ok {
		return
	}
	for _, v := range d.Mapping(p.Value, "keys") {
		if len(s.KS.Entries) >= scope.MaxEntries {
			s.TooMuch(d.At(v.Key), "entries", scope.MaxEntries)
		}
		if s.Over {
			return
		}
		if d.Name(v, "an entry", false) {
			s.Take(d, "entry", v)
		}
		readEntry(s, d, v) // also one of a bad name: what is wrong in it is to be seen
	}
}

func readEntry(s *scope.Scope, d *scope.Document, v node.Property) {
	what := "the entry " + v.Name
	typ, ok := entryType(s, d, v, what)
	if !ok {
		untyped(s, d, v, what)
		return
	}
	k, construct, _ := kindOf(typ)
	b := &builder{Scope: s, d: d, kind: k, node: v.Value}
	b.e = &keyspace.Entry{Name: v.Name, Namespace: d.Space, Type: typ, Construct: construct, Pos: d.At(v.Key),
		At: map[string]keyspace.Pos{}, EntitySpec: keyspace.EntitySpec{Emits: map[string]string{}}}
	b.props = b.ownProperties(v, what)
	for name, p := range b.props {
		b.e.At[name] = d.At(p.Value)
	}
	b.e.Doc, b.e.Owner, b.e.Readers = d.About(b.props, d.Owner)
	if k.main != "" && !b.keyAndTTL(what) {
		return
	}
	k.expand(b)
	b.gate()
	b.e.Retired = d.Retired(b.props, "retired")
	b.AffordsPatterns(b.e.At["was"], len(b.e.Was)*(len(b.e.Keys)-1))
	for _, old := range b.e.Was {
		b.SpellsIn(b.e.At["was"], len(b.e.Keys)-1, old)
	}
	s.KS.Entries = append(s.KS.Entries, b.e)
	s.KS.Keys = append(s.KS.Keys, b.e.Keys...)
}

func entryType(s *scope.Scope, d *scope.Document, v node.Property, what string) (string, bool) {
	if v.Value.Kind != yaml.MappingNode {
		d.WrongKind(v.Value, what, "a mapping with key, type and ttl")
		return "", false
	}
	for i := 0; i+1 < len(v.Value.Content); i += 2 {
		n := v.Value.Content[i+1]
		if v.Value.Content[i].Value != "type" {
			continue
		}
		typ, ok := d.ScalarText(n, "type")
		_, _, known := kindOf(typ)
		if ok && !known {
			fix := cmp.Or(node.Proposal(otherTypes[strings.ToLower(typ)]), d.Near(typ, Types()),
				"one of: "+strings.Join(Types(), ", "))
			d.Report("KW103", d.At(n), fix, "%s: %q is not a type", what, typ)
		}
		return typ, known
	}
	if everywhere := Properties("string"); node.Misspelt(v.Value, "type", everywhere) {
		for _, p := range d.Mapping(v.Value, what) {
			if !slices.Contains(everywhere, p.Name) &&
				node.Misspelt(&yaml.Node{Content: []*yaml.Node{p.Key, p.Value}}, "type", everywhere) {
				d.Report("KW003", d.At(p.Key), node.Proposal("type"), "%s has no property %q", what, p.Name)
			}
		}
		return "", false
	}
	d.Report("KW006", d.At(v.Key), "add type: one of "+strings.Join(Types(), ", "), "%s has no type", what)
	return "", false
}

// untyped looks at what can be judged in an entry without a valid type.
func untyped(s *scope.Scope, d *scope.Document, v node.Property, what string) {
	if v.Value.Kind != yaml.MappingNode {
		return
	}
	for _, p := range d.Mapping(v.Value, what) {
		switch p.Name {
		case "key":
			s.Pattern(d, p.Value, "the key of "+v.Name, nil)
		case "ttl":
			s.TTL(d, p.Value)
		}
	}
}

// ownProperties reports properties that belong to other types apart from those
// that do not exist anywhere.
func (b *builder) ownProperties(v node.Property, what string) map[string]node.Property {
	allowed := Properties(b.e.Type)
	out := map[string]node.Property{}
	for _, p := range b.d.Mapping(v.Value, what) {
		switch {
		case slices.Contains(allowed, p.Name):
			out[p.Name] = p
		case len(typesWith(p.Name)) > 0:
			b.d.Report("KW302", b.d.At(p.Key), insteadOf(p.Name, allowed), "a %s has no %s; it belongs to %s", b.e.Type,
				p.Name, strings.Join(typesWith(p.Name), ", "))
		default:
			b.d.Unknown(p, what, allowed)
		}
	}
	return out
}

func (b *builder) keyAndTTL(what string) bool {
	p, ok := b.props["key"]
	if !ok && !node.Misspelt(b.node, "key", Properties(b.e.Type)) {
		b.d.Report("KW006", b.e.Pos, "add key: …", "%s has no key", what)
	} else if ok {
		b.main = b.Pattern(b.d, p.Value, "the key of "+b.e.Name, nil)
	}
	if p, ok := b.props["ttl"]; ok {
		b.e.TTL = b.TTL(b.d, p.Value)
	} else {
		if !node.Misspelt(b.node, "ttl", Properties(b.e.Type)) {
			b.d.Report("KW202", b.e.Pos, "add ttl: a duration like 30s, none (must never expire) or any (undecided)",
				"%s has no ttl", what)
		}
		b.e.TTL = scope.Undecided
	}
	if p, ok := b.props["was"]; ok {
		for _, n := range b.d.List(p.Value, "was") {
			if old := b.Former(b.d, n, "the old key of "+b.e.Name); old != nil {
				b.e.Was = append(b.e.Was, old)
			}
		}
	}
	if p, ok := b.props["skip"]; ok {
		b.e.Skip = b.d.OneOf(p.Value, "skip", []string{"shape", "owns"})
	}
	return b.main != nil
}

// optionalType reads a property that is a scalar type, nil if it is absent.
func (b *builder) optionalType(name string) *scalar.Type {
	p, ok := b.props[name]
	if !ok {
		return nil
	}
	t, ok := b.TypeOf(b.d, p.Value, "the "+name+" of "+b.e.Name)
	if !ok {
		return nil
	}
	return &t
}

// add appends a key to the entry being built.
func (b *builder) add(k *keyspace.Key) *keyspace.Key {
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
func (b *builder) addMain(k *keyspace.Key) *keyspace.Key {
	k.Pattern, k.Kind, k.TTL, k.Doc = b.main, b.kind.main, b.e.TTL, b.e.Doc
	k.Pos = b.e.At["key"]
	return b.add(k)
}

// addRole appends a helper key: under the pattern the author gave to the
// property, else derived from base.
func (b *builder) addRole(k *keyspace.Key, base *pattern.Pattern, derive string) *keyspace.Key {
	if p, ok := b.props[k.Role]; ok {
		if k.Pattern = b.Pattern(b.d, p.Value, fmt.Sprintf("the %s of %s", k.Role, b.e.Name), nil); k.Pattern == nil {
			return k
		}
		k.Pos = b.d.At(p.Value)
		return b.add(k)
	}
	if !b.AffordsPatterns(b.e.Pos, 1) {
		return k
	}
	derived, err := base.DeriveIn(b.d.Space.InEffect(), derive)
	if err != nil {
		fix := fmt.Sprintf("name it: %s: …", k.Role)
		if k.Role == "seen" { // the library has no other name for it
			fix = "write the key so that one more word may follow it"
		}
		b.d.Report("KW105", b.e.Pos, fix, "the %s key of %s cannot be derived: %v", k.Role, b.e.Name, err)
		return k
	}
	b.SpellsIn(b.e.Pos, 1, derived)
	k.Pattern, k.Derived, k.Base, k.Suffix = derived, true, base.String(), derive
	return b.add(k)
}

// helperTTL bounds the keys that a construct keeps beside the main one and that
// may expire without harm: a fencing token is never below the server's clock,
// so a fence that starts again still grows.
const helperTTL = 24 * time.Hour

// notify is the channel of a construct.
func (b *builder) notify(base *pattern.Pattern, role, doc string) {
	c := &keyspace.Channel{Name: b.e.Name + "_" + role, Namespace: b.d.Space, Owner: b.e.Owner, Readers: b.e.Readers,
		Doc: doc,
		Pos: b.e.Pos}
	if p, ok := b.props["notify"]; ok {
		c.Pattern, c.Pos = b.Pattern(b.d, p.Value, "the notify channel of "+b.e.Name, nil), b.d.At(p.Value)
	} else if b.AffordsPatterns(b.e.Pos, 1) {
		c.Derived = true
		c.Pattern, _ = base.DeriveIn(b.d.Space.InEffect(), role)
		b.SpellsIn(b.e.Pos, 1, c.Pattern)
	}
	if c.Pattern != nil {
		b.e.Notify = c
		b.KS.Channels = append(b.KS.Channels, c)
	}
}

// gate is the newest fencing token that a gate of package lock has seen, beside the key that it
// protects.
func (b *builder) gate() {
	if b.e.Gate = b.d.Duration(b.props, "gate"); b.e.Gate > 0 {
		b.addRole(&keyspace.Key{Role: "seen", Kind: keyspace.String, TTL: scope.AtMost(b.e.Gate),
			Value: &scalar.Type{Kind: scalar.Int},
			Doc:   "The newest fencing token with which " + b.e.Name + " was written."}, b.main, "seen")
	}
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

// otherTypes are types of entries as others call them.
var otherTypes = map[string]string{
	"sorted_set": "zset", "sortedset": "zset", "sorted-set": "zset", "geo": "zset", "leaderboard": "ranking",
	"map": "hash", "object": "hash", "dict": "hash",
	"array": "list", "mutex": "lock", "kv": "string", "text": "string", "str": "string", "limiter": "ratelimit",
	"rate_limit": "ratelimit",
	"json":       "string, with value: json", "int": "counter, or string with value: int", "bitmap": "string, with value: bytes",
	"hyperloglog": "string, with value: bytes", "hll": "string, with value: bytes",
	"pubsub":  "an entry under channels instead of keys",
	"channel": "an entry under channels instead of keys",
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
func insteadOf(name string, allowed []string) string {
	for _, same := range [][]string{{"value", "member"}, {"fields", "value"}} {
		for i, s := range same {
			if s == name && slices.Contains(allowed, same[1-i]) {
				return node.Proposal(same[1-i])
			}
		}
	}
	return "remove it, or change the type"
}
