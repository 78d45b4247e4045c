// Package pairs finds for each entry of a declaration the one that it is in another version of it. It does not compare
// them.
package pairs

import (
	"slices"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
)

// Pair represents an entry before and after; New is nil if it is gone.
type Pair struct {
	Old, New *keyspace.Entry
}

// Match finds for each old entry the new one: by name, else by its keys, which a
// renamed entry still has.
func Match(old, new *keyspace.Keyspace) []Pair {
	now, before := entriesByName(new), entriesByName(old)
	added := unnamed(new, before)
	var out []Pair
	for _, e := range old.Entries {
		n := now[e.Name]
		if n == nil && e.Script != nil {
			n = added.scripts[e.Script.File]
		} else if n == nil {
			n = added.languages[e.Keys[0].Pattern.Language()]
		}
		out = append(out, Pair{e, n})
	}
	return out
}

// entriesByName returns entries by their names, of two of one name the first.
func entriesByName(ks *keyspace.Keyspace) map[string]*keyspace.Entry {
	out := make(map[string]*keyspace.Entry, len(ks.Entries))
	for _, e := range slices.Backward(ks.Entries) {
		out[e.Name] = e
	}
	return out
}

// strangers holds the entries whose names were not there before: scripts by their files, others
// by the languages of the patterns that they have now or had before, of two of one the first.
type strangers struct {
	scripts, languages map[string]*keyspace.Entry
}

func unnamed(new *keyspace.Keyspace, before map[string]*keyspace.Entry) strangers {
	out := strangers{scripts: map[string]*keyspace.Entry{}, languages: map[string]*keyspace.Entry{}}
	for _, n := range slices.Backward(new.Entries) {
		switch {
		case before[n.Name] != nil:
		case n.Script != nil:
			out.scripts[n.Script.File] = n
		default:
			for _, p := range Patterns(n) {
				out.languages[p.Language()] = n
			}
		}
	}
	return out
}

// Patterns returns those of an entry's main key, now and before.
func Patterns(e *keyspace.Entry) []*pattern.Pattern {
	return append([]*pattern.Pattern{e.Keys[0].Pattern}, e.Was...)
}

// Key finds the key of a role.
func Key(e *keyspace.Entry, role string) *keyspace.Key {
	for _, k := range e.Keys {
		if k.Role == role {
			return k
		}
	}
	return nil
}
