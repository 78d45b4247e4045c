package infer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/source"
)

// path represents a way through the tree: the segments of one pattern.
type path struct {
	sep      string
	segments []segment
	origins  []*group // of the tree, whose keys these are
	software string   // that keeps these keys
	*group
}

// segment represents one part of a path: a shape, or several words that one placeholder
// replaces.
type segment struct {
	open  string // braces around it
	shut  string
	shape string
	seen  values
	words []string // of an enumeration; sorted
	vocab string   // what the words are called together, "" unknown

	counted bool // a letter or two with many numbers: a name, as few as its keys are
}

// mayBe reports whether a segment may be this word.
func (s *segment) mayBe(w string) bool {
	return s.shape == w || hasClass(s.shape) && len(s.words) == 0 || slices.Contains(s.words, w)
}

func isLiteral(shape string) bool { return !hasClass(shape) }

// pure: nothing but data.
func pure(shape string) bool { return len(shape) == 1 && isClass(shape[0]) }

// pathsOf returns the ways through the tree, sorted.
func pathsOf(t *tree) []*path {
	var out []*path
	var walk func(n *node, sep string, segments []segment)
	walk = func(n *node, sep string, segments []segment) {
		if n.group != nil && n.group.keys > 0 {
			out = append(out, &path{sep: sep, segments: slices.Clone(segments), origins: []*group{n.group}, group: n.group})
		}
		for _, shape := range slices.Sorted(maps.Keys(n.children)) {
			c := n.children[shape]
			if n == &t.root {
				walk(c, strings.Trim(shape[1:], "\x00"), nil)
				continue
			}
			open, inner, shut := braces([]byte(shape))
			walk(c, sep, append(segments, constant(segment{open: string(open), shut: string(shut), shape: string(inner),
				seen: c.seen}, c.visits)))
		}
	}
	walk(&t.root, "", nil)
	return out
}

// constant takes a number within a word for a part of the word if it was always
// the same one: md5sum2, v3; app1_user where many keys begin so.
func constant(s segment, keys int64) segment {
	if pure(s.shape) || isLiteral(s.shape) || s.seen.varied || len(s.seen.first) == 0 || len(s.seen.first) > maxSegment {
		return s
	}
	short := len(s.seen.first) <= 8 && !strings.ContainsRune(s.shape, rune(uuid))
	if oneBit(s.seen.lens) != 0 && short || keys >= manyOfOne && len(s.seen.first) < len(s.shape)+maxConstant &&
		hasNoLong(s.shape) {
		s.shape = string(s.seen.first)
	}
	return s
}

// manyOfOne is how many keys must have the same number within a word for it to be
// a part of the word; maxConstant, how many more bytes than one it has at most.
const (
	manyOfOne   = 8
	maxConstant = 2
)

// hasNoLong: no class but numbers.
func hasNoLong(shape string) bool {
	for i := range len(shape) {
		if c := shape[i]; isClass(c) && class(c) != number && class(c) != digits {
			return false
		}
	}
	return true
}

// generalise merges paths that differ in one segment only, where what differs is
// data and not a name. It goes on until nothing changes; each step makes one
// path less.
func generalise(paths []*path) []*path {
	for _, rules := range [][]rule{{numbers, forms}, rules} { // numbers first: words are counted where only words differ
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

// without returns what paths must share to be merged at a segment: the other
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

// anyNumber returns a shape in which all numbers are alike.
func anyNumber(shape string) string {
	if !hasClass(shape) {
		return shape
	}
	b := []byte(shape)
	for i, c := range b {
		if isNumber(class(c)) {
			b[i] = byte(number)
		}
	}
	return string(b)
}

func isNumber(c class) bool {
	return c == number || c == digits || c == seconds || c == millis || c == decimal
}

// text returns the path as a pattern.
func (p *path) text() string {
	tokens := p.tokens()
	nameTokens(tokens)
	return spell(tokens)
}

// absorb takes the keys of another path, whose segments are wider or the same.
func (p *path) absorb(o *path) {
	g := newGroup()
	g.merge(p.group)
	g.merge(o.group)
	p.group = g
	p.origins = append(p.origins, o.origins...)
	for i := range p.segments {
		a, b := &p.segments[i], o.segments[i]
		switch {
		case a.shape == b.shape:
		case pure(a.shape) && pure(b.shape):
			a.shape = widest(a.shape, b.shape)
		case anyNumber(a.shape) == anyNumber(b.shape):
			a.shape = wider(a.shape, b.shape)
		}
		if isLiteral(b.shape) && !isLiteral(a.shape) && len(b.seen.first) == 0 {
			b.seen.add([]byte(b.shape))
			if pure(a.shape) && len(a.words) == 0 {
				a.shape = string(textShape)
			}
		}
		a.seen.merge(&b.seen)
	}
}

// widest returns the class that has the values of both.
func widest(a, b string) string {
	switch x, y := class(a[0]), class(b[0]); {
	case !isNumber(x) || !isNumber(y):
		return string(textShape)
	case x == y:
		return a
	case x == decimal || y == decimal:
		return string(rune(decimal))
	case x == digits || y == digits:
		return string(rune(digits))
	}
	return string(rune(number))
}

// wider returns a shape that has the values of two that differ in numbers only.
func wider(a, b string) string {
	out := []byte(a)
	for i := range out {
		if a[i] != b[i] {
			out[i] = widest(a[i:i+1], b[i:i+1])[0]
		}
	}
	return string(out)
}

func isLock(p *path) bool {
	if p.kind() != source.String || p.ttl.some == 0 || p.ttl.none > 0 {
		return false
	}
	for _, s := range p.segments {
		if isLiteral(s.shape) || mixed(s.shape) {
			for _, w := range wordsOf(s.shape) {
				if lockWords[w] {
					return true
				}
			}
		}
	}
	return false
}

// wordsOf returns the words of a shape, in lower case; camelCase is two.
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

// joint returns a segment that has the values of both; false where the braces differ.
func joint(a, b segment) (segment, bool) {
	if a.open != b.open || a.shut != b.shut {
		return a, false
	}
	words := func(s segment) []string {
		if isLiteral(s.shape) {
			return []string{s.shape}
		}
		return s.words
	}
	out := segment{open: a.open, shut: a.shut, shape: string(textShape), vocab: a.vocab}
	switch {
	case a.shape == b.shape && slices.Equal(a.words, b.words):
		return a, true
	case mixed(a.shape) && len(a.shape) == len(b.shape):
		out.shape = jointShape(a.shape, b.shape)
	case words(a) != nil && words(b) != nil:
		out.words = slices.Compact(slices.Sorted(slices.Values(slices.Concat(words(a), words(b)))))
		out.vocab = cmp.Or(a.vocab, b.vocab)
		if len(out.words) > maxEnum && out.vocab == "" || !canEnumerate(out.words) {
			out.anyText()
		}
	}
	return out, true
}

// jointShape returns a shape with the values of both: where only data differs, its words stay.
func jointShape(a, b string) string {
	out := []byte(a)
	for i := range out {
		x, y := class(a[i]), class(b[i])
		switch {
		case a[i] == b[i]:
		case !isClass(a[i]) || !isClass(b[i]):
			return string(textShape)
		case x == hex && isNumber(y), y == hex && isNumber(x):
			out[i] = byte(hex)
		default:
			out[i] = widest(a[i:i+1], b[i:i+1])[0]
		}
	}
	return string(out)
}
