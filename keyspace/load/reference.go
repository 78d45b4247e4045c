package load

import (
	"maps"
	"slices"

	"github.com/keywright/keywright/keyspace"
)

// references checks the names that point from one part of the declaration to
// another, once all parts are known.
func (l *loader) references() {
	entries, channels := l.Declared("entry"), l.Declared("channel")
	for _, e := range l.KS.Entries {
		for _, k := range e.Keys {
			entries.Known[k.Name] = true // also one key of a construct, as in tasks.job
		}
	}
	keyless := map[string]string{}
	for _, e := range l.KS.Entries {
		if e.Script != nil {
			keyless[e.Name] = e.Type
		}
	}
	keyed := func(name string, at keyspace.Pos) {
		l.MustKnow(entries, name, at)
		if typ, ok := keyless[name]; ok {
			l.Anywhere().Report("KW301", at, "name the entries whose keys it uses", "the entry %s is a %s and has no key",
				name, typ)
		}
	}
	for _, e := range l.KS.Entries {
		if e.Script != nil {
			for _, name := range e.Script.Keys {
				keyed(name, e.At["keys."+name])
			}
		}
		for _, action := range slices.Sorted(maps.Keys(e.Emits)) {
			l.MustKnow(channels, e.Emits[action], e.At["emits."+action])
		}
	}
	for _, e := range l.KS.Events {
		for _, name := range e.Deletes {
			keyed(name, e.At["deletes."+name])
		}
		for _, name := range e.Emits {
			l.MustKnow(channels, name, e.At["emits."+name])
		}
	}
}
