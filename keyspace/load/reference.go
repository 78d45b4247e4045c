package load

import (
	"cmp"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

// references checks the names that point from one part of the declaration to
// another, once all parts are known.
func (l *loader) references() {
	entries, channels := l.declared("entry"), l.declared("channel")
	for _, e := range l.ks.Entries {
		for _, k := range e.Keys {
			entries.known[k.Name] = true // also one key of a construct, as in tasks.job
		}
	}
	keyless := map[string]string{}
	for _, e := range l.ks.Entries {
		if e.Script != nil {
			keyless[e.Name] = e.Type
		}
	}
	keyed := func(name string, at keyspace.Pos) {
		l.mustKnow(entries, name, at)
		if typ, ok := keyless[name]; ok {
			l.anywhere().report("KW301", at, "name the entries whose keys it uses", "the entry %s is a %s and has no key",
				name, typ)
		}
	}
	for _, e := range l.ks.Entries {
		if e.Script != nil {
			for _, name := range e.Script.Keys {
				keyed(name, e.At["keys."+name])
			}
		}
		for _, action := range sortedKeys(e.Emits) {
			l.mustKnow(channels, e.Emits[action], e.At["emits."+action])
		}
	}
	for _, e := range l.ks.Events {
		for _, name := range e.Deletes {
			keyed(name, e.At["deletes."+name])
		}
		for _, name := range e.Emits {
			l.mustKnow(channels, name, e.At["emits."+name])
		}
	}
}

// nameSet holds the names of one kind of thing.
type nameSet struct {
	kind   string
	sorted []string
	known  map[string]bool
}

// declared returns the names taken for a kind, also of entries with faults: a
// reference to one of those is no second fault.
func (l *loader) declared(kind string) nameSet {
	set := nameSet{kind: kind, known: map[string]bool{}}
	for _, key := range sortedKeys(l.places) {
		if name, ok := strings.CutPrefix(key, kind+" "); ok {
			set.sorted, set.known[name] = append(set.sorted, name), true
		}
	}
	return set
}

func (l *loader) mustKnow(set nameSet, name string, at keyspace.Pos) {
	if !set.known[name] {
		l.anywhere().report("KW301", at, cmp.Or(l.anywhere().near(name, set.sorted), "declare it, or remove the name"),
			"there is no %s %q", set.kind, name)
	}
}

// anywhere reports at positions that know their file.
func (l *loader) anywhere() *reader { return &reader{out: &l.findings} }
