package infer

import (
	"maps"
	"slices"
	"strings"

	keygroup "github.com/keywright/keywright/keyspace/group"
)

// tenants makes one placeholder of words that lead to the same two names or more: acme:user:…, acme:order:…,
// globex:user:…, globex:order:…
func tenants(paths []*path) []*path {
	for at := range 2 {
		places := map[string][]*path{}
		for _, p := range paths {
			if at+1 < len(p.segments) && isLiteral(p.segments[at].shape) && p.segments[at].shape != "" &&
				isLiteral(p.segments[at+1].shape) {
				place := p.sep
				for _, s := range p.segments[:at] {
					place += "\x00" + s.open + s.shape
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
func tenantsAt(paths []*path, at int) bool {
	leads, keys := map[string][]string{}, map[string]int64{}
	for _, p := range paths {
		w := p.segments[at].shape
		keys[w] += p.group.keys
		leads[w] = append(leads[w], p.segments[at+1].shape)
	}
	for w, names := range leads {
		slices.Sort(names)
		leads[w] = slices.Compact(names)
	}
	found := keygroup.Tenants(leads, func(w string) int64 { return keys[w] })
	for _, p := range paths {
		s := &p.segments[at]
		if !found[s.shape] {
			continue
		}
		s.seen.add([]byte(s.shape))
		if s.shape = string(textShape); at == 0 {
			s.vocab = "tenant"
		}
	}
	return len(found) > 0
}

// alikeOnce makes one of the paths that are the same now.
func alikeOnce(paths []*path) []*path {
	seen := map[string]*path{}
	return slices.DeleteFunc(paths, func(p *path) bool {
		name := p.without(len(p.segments))
		for _, s := range p.segments {
			name += s.vocab + strings.Join(s.words, ",")
		}
		if first := seen[name]; first != nil {
			first.absorb(p)
			return true
		}
		seen[name] = p
		return false
	})
}
