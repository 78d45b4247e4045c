package path

import (
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/tree"
	keygroup "github.com/keywright/keywright/keyspace/group"
)

// Tenants makes one placeholder of words that lead to the same two names or more: acme:user:…, acme:order:…,
// globex:user:…, globex:order:…
func Tenants(paths []*Path) []*Path {
	for at := range 2 {
		places := map[string][]*Path{}
		for _, p := range paths {
			if at+1 < len(p.Segments) && IsLiteral(p.Segments[at].Shape) && p.Segments[at].Shape != "" &&
				IsLiteral(p.Segments[at+1].Shape) {
				place := p.Sep
				for _, s := range p.Segments[:at] {
					place += "\x00" + s.open + s.Shape
				}
				places[place] = append(places[place], p)
			}
		}
		changed := false
		for _, place := range slices.Sorted(maps.Keys(places)) {
			changed = tenantsAt(places[place], at) || changed
		}
		if changed {
			paths = alikeOnce(paths)
		}
	}
	return paths
}

// tenantsAt looks for tenants among the words at one place.
func tenantsAt(paths []*Path, at int) bool {
	leads, keys := map[string][]string{}, map[string]int64{}
	for _, p := range paths {
		w := p.Segments[at].Shape
		keys[w] += p.Group.Keys
		leads[w] = append(leads[w], p.Segments[at+1].Shape)
	}
	for w, names := range leads {
		slices.Sort(names)
		leads[w] = slices.Compact(names)
	}
	found := keygroup.Tenants(leads, func(w string) int64 { return keys[w] })
	for _, p := range paths {
		s := &p.Segments[at]
		if !found[s.Shape] {
			continue
		}
		s.Seen.Add([]byte(s.Shape))
		if s.Shape = string(tree.TextShape); at == 0 {
			s.Vocab = "tenant"
		}
	}
	return len(found) > 0
}

// alikeOnce makes one of the paths that are the same now.
func alikeOnce(paths []*Path) []*Path {
	seen := map[string]*Path{}
	return slices.DeleteFunc(paths, func(p *Path) bool {
		name := p.without(len(p.Segments))
		for _, s := range p.Segments {
			name += s.Vocab + strings.Join(s.Words, ",")
		}
		if first := seen[name]; first != nil {
			first.Absorb(p)
			return true
		}
		seen[name] = p
		return false
	})
}
