package group

import (
	"hash/maphash"
	"slices"
)

// The evidence by which words are values of a placeholder.
const (
	// A word with so many keys is a name, whatever is beside it; it is a value only if it leads to the names that
	// others lead to. It is less than the fifty that are promised: a word may have lost some keys while memory was short.
	manyKeys = 40
	// A word must have one key for so many words that lead to the same, to stay a name: of 24 words each stays, of 240
	// those with ten keys. And one for so many that lead to something else each: these are noise.
	sameWords  = 24
	otherWords = 64
	// So many words that lead to the same names in so many places are tenants, and the like.
	leastTenants = 8
	leastCells   = 24
	// A name that so many words lead to is one of the names that they have in common.
	sharedBy = 3
	// So many words that lead to one and the same name, beyond the first ones, ask for one key more of each: of 40 words
	// each stays a name if they have 12 keys on average, of 100 if they have 40. Where they have fewer, one stays a name
	// that has so many times the average.
	oneName      = 2
	oneNameFirst = 16
	farAbove     = 3
	// A word beside a text that has so many times its keys, and leads to the same, is one of its values.
	strayShare = 64
)

// LeastKeys returns how many keys a word must have to be a name, of so many words that lead to the same things.
func LeastKeys(words int) float64 { return min(manyKeys, float64(words)/sameWords) }

// Tenants returns the words that are values of one placeholder by the names after each: those that lead to the same two
// names or more as others do, and those of many that lead to one name, with few keys each.
func Tenants[W, N comparable](leads map[W][]N, keys func(W) int64) map[W]bool {
	out := sharing(leads)
	if out == nil {
		out = map[W]bool{}
	}
	type lead struct {
		words int
		keys  int64
	}
	alone := map[N]lead{}
	for w, names := range leads {
		if len(names) == 1 {
			l := alone[names[0]]
			alone[names[0]] = lead{l.words + 1, l.keys + keys(w)}
		}
	}
	for w, names := range leads {
		if len(names) != 1 {
			continue
		}
		l := alone[names[0]]
		mean, least := float64(l.keys)/float64(l.words), float64(l.words-oneNameFirst)/oneName
		if mean < least {
			least = max(least, farAbove*mean)
		}
		if float64(keys(w)) < min(manyKeys, least) {
			out[w] = true
		}
	}
	return out
}

// sharing returns the words that lead to the same two names or more as others do; nil if they are too few to tell.
func sharing[W, N comparable](leads map[W][]N) map[W]bool {
	by := map[N]int{}
	for _, names := range leads {
		for _, n := range names {
			by[n]++
		}
	}
	out, shared, cells := map[W]bool{}, map[N]bool{}, 0
	for w, names := range leads {
		var common []N
		for _, n := range names {
			if by[n] >= sharedBy {
				common = append(common, n)
			}
		}
		if len(common) == 0 || 2*len(common) < len(names) {
			continue
		}
		out[w] = true
		cells += len(common)
		for _, n := range common {
			shared[n] = true
		}
	}
	if len(out) < leastTenants || cells < leastCells || len(shared) < 2 || 2*cells < 3*len(out) {
		return nil
	}
	return out
}

// nameNodes represents the nodes of one name at one place, and what is known of it.
type nameNodes[T any] struct {
	name  string
	nodes []*node[T]
	keys  int64
	class uint64   // of what it leads to
	names []uint64 // that it leads to
}

// evidence holds what is known of the words at one place.
type evidence[T any] struct {
	tenants map[*nameNodes[T]]bool
	classes map[uint64]int // words that lead to the same
	text    *nameNodes[T]  // beside them; nil: there is none
	lost    int64          // keys of it whose word was given up: each may have been a word of its own
}

func newEvidence[T any, P Tally[T]](words []*nameNodes[T], beside *place[T]) *evidence[T] {
	e := &evidence[T]{classes: map[uint64]int{}}
	leads := map[*nameNodes[T]][]uint64{}
	for _, w := range words {
		e.classes[w.class]++
		leads[w] = w.names
	}
	e.tenants = Tenants(leads, func(w *nameNodes[T]) int64 { return w.keys })
	if beside != nil {
		e.text = newWord[T, P](text, beside.nodes)
		for _, n := range beside.nodes {
			e.lost += n.folded
		}
	}
	return e
}

// isValue reports whether a word is one of many that lead to the same with few keys each, or noise, or a stray value of
// the text beside it.
func (e *evidence[T]) isValue(w *nameNodes[T]) bool {
	keys, noise := float64(w.keys), float64(int64(len(e.classes))+e.lost)/otherWords
	return keys < LeastKeys(e.classes[w.class]) || keys < min(manyKeys, noise) ||
		e.text != nil && e.text.class == w.class && w.keys*strayShare <= e.text.keys
}

// seed is of the hashes, which no result depends on.
var seed = maphash.MakeSeed()

// trail is a way that leads from a word, and what is at its end.
type trail struct {
	way  uint64
	name string
	like uint64
}

func (t trail) hash() uint64 { return maphash.Comparable(seed, t) }

func newWord[T any, P Tally[T]](name string, nodes []*node[T]) *nameNodes[T] {
	w := &nameNodes[T]{name: name, nodes: nodes}
	for _, n := range nodes {
		w.keys += n.keys
	}
	var trails []uint64
	w.look(&trails, nodes, 0, 0, likeness[T, P])
	slices.Sort(trails)
	w.class = trail{name: skeleton(name)}.hash()
	for _, t := range slices.Compact(trails) {
		w.class = trail{way: w.class, like: t}.hash()
	}
	slices.Sort(w.names)
	w.names = slices.Compact(w.names)
	return w
}

// lookAhead says how many placeholders in a row are looked through for what a word leads to.
const lookAhead = 3

// look collects what a word leads to: what ends there is distinguished by its likeness, what goes on by its names.
func (w *nameNodes[T]) look(trails *[]uint64, nodes []*node[T], way uint64, depth int,
	likeness func([]*node[T]) (uint64, bool)) {
	if like, ends := likeness(nodes); ends {
		*trails = append(*trails, trail{way: way, like: like}.hash())
	}
	for name, list := range children(nodes) {
		next := trail{way: way, name: name}.hash()
		switch {
		case !isPlaceholder(name):
			w.names = append(w.names, next)
			*trails = append(*trails, next)
		case depth < lookAhead:
			w.look(trails, list, next, depth+1, likeness)
		}
	}
}

// likeness returns the likeness of what ends at some nodes: the one that most keys have.
func likeness[T any, P Tally[T]](nodes []*node[T]) (like uint64, ends bool) {
	byLike := map[uint64]int64{}
	for _, n := range nodes {
		if n.tally != nil {
			byLike[P(n.tally).Likeness()] += P(n.tally).Keys()
		}
	}
	var most int64
	for l, keys := range byLike {
		if keys > most || keys == most && l < like {
			like, most = l, keys
		}
	}
	return like, len(byLike) > 0
}
