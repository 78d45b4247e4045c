package infer

import (
	"maps"
	"slices"
	"strings"
)

// The evidence by which words are tenants, as in package group: so many of them, that lead to the same names in so many
// places; a name is shared by as many as that.
const (
	leastTenants = 8
	leastCells   = 24
	sharedBy     = 3
)

// tenants makes one placeholder of words that lead to the same two names or more: acme:user:…, acme:order:…,
// globex:user:…, globex:order:…
func tenants(paths []*path) []*path {
	for at := range 2 {
		places := map[string][]*path{}
		for _, p := range paths {
			if at+1 < len(p.segments) && word(p.segments[at].shape) && p.segments[at].shape != "" && word(p.segments[at+1].shape) {
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
	leads := map[string]map[string]bool{} // word: names after it
	by := map[string]int{}                // name: words before it
	for _, p := range paths {
		w, name := p.segments[at].shape, p.segments[at+1].shape
		if leads[w] == nil {
			leads[w] = map[string]bool{}
		}
		if !leads[w][name] {
			leads[w][name] = true
			by[name]++
		}
	}
	found, names, cells := map[string]bool{}, map[string]bool{}, 0
	for w, after := range leads {
		shared := 0
		for name := range after {
			if by[name] >= sharedBy {
				shared++
			}
		}
		if shared > 0 && 2*shared >= len(after) {
			found[w] = true
			cells += shared
			for name := range after {
				if by[name] >= sharedBy {
					names[name] = true
				}
			}
		}
	}
	if len(found) < leastTenants || cells < leastCells || len(names) < 2 || cells < 3*len(found)/2 {
		return false
	}
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
	return true
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
