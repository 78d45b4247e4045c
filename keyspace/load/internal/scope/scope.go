// Package scope holds what all sections of a declaration refer to: its names, vars, TTLs, types, patterns and
// namespaces, and how much of them there may be. What is declared in one file is known in all.
//
// It makes no keys of them; package construct does.
package scope

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	yaml "go.yaml.in/yaml/v4"
)

// Limits of a declaration, beyond which more of it is not read.
const (
	MaxEntries   = 10_000
	MaxPatterns  = 20_000  // with those that constructs and old names add
	MaxFields    = 1_000   // of one mapping
	MaxEnumBytes = 1 << 22 // of the words of enums, at each place that has one
)

// Scope holds the documents of all files and what was read of them: an entry may use a var that a
// later file declares.
type Scope struct {
	FS       fs.FS
	chosen   map[string]string // names of namespaces, by the declared name
	KS       *keyspace.Keyspace
	Docs     []*Document
	Findings []finding.Finding
	pending  map[string]pendingVar // vars whose type has not been read yet
	Vars     map[string]*keyspace.Var
	TTLs     map[string]*keyspace.NamedTTL
	places   map[string]keyspace.Pos // where each entry, channel and event name was taken
	Moves    int                     // of all migrations
	patterns int                     // that were read or derived
	spelt    int                     // bytes of the words of enums, at each place that has one
	Over     bool                    // more is declared than is read, which was reported
	priced   map[string]bool         // regular expressions whose states are counted
	room     int                     // for the automaton states of more of them
}

// New returns a scope in which nothing was read, with room for so many automaton states.
func New(fsys fs.FS, names map[string]string, room int) *Scope {
	return &Scope{
		FS: fsys, chosen: names, KS: &keyspace.Keyspace{}, pending: map[string]pendingVar{},
		Vars:   map[string]*keyspace.Var{},
		TTLs:   map[string]*keyspace.NamedTTL{},
		places: map[string]keyspace.Pos{}, priced: map[string]bool{}, room: room,
	}
}

// Document represents one parsed file.
type Document struct {
	node.Reader
	Props map[string]node.Property
	Owner string
	Space *keyspace.Namespace // nil: keys have no namespace
}

// Order returns the place of a file among those that were read, -1 if it is not there.
func (s *Scope) Order(file string) int {
	return slices.IndexFunc(s.KS.Files, func(f keyspace.File) bool { return f.Name == file })
}

// Take claims a name; two things of one kind cannot share it.
func (s *Scope) Take(d *Document, kind string, p node.Property) {
	key := kind + " " + p.Name
	if at, taken := s.places[key]; taken {
		d.Report("KW004", d.At(p.Key), "rename one of them", "the %s %q is already declared at %s:%d", kind, p.Name, at.File,
			at.Line)
		return
	}
	s.places[key] = d.At(p.Key)
}

// nameSet holds the names of one kind of thing.
type nameSet struct {
	kind   string
	sorted []string
	Known  map[string]bool
}

// Declared returns the names taken for a kind, also of entries with faults: a
// reference to one of those is no second fault.
func (s *Scope) Declared(kind string) nameSet {
	set := nameSet{kind: kind, Known: map[string]bool{}}
	for _, key := range slices.Sorted(maps.Keys(s.places)) {
		if name, ok := strings.CutPrefix(key, kind+" "); ok {
			set.sorted, set.Known[name] = append(set.sorted, name), true
		}
	}
	return set
}

// MustKnow reports a name that is not in the set.
func (s *Scope) MustKnow(set nameSet, name string, at keyspace.Pos) {
	if !set.Known[name] {
		s.Anywhere().Report("KW301", at, cmp.Or(s.Anywhere().Near(name, set.sorted), "declare it, or remove the name"),
			"there is no %s %q", set.kind, name)
	}
}

// EntryNamed finds the entry that a node names. It reports a name that no entry has.
func (s *Scope) EntryNamed(d *Document, n *yaml.Node, what string) *keyspace.Entry {
	name, ok := d.Text(n, what)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(s.KS.Entries, func(e *keyspace.Entry) bool { return e.Name == name })
	if i < 0 {
		s.MustKnow(s.Declared("entry"), name, d.At(n))
		return nil
	}
	return s.KS.Entries[i]
}

// Anywhere reports at positions that know their file.
func (s *Scope) Anywhere() *node.Reader { return &node.Reader{Out: &s.Findings} }

// TooMuch says that more is declared than is read.
func (s *Scope) TooMuch(at keyspace.Pos, what string, most int) {
	if !s.Over {
		s.Anywhere().Report("KW008", at,
			"divide it into declarations of their own: each is checked, and generates code, alone",
			"a declaration has at most %d %s", most, what)
	}
	s.Over = true
}

// Properties lists the properties of the mappings that are no entries.
var Properties = map[string][]string{
	"channels": {"channel", "doc", "message", "envelope", "sharded", "durable", "reply", "reply_channel", "owner",
		"readers", "retired"},
	"durable":    {"maxlen", "age", "groups", "retry", "timeout", "dead"},
	"events":     {"doc", "with", "deletes", "emits"},
	"cleanup":    {"match", "idle", "older", "keep"},
	"pressure":   {"at", "entry", "where", "shorten", "release"},
	"janitor":    {"doc", "do", "every", "cron", "zone", "entry", "keep"},
	"namespace":  {"default", "names"},
	"migrations": {"doc", "sources", "parts", "gates", "compare", "ignore"},
	"ignore":     {"from", "reason"},
	"source":     {"doc", "file", "format"},
	"part":       {"doc", "moves", "gates"},
	"move":       {"from", "to", "with", "field", "member", "score", "value", "fields", "tries", "ttl", "kept", "except"},
	"move ttl":   {"from", "until", "over"},
	"gates":      {"compared", "unequal", "for", "marks", "backup"},
	"compare":    {"entry", "field", "as", "owner", "until", "doc"},
	"vars":       {"type", "default", "retired"},
	"retired":    {"keys", "channels", "events"},
	"emits":      {"create", "update", "delete", "expire"},
	"stamps":     {"created", "updated", "version"},
}
