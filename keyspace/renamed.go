package keyspace

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
)

// Renamed is the pattern that a key of the entry has where the main key has another
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
	if cut(own, gone).String() != k.Base {
		return k.Pattern, nil // an index that the author named, or the entry's name
	}
	base := cut(main, gone)
	if slices.ContainsFunc(base.Placeholders(), func(p pattern.Placeholder) bool { return slices.Contains(gone, p.Name) }) {
		return k.Pattern, nil
	}
	space := e.Namespace.name()
	if space != "" && !pattern.InNamespace(main.String(), space) {
		space = ""
	}
	return base.DeriveIn(space, k.Suffix)
}

// cut is a pattern without some placeholders.
func cut(p *pattern.Pattern, names []string) *pattern.Pattern {
	for _, name := range names {
		p = cutOut(p, "{"+name+"}")
	}
	return p
}
