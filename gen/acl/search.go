package acl

import (
	"encoding/binary"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
)

// asked describes what was found out before. A thousand queues differ by their names only:
// what their globs reach is found once, of what comes after the text that a glob and all
// that it may reach begin with.
type asked struct {
	rests    map[string]int // the languages after the first literal, numbered
	patterns map[name]*pattern.Pattern
	pairs    map[[2]*pattern.Pattern]common
	within   map[[2]*pattern.Pattern]bool
	searches map[string]*relative
}

// name represents a pattern without the text that it was cut from: its number, and what is left of
// the text that it begins with.
type name struct {
	rest   int
	begins string
}

// common describes whether two patterns have a name in common, and the shortest one.
type common struct {
	witness []byte
	ok      bool
}

// relative describes what a glob reaches, without the text that all of it begins with.
type relative struct {
	hits    []int // of the targets that were near, in their order
	names   [][]byte
	stray   []byte
	strays  bool
	decided bool
}

// number gives each target the number of what its pattern says after its first literal.
func (a *asked) number(targets []*target) {
	*a = asked{rests: map[string]int{}, patterns: map[name]*pattern.Pattern{}, pairs: map[[2]*pattern.Pattern]common{},
		within: map[[2]*pattern.Pattern]bool{}, searches: map[string]*relative{}}
	for _, t := range targets {
		language := t.pattern.After(len(literal(t.pattern))).Language()
		if _, ok := a.rests[language]; !ok {
			a.rests[language] = len(a.rests)
		}
		t.rest = a.rests[language]
	}
}

// literalPrefix returns the text that all names of a glob begin with.
func literalPrefix(glob string) string {
	if i := strings.IndexAny(glob, `*?[\`); i >= 0 {
		return glob[:i]
	}
	return glob
}

// search looks for what a glob reaches; false if the budget does not do.
func (r *realm) search(glob string, out *reached) bool {
	if r.budget <= 0 {
		return false
	}
	text := literalPrefix(glob)
	near := r.near(text, text == glob)
	if r.budget -= len(near); r.budget < 0 {
		return false
	}
	shared := min(len(text), len(glob)-1) // of a glob something must be left
	for _, t := range near {
		begins := literal(t.pattern)
		for shared > 0 && (shared > len(begins) || begins[:shared] != text[:shared]) {
			shared--
		}
	}
	names := make([]name, len(near))
	key := append([]byte(glob[shared:]), 0)
	for i, t := range near {
		names[i] = name{t.rest, literal(t.pattern)[shared:]}
		key = binary.AppendVarint(key, int64(t.rank))
		key = binary.AppendUvarint(key, uint64(t.rest))
		key = binary.AppendUvarint(key, uint64(len(names[i].begins)))
		key = append(key, names[i].begins...)
	}
	found := r.asked.searches[string(key)]
	if found == nil {
		found = r.compare(glob[shared:], near, names, shared)
		r.asked.searches[string(key)] = found
	}
	whole := func(rest []byte) []byte { return append([]byte(glob[:shared]), rest...) }
	for i, n := range found.hits {
		out.hits = append(out.hits, hit{near[n], whole(found.names[i])})
	}
	if found.strays {
		out.stray = whole(found.stray)
	}
	return found.decided
}

// candidate represents a target of which a glob reaches a name, or a narrower one has it.
type candidate struct {
	*target
	at      int // in the list of those that were near
	rest    *pattern.Pattern
	witness []byte // the shortest name that both match
}

// equals represents targets that match the same names: the first of them has these names.
type equals struct {
	rest *pattern.Pattern
	rank int
}

// compare finds what a glob reaches of the targets that are near, all without the text
// that they begin with. A budget that does not do leaves it undecided.
func (r *realm) compare(glob string, near []*target, names []name, shared int) *relative {
	p, err := pattern.Glob(glob)
	if err != nil {
		return &relative{decided: true}
	}
	var all []candidate
	var patterns []*pattern.Pattern
	met := map[equals]bool{}
	for i, t := range near {
		rest := r.asked.patterns[names[i]]
		if rest == nil {
			rest = t.pattern.After(shared)
			r.asked.patterns[names[i]] = rest
		}
		if met[equals{rest, t.rank}] {
			continue // all of its names belong to the earlier one
		}
		met[equals{rest, t.rank}] = true
		if c := r.common(p, rest); c.ok {
			all, patterns = append(all, candidate{t, i, rest, c.witness}), append(patterns, rest)
		}
		if r.budget < 0 {
			return &relative{}
		}
	}
	out := &relative{}
	for _, c := range all {
		if name, ok := r.own(p, c, all); ok {
			out.hits, out.names = append(out.hits, c.at), append(out.names, name)
		}
	}
	stray, found, decided := pattern.WitnessWithin(&r.budget, []*pattern.Pattern{p}, patterns)
	if !decided { // reported without an example rather than not at all
		stray, found = []byte(glob), true
	}
	out.stray, out.strays, out.decided = stray, found, r.budget >= 0
	return out
}

// own finds a name of a glob that belongs to a target and to no narrower one. When
// that takes too long to tell, the name that both match is good enough: a warning
// too many is better than one too few.
func (r *realm) own(glob *pattern.Pattern, c candidate, all []candidate) ([]byte, bool) {
	var without []*pattern.Pattern
	for _, o := range all {
		if o.target != c.target && r.wins(o, c) {
			without = append(without, o.rest)
		}
	}
	name, found, decided := pattern.WitnessWithin(&r.budget, []*pattern.Pattern{glob, c.rest}, without)
	if !decided {
		return c.witness, true
	}
	return name, found
}

// wins reports whether o takes names from c: one of a lower rank, a narrower one, and of
// two that are neither the earlier one.
func (r *realm) wins(o, c candidate) bool {
	if o.rank > c.rank || r.budget < 0 || !r.common(o.rest, c.rest).ok {
		return false
	}
	if o.rank < c.rank {
		return true
	}
	inC, inO := r.contains(c.rest, o.rest), r.contains(o.rest, c.rest)
	if inC != inO {
		return inC
	}
	return o.order < c.order
}

// common compares two patterns, once.
func (r *realm) common(a, b *pattern.Pattern) common {
	pair := [2]*pattern.Pattern{a, b}
	c, found := r.asked.pairs[pair]
	if !found {
		r.budget -= overlap
		c.witness, c.ok = pattern.Overlap(a, b)
		r.asked.pairs[pair] = c
	}
	return c
}

// contains compares two patterns the other way, once.
func (r *realm) contains(outer, inner *pattern.Pattern) bool {
	pair := [2]*pattern.Pattern{outer, inner}
	in, found := r.asked.within[pair]
	if !found {
		_, in = pattern.Contains(outer, inner)
		r.asked.within[pair] = in
	}
	return in
}
