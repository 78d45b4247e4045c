package load

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	yaml "go.yaml.in/yaml/v4"
)

// Limits of a declaration, beyond which more of it is not read.
const (
	MaxEntries   = 10_000
	MaxPatterns  = 20_000  // with those that constructs and old names add
	MaxFields    = 1_000   // of one mapping
	MaxEnumBytes = 1 << 22 // of the words of enums, at each place that has one
)

// scope holds the documents of all files and what was read of them: an entry may use a var that a
// later file declares.
type scope struct {
	fsys     fs.FS
	chosen   map[string]string // names of namespaces, by the declared name
	ks       *keyspace.Keyspace
	docs     []*document
	findings []finding.Finding
	pending  map[string]pendingVar // vars whose type has not been read yet
	vars     map[string]*keyspace.Var
	ttls     map[string]*keyspace.NamedTTL
	places   map[string]keyspace.Pos // where each entry, channel and event name was taken
	moves    int                     // of all migrations
	patterns int                     // that were read or derived
	spelt    int                     // bytes of the words of enums, at each place that has one
	over     bool                    // more is declared than is read, which was reported
	priced   map[string]bool         // regular expressions whose states are counted
	room     int                     // for the automaton states of more of them
}

// newScope returns a scope in which nothing was read, with room for so many automaton states.
func newScope(fsys fs.FS, names map[string]string, room int) *scope {
	return &scope{
		fsys: fsys, chosen: names, ks: &keyspace.Keyspace{}, pending: map[string]pendingVar{},
		vars:   map[string]*keyspace.Var{},
		ttls:   map[string]*keyspace.NamedTTL{},
		places: map[string]keyspace.Pos{}, priced: map[string]bool{}, room: room,
	}
}

// document represents one parsed file.
type document struct {
	reader
	props map[string]property
	owner string
	space *keyspace.Namespace // nil: keys have no namespace
}

// order returns the place of a file among those that were read, -1 if it is not there.
func (s *scope) order(file string) int {
	return slices.IndexFunc(s.ks.Files, func(f keyspace.File) bool { return f.Name == file })
}

// take claims a name; two things of one kind cannot share it.
func (s *scope) take(d *document, kind string, p property) {
	key := kind + " " + p.name
	if at, taken := s.places[key]; taken {
		d.report("KW004", d.at(p.key), "rename one of them", "the %s %q is already declared at %s:%d", kind, p.name, at.File,
			at.Line)
		return
	}
	s.places[key] = d.at(p.key)
}

// nameSet holds the names of one kind of thing.
type nameSet struct {
	kind   string
	sorted []string
	known  map[string]bool
}

// declared returns the names taken for a kind, also of entries with faults: a
// reference to one of those is no second fault.
func (s *scope) declared(kind string) nameSet {
	set := nameSet{kind: kind, known: map[string]bool{}}
	for _, key := range slices.Sorted(maps.Keys(s.places)) {
		if name, ok := strings.CutPrefix(key, kind+" "); ok {
			set.sorted, set.known[name] = append(set.sorted, name), true
		}
	}
	return set
}

// mustKnow reports a name that is not in the set.
func (s *scope) mustKnow(set nameSet, name string, at keyspace.Pos) {
	if !set.known[name] {
		s.anywhere().report("KW301", at, cmp.Or(s.anywhere().near(name, set.sorted), "declare it, or remove the name"),
			"there is no %s %q", set.kind, name)
	}
}

// entryNamed finds the entry that a node names. It reports a name that no entry has.
func (s *scope) entryNamed(d *document, n *yaml.Node, what string) *keyspace.Entry {
	name, ok := d.text(n, what)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(s.ks.Entries, func(e *keyspace.Entry) bool { return e.Name == name })
	if i < 0 {
		s.mustKnow(s.declared("entry"), name, d.at(n))
		return nil
	}
	return s.ks.Entries[i]
}

// anywhere reports at positions that know their file.
func (s *scope) anywhere() *reader { return &reader{out: &s.findings} }

// tooMuch says that more is declared than is read.
func (s *scope) tooMuch(at keyspace.Pos, what string, most int) {
	if !s.over {
		s.anywhere().report("KW008", at,
			"divide it into declarations of their own: each is checked, and generates code, alone",
			"a declaration has at most %d %s", most, what)
	}
	s.over = true
}

// childProperties lists the properties of the mappings that are no entries.
var childProperties = map[string][]string{
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
