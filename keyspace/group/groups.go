package group

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Group represents keys whose names one pattern has.
type Group[T any] struct {
	Space   int
	Pattern string
	Tally   *T     // the group's own
	Folds   []Fold // the placeholders that stand for words, in their order
	Lost    int64  // keys whose word was given up for want of nodes
	varies  bool   // it has a placeholder
	slip    bool
}

// Fold says which words became one placeholder.
type Fold struct {
	Placeholder string   // as in the pattern: {tenant}
	Words       int      // how many there were
	Names       []string // a few of them, those with the most keys
}

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
	// A word beside a text that has so many times its keys, and leads to the same, is one of its values.
	strayShare = 64
)

// shownNames bounds the words that a fold names.
const shownNames = 3

// Groups decides what is a name and what is a value, and returns the groups, in the order of their patterns. Words are
// values of a placeholder
//
//   - where eight or more of them lead to the same two names or more (acme:user:…, acme:order:…, globex:user:…): tenants;
//   - where they lead to the same things of one type, and have few keys beside the number of words: 50 keys make a name
//     in any case;
//   - where there are many of them with next to no keys, whatever they lead to;
//   - where they are beside a text that has many times their keys.
//
// A word of which known says so stays one: known is asked with what was counted of one of the groups that the word leads
// to; nil: none is known. Together the groups have all keys. The tree stays as it is.
func (t *Tree[T, P]) Groups(known func(P) bool) []Group[T] {
	g := grouper[T, P]{known: known}
	for _, space := range slices.Sorted(maps.Keys(t.roots)) {
		g.space = space
		g.resolve([]*node[T]{t.roots[space]}, nil)
	}
	slices.SortFunc(g.out, func(a, b Group[T]) int {
		return cmp.Or(strings.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Space, b.Space))
	})
	return g.out
}

// grouper makes groups of a tree.
type grouper[T any, P Tally[T]] struct {
	out   []Group[T]
	space int
	known func(P) bool
}

// part represents a segment of a group.
type part struct {
	name string
	fold *Fold
	lost int64
}

// word represents the nodes of one name at one place, and what is known of it.
type word[T any] struct {
	name      string
	nodes     []*node[T]
	keys      int64
	class     uint64   // of what it leads to
	followers []uint64 // the names that it leads to
}

// resolve makes the groups of what ends at a place or comes through it: of several nodes, where words were folded.
func (g *grouper[T, P]) resolve(nodes []*node[T], parts []part) {
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
		one := newGroup[T](ends, parts)
		one.Space = g.space
		g.out = append(g.out, one)
	}
	for _, f := range g.fold(nodes, len(parts) == 0) {
		lost := int64(0)
		for _, n := range f.nodes {
			lost += n.folded
		}
		g.resolve(f.nodes, append(slices.Clip(parts), part{f.name, f.fold, lost}))
	}
}

// folded represents what follows a place: a name, or a placeholder for several.
type folded[T any] struct {
	name  string
	nodes []*node[T]
	fold  *Fold
}

// fold decides which of the words that follow a place are one.
func (g *grouper[T, P]) fold(nodes []*node[T], first bool) []folded[T] {
	byName := children(nodes)
	if digit, both := byName[digits]; both { // 7 and 007
		byName[digits] = append(digit, byName["{int}"]...)
		delete(byName, "{int}")
	}
	var words []*word[T]
	into := map[string]*folded[T]{}
	many, wide := 0, map[string]*word[T]{} // texts, by the separator of first segments
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		bare, sep := name, ""
		if first {
			sep, bare = name[:1], name[1:]
		}
		w := newWord[T, P](name, byName[name], first)
		switch {
		case isPlaceholder(bare):
			into[name] = &folded[T]{name: name, nodes: w.nodes}
			if bare == text {
				wide[sep] = w
				for _, n := range w.nodes {
					many += int(n.folded)
				}
			}
		case isSlipName(bare):
			into[name] = &folded[T]{name: name, nodes: w.nodes}
		default:
			words = append(words, w)
		}
	}
	tenants := tenantsOf(words)
	classes := map[uint64]int{}
	for _, w := range words {
		classes[w.class]++
	}
	many += len(classes)
	for _, w := range words {
		least := min(manyKeys, max(float64(classes[w.class])/sameWords, float64(many)/otherWords))
		beside := wide[separator(w.name, first)]
		switch {
		case tenants[w] && first:
			put(into, w, w.name[:1]+"{tenant}")
		case tenants[w]:
			put(into, w, text)
		case (float64(w.keys) < least || beside != nil && beside.class == w.class && w.keys*strayShare <= beside.keys) &&
			!g.knows(w):
			put(into, w, skeleton(w.name, first))
		default:
			into[w.name] = &folded[T]{name: w.name, nodes: w.nodes}
		}
	}
	var out []folded[T]
	for _, name := range slices.Sorted(maps.Keys(into)) {
		out = append(out, *into[name])
	}
	return out
}

// knows reports whether a word is to stay one whatever it leads to.
func (g *grouper[T, P]) knows(w *word[T]) bool {
	n := w.nodes[0]
	for n.tally == nil {
		n = n.sorted()[0].node
	}
	return g.known != nil && g.known(n.tally)
}

func separator(name string, first bool) string {
	if first {
		return name[:1]
	}
	return ""
}

// put adds a word to what stands for it. Words come in order; those with the most keys are named.
func put[T any](into map[string]*folded[T], w *word[T], name string) {
	f := into[name]
	if f == nil {
		f = &folded[T]{name: name}
		into[name] = f
	}
	if f.fold == nil {
		f.fold = &Fold{}
	}
	f.nodes = append(f.nodes, w.nodes...)
	f.fold.Words++
	f.fold.Names = append(f.fold.Names, w.name+"\x00"+strconv.FormatInt(w.keys, 10))
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

// basis and prime are those of FNV-1a.
const (
	basis = 14695981039346656037
	prime = 1099511628211
)

func hashed(h uint64, p string) uint64 {
	for i := range len(p) {
		h = (h ^ uint64(p[i])) * prime
	}
	return (h ^ 0xff) * prime
}

func newWord[T any, P Tally[T]](name string, nodes []*node[T], first bool) *word[T] {
	w := &word[T]{name: name, nodes: nodes}
	for _, n := range nodes {
		w.keys += n.keys
	}
	var features []uint64
	w.look(&features, nodes, basis, 0, likeness[T, P])
	slices.Sort(features)
	w.class = hashed(basis, skeleton(name, first))
	for _, f := range slices.Compact(features) {
		w.class = (w.class ^ f) * prime
	}
	slices.Sort(w.followers)
	w.followers = slices.Compact(w.followers)
	return w
}

// lookAhead says how many placeholders in a row are looked through for what a word leads to.
const lookAhead = 3

// look collects what a word leads to: what ends there is told apart by its likeness, what goes on by its names.
func (w *word[T]) look(features *[]uint64, nodes []*node[T], at uint64, depth int,
	likeness func([]*node[T]) (uint64, bool)) {
	if like, ends := likeness(nodes); ends {
		*features = append(*features, hashed(at, "=")^like*prime)
	}
	for name, list := range children(nodes) {
		h := hashed(at, name)
		switch {
		case !isPlaceholder(name):
			w.followers = append(w.followers, h)
			*features = append(*features, h)
		case depth < lookAhead:
			w.look(features, list, h, depth+1, likeness)
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

// tenantsOf returns the words that lead to the same names as others: nothing if they are too few to tell.
func tenantsOf[T any](words []*word[T]) map[*word[T]]bool {
	by := map[uint64]int{}
	for _, w := range words {
		for _, f := range w.followers {
			by[f]++
		}
	}
	out, cells, names := map[*word[T]]bool{}, 0, map[uint64]bool{}
	for _, w := range words {
		var shared []uint64
		for _, f := range w.followers {
			if by[f] >= sharedBy {
				shared = append(shared, f)
			}
		}
		if len(shared) > 0 && 2*len(shared) >= len(w.followers) {
			out[w] = true
			cells += len(shared)
			for _, f := range shared {
				names[f] = true
			}
		}
	}
	if len(out) < leastTenants || cells < leastCells || len(names) < 2 || cells < 3*len(out)/2 {
		return nil
	}
	return out
}

// skeleton returns what stands for a word: a text, and for words beside placeholders their form: {text}_{int}.
func skeleton(name string, first bool) string {
	sep := separator(name, first)
	name = name[len(sep):]
	if !hasPlaceholder(name) {
		return sep + text
	}
	var out strings.Builder
	out.WriteString(sep)
	in := false // a word
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '\\':
			out.WriteString(name[i:min(i+2, len(name))])
			i++
			in = false
		case c == '{' && strings.IndexByte(name[i:], '}') > 0:
			end := i + strings.IndexByte(name[i:], '}')
			out.WriteString(name[i : end+1])
			i, in = end, false
		case strings.IndexByte(dividers, c) >= 0:
			out.WriteByte(c)
			in = false
		case !in:
			out.WriteString(text)
			in = true
		}
	}
	return out.String()
}

// hasPlaceholder reports whether a name has a placeholder in it: a brace that is none of the key's.
func hasPlaceholder(name string) bool {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case '{':
			return true
		}
	}
	return false
}

// newGroup makes the group of the keys that end after some parts.
func newGroup[T any, P Tally[T]](tally P, parts []part) Group[T] {
	g := Group[T]{Tally: tally}
	sep := parts[0].name[:1]
	var names []string
	for i, p := range parts {
		name := p.name
		if i == 0 {
			name = name[1:]
		}
		names = append(names, name)
		g.Lost = max(g.Lost, min(p.lost, tally.Keys()))
	}
	n := &numbering{seen: map[string]int{}}
	for i, name := range names {
		names[i] = n.number(name)
		g.varies = g.varies || hasPlaceholder(name)
		g.slip = g.slip || isSlipName(name)
		if f := parts[i].fold; f != nil {
			g.Folds = append(g.Folds, Fold{cmp.Or(n.first, names[i]), f.Words, named(f.Names, i == 0)})
		}
	}
	g.Pattern = strings.Join(names, sep)
	return g
}

// named returns the words of a fold that have the most keys.
func named(words []string, first bool) []string {
	type counted struct {
		name string
		keys int
	}
	var list []counted
	for _, w := range words {
		name, keys, _ := strings.Cut(w, "\x00")
		if first {
			name = name[1:]
		}
		n, _ := strconv.Atoi(keys)
		list = append(list, counted{name, n})
	}
	slices.SortFunc(list, func(a, b counted) int { return cmp.Or(cmp.Compare(b.keys, a.keys), strings.Compare(a.name, b.name)) })
	var out []string
	for _, c := range list[:min(len(list), shownNames)] {
		out = append(out, c.name)
	}
	return out
}

// numbering makes the placeholders of a pattern differ: {int}, {int_2}.
type numbering struct {
	seen  map[string]int
	first string // the first placeholder of the segment in hand
}

func (n *numbering) number(name string) string {
	var out strings.Builder
	n.first = ""
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			out.WriteString(name[i:min(i+2, len(name))])
			i++
		case '{':
			end := i + strings.IndexByte(name[i:], '}')
			if end < i {
				return out.String() + name[i:]
			}
			p := name[i+1 : end]
			if n.seen[p]++; n.seen[p] > 1 {
				p += "_" + strconv.Itoa(n.seen[p])
			}
			out.WriteString("{" + p + "}")
			n.first = cmp.Or(n.first, "{"+p+"}")
			i = end
		default:
			out.WriteByte(name[i])
		}
	}
	return out.String()
}

// isSlipName reports whether a segment as a pattern has it is a mistake of the program that wrote the key.
func isSlipName(name string) bool {
	return isSlip([]byte(strings.ReplaceAll(name, `\`, "")))
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
