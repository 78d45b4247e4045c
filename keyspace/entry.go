package keyspace

import (
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Entry represents one mapping under `keys`, as the author wrote it and resolved.
type Entry struct {
	Name      string
	Namespace *Namespace // nil: its keys have a fixed name
	Doc       string
	Type      string // as written: "string", "entity", …
	Construct Construct
	Keys      []*Key // Keys[0] is the main key; none for a script
	TTL       TTL
	Owner     string
	Readers   []string
	Skip      []string // rule families skipped, e.g. "shape"
	Was       []*pattern.Pattern
	Retired   []Retired // fields that it had

	Gate   time.Duration // plain types: how long the fencing token of the last write is kept, 0 = not
	Notify *Channel      // lock, queue: where a release, a new job is announced; derived if not written
	Retry  int           // queue, durable channel: attempts, 0 = not written
	// Timeout is how long a job or message may be worked on in one go; 0: without end.
	Timeout time.Duration

	// What one construct has beyond that: the zero value for all others.
	StreamSpec
	CacheSpec
	QueueSpec
	RankingSpec
	EntitySpec
	RateLimitSpec
	Script *ScriptSpec
	Topic  *Channel // of a durable channel, whose stream this is

	Pos Pos
	At  map[string]Pos // position of each property's value by name ("ttl", "key", "index.kind" …)
}

// Key represents one declared key pattern: what the matcher finds and the audit judges.
type Key struct {
	Entry   *Entry
	Role    string // "" main; "job", "result", "leases", "fence", "index.kind", …
	Name    string // Entry.Name, or Entry.Name + "." + Role: unique in the keyspace
	Pattern *pattern.Pattern
	Kind    Kind
	TTL     TTL
	Derived bool // not written in the file: the construct names it
	Doc     string

	Value  *scalar.Type // string: its value; list, set: nil, see Member
	Headed bool         // string: a line of the construct's own is before the value
	JSON   []Field      // string: an inline JSON object, field by field
	Member *scalar.Type // list, set, zset: one element
	Score  *scalar.Type // zset
	Fields []Field      // hash, stream: fixed fields
	Field  *scalar.Type // hash with open fields: the field name…
	Item   *scalar.Type // …and its value
	Pos    Pos

	Base, Suffix string // of a derived key: the text of the pattern that it is derived from, and what comes after that
}

// Field represents one declared field of a hash, stream, JSON object or message.
type Field struct {
	Name string
	Type scalar.Type
	Pos  Pos
}

// Key returns the key of an entry by its role, "" for the main one; nil if it has none.
func (e *Entry) Key(role string) *Key {
	i := slices.IndexFunc(e.Keys, func(k *Key) bool { return k.Role == role })
	if i < 0 {
		return nil
	}
	return e.Keys[i]
}

// Renamed returns the pattern that a key of the entry has where the main key has another
// pattern: an old one (was), or one that is to be. A key whose pattern the author wrote, or
// that is not derived from the main key, keeps its pattern. It is an error if no key can be
// derived from the other pattern.
func (e *Entry) Renamed(k *Key, main *pattern.Pattern) (*pattern.Pattern, error) {
	own := e.Keys[0].Pattern
	switch {
	case k == e.Keys[0]:
		return main, nil
	case !k.Derived:
		return k.Pattern, nil
	}
	var gone []string
	for _, p := range own.Placeholders() {
		if !strings.Contains(k.Base, "{"+p.Name+"}") {
			gone = append(gone, p.Name)
		}
	}
	if withoutPlaceholders(own, gone).String() != k.Base {
		return k.Pattern, nil // an index that the author named, or the entry's name
	}
	base := withoutPlaceholders(main, gone)
	if slices.ContainsFunc(base.Placeholders(),
		func(p pattern.Placeholder) bool { return slices.Contains(gone, p.Name) }) {
		return k.Pattern, nil
	}
	space := e.Namespace.InEffect()
	if space != "" && !pattern.InNamespace(main.String(), space) {
		space = ""
	}
	return base.DeriveIn(space, k.Suffix)
}

// withoutPlaceholders returns a pattern without some placeholders.
func withoutPlaceholders(p *pattern.Pattern, names []string) *pattern.Pattern {
	for _, name := range names {
		p = p.Without(name)
	}
	return p
}

// SealedPart represents a part of what is stored under a key that is declared encrypted.
type SealedPart struct {
	Field  string // of a hash or stream, "payload" of a job, "" for the whole value
	Member string // of the JSON object in there, "" for all of it
	Each   bool   // every value of a hash with open fields, every member of a list
	Type   scalar.Type
}

// Name returns the part as people write it: "phone", "payload.address", "" for a whole
// value.
func (p SealedPart) Name() string {
	if p.Field == "" || p.Member == "" {
		return p.Field + p.Member
	}
	return p.Field + "." + p.Member
}

// Sealed returns the parts of a key's value that are declared encrypted, in the order
// of the declaration.
func (k *Key) Sealed() (parts []SealedPart) {
	each := k.Item
	if k.Kind == List {
		each = k.Member
	}
	switch {
	case k.Value != nil && k.Value.Encrypted:
		parts = append(parts, SealedPart{Field: k.holder(), Type: *k.Value})
	case each != nil && each.Encrypted:
		parts = append(parts, SealedPart{Each: true, Type: *each})
	}
	for _, f := range k.JSON {
		if f.Type.Encrypted {
			parts = append(parts, SealedPart{Member: f.Name, Type: f.Type})
		}
	}
	for _, f := range k.Fields {
		if f.Type.Encrypted {
			parts = append(parts, SealedPart{Field: f.Name, Type: f.Type})
		}
	}
	if k.Headed {
		for _, f := range k.Entry.Shape {
			if f.Type.Encrypted {
				parts = append(parts, SealedPart{Field: k.holder(), Member: f.Name, Type: f.Type})
			}
		}
	}
	return parts
}

// holder returns what a whole value is called in the place it is sealed for: a payload
// comes after a line that is not sealed.
func (k *Key) holder() string {
	if k.Headed {
		return "payload"
	}
	return ""
}

// HoldsSealed reports whether a part of any of the entry's keys is declared
// encrypted.
func (e *Entry) HoldsSealed() bool {
	for _, k := range e.Keys {
		if len(k.Sealed()) > 0 {
			return true
		}
	}
	return false
}

// reservedUsers lists the ACL users that a server has, that replicas and sentinels log in as, and that keywright itself
// is, by the names that the manuals give them.
var reservedUsers = []string{"default", "replica", "replica-user", "sentinel", "sentinel-user", "keywright",
	"keywright-repair"}

// ReservedUser reports whether a name is one of an ACL user that is there already: an owner or a reader of that name
// would take its rights away.
func ReservedUser(name string) bool { return slices.Contains(reservedUsers, name) }
