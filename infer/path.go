package infer

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/keywright/keywright/source"
)

// path is a way through the tree: the segments of one pattern.
type path struct {
	sep      string
	segments []segment
	*group
}

// segment is one part of a path: a shape, or several words that one placeholder
// stands for.
type segment struct {
	open  string // braces around it
	shut  string
	shape string
	seen  values
	words []string // of an enumeration; sorted
	vocab string   // what the words are called together, "" unknown
}

func word(shape string) bool { return !hasClass(shape) }

// pure: nothing but data.
func pure(shape string) bool { return len(shape) == 1 && isClass(shape[0]) }

// paths are the ways through the tree, sorted.
func (t *tree) paths() []*path {
	var out []*path
	var walk func(n *node, sep string, segments []segment)
	walk = func(n *node, sep string, segments []segment) {
		if n.group != nil && n.group.keys > 0 {
			out = append(out, &path{sep, slices.Clone(segments), n.group})
		}
		for _, shape := range slices.Sorted(maps.Keys(n.children)) {
			c := n.children[shape]
			if n == &t.root {
				walk(c, strings.Trim(shape[1:], "\x00"), nil)
				continue
			}
			open, inner, shut := braces([]byte(shape))
			walk(c, sep, append(segments, constant(segment{open: string(open), shut: string(shut), shape: string(inner), seen: c.seen})))
		}
	}
	walk(&t.root, "", nil)
	return out
}

// constant takes a number within a word for a part of the word if it was always
// the same one: md5sum2, v3.
func constant(s segment) segment {
	if pure(s.shape) || word(s.shape) || s.seen.varied || len(s.seen.first) == 0 || len(s.seen.first) > maxSegment {
		return s
	}
	if bits.OnesCount64(s.seen.lens) == 1 && !strings.ContainsRune(s.shape, rune(uuid)) && len(s.seen.first) <= 8 {
		s.shape = string(s.seen.first)
	}
	return s
}

// generalise merges paths that differ in one segment only, where what differs is
// data and not a name. It goes on until nothing changes; each step makes one
// path less.
func generalise(paths []*path) []*path {
	for _, rules := range [][]rule{{numbers}, rules} { // numbers first: words are counted where only words differ
		for changed := true; changed; {
			changed = false
			for at := maxDepth; at >= 0; at-- {
				var merged bool
				paths, merged = mergeAt(paths, at, rules)
				changed = changed || merged
			}
		}
	}
	return paths
}

// mergeAt merges what differs at one segment.
func mergeAt(paths []*path, at int, rules []rule) ([]*path, bool) {
	families := map[string][]*path{}
	for _, p := range paths {
		if at < len(p.segments) {
			families[p.without(at)] = append(families[p.without(at)], p)
		}
	}
	changed := false
	gone := map[*path]bool{}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		family := families[name]
		if len(family) < 2 {
			continue
		}
		for _, r := range rules {
			if m := r(family, at); len(m.members) > 1 {
				for _, p := range m.members[1:] {
					m.members[0].absorb(p)
					gone[p] = true
				}
				s := &m.members[0].segments[at]
				m.segment.open, m.segment.shut = s.open, s.shut
				*s = m.segment
				changed = true
				break
			}
		}
	}
	return slices.DeleteFunc(paths, func(p *path) bool { return gone[p] }), changed
}

// without is what paths must share to be merged at a segment: the other
// segments, the type, and what the values look like.
func (p *path) without(at int) string {
	var b strings.Builder
	b.WriteString(p.sep)
	for i, s := range p.segments {
		b.WriteString(s.open + "\x1f" + s.shut)
		if i != at {
			b.WriteString(anyNumber(s.shape))
			b.WriteString(strings.Join(s.words, "\x1e"))
		}
		b.WriteByte(0)
	}
	b.WriteString(p.kind().String())
	return b.String()
}

// anyNumber is a shape in which all numbers are alike.
func anyNumber(shape string) string {
	if len(shape) == 1 && isNumber(class(shape[0])) {
		return string(rune(number))
	}
	return shape
}

func isNumber(c class) bool { return c == number || c == digits || c == seconds || c == millis }

// absorb takes the keys of another path, whose segments are wider or the same.
func (p *path) absorb(o *path) {
	g := newGroup()
	g.merge(p.group)
	g.merge(o.group)
	p.group = g
	for i := range p.segments {
		a, b := &p.segments[i], o.segments[i]
		if pure(a.shape) && pure(b.shape) && a.shape != b.shape {
			a.shape = widest(a.shape, b.shape)
		}
		if word(b.shape) && !word(a.shape) && len(b.seen.first) == 0 {
			b.seen.add([]byte(b.shape))
			if pure(a.shape) && len(a.words) == 0 {
				a.shape = string(textShape)
			}
		}
		a.seen.merge(&b.seen)
	}
}

// widest is the class that has the values of both.
func widest(a, b string) string {
	switch x, y := class(a[0]), class(b[0]); {
	case !isNumber(x) || !isNumber(y):
		return string(textShape)
	case x == digits || y == digits:
		return string(rune(digits))
	}
	return string(rune(number))
}

// merge is some members of a family, and the segment they share from now on.
type merge struct {
	members []*path
	segment segment
}

// rule says which of a family are one, if any.
type rule func(family []*path, at int) merge

// rules decide what is data. The first that applies is taken.
var rules = []rule{numbers, texts, mixtures, standIns, vocabulary, collections}

// numbers: digits of any kind are one number; a date among them is not.
func numbers(family []*path, at int) merge {
	return pick(family, at, func(s segment) bool { return pure(s.shape) && isNumber(class(s.shape[0])) && len(s.words) == 0 }, func(members []*path, at int) segment {
		shape := members[0].segments[at].shape
		for _, p := range members {
			if s := p.segments[at].shape; s != shape {
				shape = widest(shape, s)
			}
		}
		return segment{shape: shape}
	})
}

// texts: different kinds of data are a text, hex that happens to be a number is
// hex.
func texts(family []*path, at int) merge {
	if settled(family, at) {
		return merge{}
	}
	return pick(family, at, func(s segment) bool {
		return pure(s.shape) || len(s.words) == 0 && mixed(s.shape) && hasText(family, at)
	}, func(members []*path, at int) segment {
		only := map[string]bool{}
		lens := uint64(0)
		for _, p := range members {
			only[p.segments[at].shape] = true
			lens |= p.segments[at].seen.lens
		}
		if len(only) == 1 {
			return segment{shape: members[0].segments[at].shape}
		}
		delete(only, string(rune(number)))
		delete(only, string(rune(digits)))
		if len(only) == 1 && only[string(rune(hex))] && bits.OnesCount64(lens) == 1 {
			return segment{shape: string(rune(hex))}
		}
		return segment{shape: string(textShape)}
	})
}

// settled: nearly all keys have one narrow class there; the others are slips, and
// stay apart.
func settled(family []*path, at int) bool {
	var all, most int64
	shape := ""
	for _, p := range family {
		if all += p.keys; p.keys > most {
			most, shape = p.keys, p.segments[at].shape
		}
	}
	return all >= 50 && float64(most) >= (1-slip)*float64(all) && pure(shape) && shape != string(textShape) && shape != string(rune(hex))
}

func mixed(shape string) bool { return hasClass(shape) && !pure(shape) }

func hasText(family []*path, at int) bool {
	return slices.ContainsFunc(family, func(p *path) bool { return p.segments[at].shape == string(textShape) })
}

// How many shapes must differ in words only to be one text (amber-12, birch-7
// and cedar-9): some where each has few keys, more where they may be families of
// keys (user_12, order_7), and many at the beginning of keys, where names stand.
const (
	alike      = 3
	manyAlike  = 12
	mostAlike  = 64
	fewPerWord = 4
)

// mixtures: words beside numbers, of which there are several, are data too.
func mixtures(family []*path, at int) merge {
	bySkeleton := map[string][]*path{}
	for _, p := range family {
		if s := p.segments[at].shape; mixed(s) {
			bySkeleton[skeleton(s)] = append(bySkeleton[skeleton(s)], p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bySkeleton)) {
		members := bySkeleton[name]
		var keys int64
		for _, p := range members {
			keys += p.keys
		}
		if n := len(members); n >= mostAlike || at > 0 && (n >= manyAlike || n >= alike && keys <= int64(fewPerWord*n)) {
			return merge{members, segment{shape: string(textShape)}}
		}
	}
	return merge{}
}

// skeleton has one letter for each word.
func skeleton(shape string) string {
	var b strings.Builder
	in := false
	for i := range len(shape) {
		c := shape[i]
		letter := !isClass(c) && kinds[c] != isDivider
		if letter && !in {
			b.WriteByte('w')
		}
		if in = letter; !letter {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// standIns: words that stand where an id would.
func standIns(family []*path, at int) merge {
	if !slices.ContainsFunc(family, func(p *path) bool { return pure(p.segments[at].shape) }) {
		return merge{}
	}
	return pick(family, at, func(s segment) bool {
		return pure(s.shape) || len(s.words) == 0 && insteadOfID[strings.ToLower(s.shape)]
	}, func(members []*path, at int) segment {
		for _, p := range members {
			if s := &p.segments[at]; word(s.shape) {
				s.seen.add([]byte(s.shape))
			}
		}
		return segment{shape: string(textShape)}
	})
}

// vocabulary: words that are known to go together.
func vocabulary(family []*path, at int) merge {
	for _, v := range vocabularies {
		m := pick(family, at, func(s segment) bool {
			if len(s.words) > 0 {
				return s.vocab == v.name
			}
			return word(s.shape) && v.has[s.shape]
		}, enumeration(v.name))
		if len(m.members) >= 2 && (!v.weak && sameTTLs(m.members) || sameContent(m.members)) && (!v.weak || at == len(family[0].segments)-1 && len(m.segment.words) >= fewWords) {
			return m
		}
	}
	return merge{}
}

func enumeration(vocab string) func([]*path, int) segment {
	return func(members []*path, at int) segment {
		var words []string
		for _, p := range members {
			if s := p.segments[at]; len(s.words) > 0 {
				words = append(words, s.words...)
			} else {
				words = append(words, s.shape)
			}
		}
		slices.Sort(words)
		return segment{shape: string(textShape), words: slices.Compact(words), vocab: vocab}
	}
}

// How many words, alike in all they lead to, are taken for values of one
// placeholder: few at the end of collections and within locks, many elsewhere,
// where they are more likely names of different things.
const (
	fewWords  = 3
	manyWords = 8
	mostWords = 16
)

// collections: many words in the same place that lead to the same things.
func collections(family []*path, at int) merge {
	last := at == len(family[0].segments)-1
	kind := family[0].kind()
	enough := mostWords
	switch {
	case at == 0:
		return merge{}
	case last && kind != source.String && kind != source.Hash:
		enough = fewWords
	case last, isLock(family[0]):
		enough = manyWords
	}
	if isLock(family[0]) && !last {
		enough = fewWords
	}
	m := pick(family, at, func(s segment) bool { return word(s.shape) && s.shape != "" }, enumeration(""))
	if len(m.segment.words) < enough || !sameContent(m.members) {
		return merge{}
	}
	if len(m.segment.words) > mostWords {
		for _, w := range m.segment.words {
			m.segment.seen.add([]byte(w))
		}
		m.segment.words = nil
	}
	return m
}

// sameTTLs: all of them expire, or none.
func sameTTLs(family []*path) bool {
	return !slices.ContainsFunc(family, func(p *path) bool { return (p.ttl.none == 0) != (family[0].ttl.none == 0) })
}

// sameContent: TTLs of one kind, and values of one kind.
func sameContent(family []*path) bool {
	for _, p := range family[1:] {
		if p.signature() != family[0].signature() {
			return false
		}
	}
	return true
}

// signature is what the keys of a group have in common besides their names.
func (g *group) signature() string {
	s := g.kind().String()
	switch {
	case g.ttl.none == 0:
		s += " expires"
	case g.ttl.some > 0:
		s += " either"
	}
	if g.values == nil {
		return s
	}
	switch g.kind() {
	case source.String:
		s += " " + g.values.whole.typ(0)
	case source.Hash:
		if f := &g.values.fields; f.fixed() {
			s += " " + strings.Join(slices.Sorted(maps.Keys(f.byName)), ",")
		}
	case source.List, source.Set, source.ZSet:
		s += " " + g.values.member.typ(0) + " " + g.values.scores.typ()
	}
	return s
}

// pick takes the members of a family whose segment is such, if there are two.
func pick(family []*path, at int, such func(segment) bool, then func([]*path, int) segment) merge {
	var members []*path
	for _, p := range family {
		if such(p.segments[at]) {
			members = append(members, p)
		}
	}
	if len(members) < 2 {
		return merge{}
	}
	s := then(members, at)
	for _, p := range members {
		s.seen.merge(&p.segments[at].seen)
	}
	return merge{members, s}
}

func oneBit(lens uint64) int {
	if bits.OnesCount64(lens) != 1 || lens == 1<<63 {
		return 0
	}
	return bits.TrailingZeros64(lens)
}

func join(words []string) string { return strings.Join(words, "|") }

func isLock(p *path) bool {
	if p.kind() != source.String || p.ttl.some == 0 || p.ttl.none > 0 {
		return false
	}
	for _, s := range p.segments {
		if word(s.shape) || mixed(s.shape) {
			for _, w := range wordsOf(s.shape) {
				if lockWords[w] {
					return true
				}
			}
		}
	}
	return false
}

// wordsOf are the words of a shape, in lower case; camelCase is two.
func wordsOf(shape string) []string {
	var out []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			out = append(out, strings.ToLower(shape[start:end]))
		}
		start = -1
	}
	for i := range len(shape) {
		c := shape[i]
		switch {
		case isClass(c) || kinds[c] == isDivider:
			flush(i)
		case kinds[c]&isUpper != 0 && i > 0 && kinds[shape[i-1]]&(isLower|isDigit) != 0:
			flush(i)
			start = i
		case start < 0:
			start = i
		}
	}
	flush(len(shape))
	return out
}
