package group

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Group represents keys whose names one pattern has.
type Group[T any] struct {
	Space   int
	Pattern string
	Tally   *T     // the group's own
	Folds   []Fold // the placeholders that words became, in their order
	Lost    int64  // keys whose word was given up for want of nodes
	varies  bool   // it has a placeholder
	slip    bool
}

// Fold says which words became one placeholder.
type Fold struct {
	Placeholder string   `json:"placeholder"` // as in the pattern: {tenant}
	Words       int      `json:"words"`       // how many there were
	Names       []string `json:"names"`       // a few of them, those with the most keys
}

// shownNames bounds the words that a fold names.
const shownNames = 3

// Groups decides what is a name and what is a value, and returns the groups, in the order of their patterns. Words are
// values of a placeholder
//
//   - where eight or more of them lead to the same two names or more (acme:user:…, acme:order:…, globex:user:…): tenants;
//   - where many of them lead to one name alone, with few keys each (ann:settings:…, ben:settings:…);
//   - where they lead to the same things of one type, and have few keys beside the number of words: LeastKeys;
//   - where there are many of them with next to no keys, whatever they lead to;
//   - where they are beside a text that has many times their keys.
//
// A word of which known says so stays one: known is asked with what was counted of one of the groups that the word
// leads to; nil: none is known. Together the groups have all keys. The tree stays as it is.
func (t *Tree[T, P]) Groups(known func(P) bool) []Group[T] {
	g := grouper[T, P]{known: known}
	for _, r := range slices.SortedFunc(maps.Keys(t.roots), compareRoots) {
		g.root = r
		g.resolve([]*node[T]{t.roots[r]}, nil)
	}
	slices.SortFunc(g.out, func(a, b Group[T]) int {
		return cmp.Or(strings.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Space, b.Space))
	})
	return g.out
}

// grouper makes groups of a tree.
type grouper[T any, P Tally[T]] struct {
	out   []Group[T]
	root  root
	known func(P) bool
}

// place represents what follows a place in the tree: a name, or the placeholder of several.
type place[T any] struct {
	name  string
	nodes []*node[T]
	words []*nameNodes[T] // that became the placeholder; none where it is a name
}

// resolve makes the groups of what ends at a place or comes through it: of several nodes, where words were folded.
func (g *grouper[T, P]) resolve(nodes []*node[T], way []place[T]) {
	var ends P
	for _, n := range nodes {
		if n.tally != nil {
			if ends == nil {
				ends = new(T)
			}
			ends.Merge(n.tally)
		}
	}
	if ends != nil && ends.Keys() > 0 {
		g.out = append(g.out, g.group(ends, way))
	}
	for _, p := range g.follow(nodes, len(way) == 0) {
		g.resolve(p.nodes, append(slices.Clip(way), p))
	}
}

// follow returns what follows some nodes, after it was decided which of the words there are one.
func (g *grouper[T, P]) follow(nodes []*node[T], first bool) []place[T] {
	byName := children(nodes)
	if digit, both := byName[digits]; both { // 7 and 007
		byName[digits] = append(digit, byName["{int}"]...)
		delete(byName, "{int}")
	}
	var words []*nameNodes[T]
	out := map[string]*place[T]{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if isPlaceholder(name) || isSlipName(name) {
			out[name] = &place[T]{name: name, nodes: byName[name]}
		} else {
			words = append(words, newWord[T, P](name, byName[name]))
		}
	}
	tenant := text
	if first {
		tenant = "{tenant}"
	}
	evidence := newEvidence[T, P](words, out[text])
	for _, w := range words {
		name := w.name
		switch tenants := evidence.tenants[w]; {
		case !tenants && !evidence.isValue(w), g.knows(w):
		case tenants:
			name = tenant
		default:
			name = skeleton(name)
		}
		p := out[name]
		if p == nil {
			p = &place[T]{name: name}
			out[name] = p
		}
		p.nodes = append(p.nodes, w.nodes...)
		if name != w.name {
			p.words = append(p.words, w)
		}
	}
	var list []place[T]
	for _, name := range slices.Sorted(maps.Keys(out)) {
		list = append(list, *out[name])
	}
	return list
}

// knows reports whether a word is to stay one whatever it leads to.
func (g *grouper[T, P]) knows(w *nameNodes[T]) bool {
	n := w.nodes[0]
	for n.tally == nil {
		n = n.sorted()[0].node
	}
	return g.known != nil && g.known(n.tally)
}

// children returns what follows some nodes, by name.
func children[T any](nodes []*node[T]) map[string][]*node[T] {
	out := map[string][]*node[T]{}
	for _, n := range nodes {
		for name, c := range n.all() {
			out[name] = append(out[name], c)
		}
	}
	return out
}

// group makes the group of the keys that end after some places.
func (g *grouper[T, P]) group(tally P, way []place[T]) Group[T] {
	out := Group[T]{Space: g.root.space, Tally: tally}
	var names []string
	placeholders := numbering{}
	for _, p := range way {
		lost := int64(0)
		for _, n := range p.nodes {
			lost += n.folded
		}
		out.Lost = max(out.Lost, min(lost, tally.Keys()))
		out.varies = out.varies || hasPlaceholder(p.name)
		out.slip = out.slip || isSlipName(p.name)
		name, first := placeholders.number(p.name)
		names = append(names, name)
		if len(p.words) > 0 {
			out.Folds = append(out.Folds, Fold{first, len(p.words), frequentWords(p.words)})
		}
	}
	out.Pattern = strings.Join(names, string(g.root.sep))
	return out
}

// frequentWords returns the words that have the most keys.
func frequentWords[T any](words []*nameNodes[T]) (out []string) {
	words = slices.SortedStableFunc(slices.Values(words),
		func(a, b *nameNodes[T]) int { return cmp.Compare(b.keys, a.keys) })
	for _, w := range words[:min(len(words), shownNames)] {
		out = append(out, w.name)
	}
	return out
}

// Confidence says how sure a pattern is.
type Confidence string

// The degrees of confidence.
const (
	High   Confidence = "high"   // nothing but words that are names, and identifiers by their form, of ten keys or more
	Medium Confidence = "medium" // words became a placeholder by evidence, or there are few keys
	Low    Confidence = "low"    // words were given up for want of memory, or a placeholder has one key
)

// Confidence returns how sure the pattern is, of a group of so many keys.
func (g *Group[T]) Confidence(keys int64) Confidence {
	switch {
	case g.Lost > 0, g.varies && keys == 1:
		return Low
	case len(g.Folds) > 0, g.varies && keys < 10:
		return Medium
	}
	return High
}

// Slip reports whether the names have a segment that a program wrote by mistake: null, undefined, %s.
func (g *Group[T]) Slip() bool { return g.slip }
