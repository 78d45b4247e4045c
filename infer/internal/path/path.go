// Package path makes patterns of the shapes of keys: it merges paths of the tree that differ in data only, names the
// placeholders, and finds what is a typo or noise. What it knows of words is in its tables. It describes no
// values, and writes no declaration.
package path

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/tree"
	"github.com/keywright/keywright/source"
)

// Path represents a way through the tree: the segments of one pattern.
type Path struct {
	Sep      string
	Segments []Segment
	Origins  []*tree.Group // of the tree, whose keys these are
	Software string        // that keeps these keys
	Near     string        // what a word of it may be a misspelling of, and where that is
	*tree.Group
}

// Segment represents one part of a path: a shape, or several words that one placeholder
// replaces.
type Segment struct {
	open  string // braces around it
	shut  string
	Shape string
	Seen  tree.Values
	Words []string // of an enumeration; sorted
	Vocab string   // what the words are called together, "" unknown

	counted bool // a letter or two with many numbers: a name, as few as its keys are
}

// MayBe reports whether a segment may be this word.
func (s *Segment) MayBe(w string) bool {
	return s.Shape == w || tree.HasClass(s.Shape) && len(s.Words) == 0 || slices.Contains(s.Words, w)
}

// IsLiteral reports whether a shape is all words.
func IsLiteral(shape string) bool { return !tree.HasClass(shape) }

// pure: nothing but data.
func pure(shape string) bool { return len(shape) == 1 && class.IsClass(shape[0]) }

// Of returns the ways through the tree, sorted.
func Of(t *tree.Tree) []*Path {
	var out []*Path
	var walk func(n *tree.Node, sep string, segments []Segment)
	walk = func(n *tree.Node, sep string, segments []Segment) {
		if n.Group != nil && n.Group.Keys > 0 {
			out = append(out, &Path{Sep: sep, Segments: slices.Clone(segments), Origins: []*tree.Group{n.Group}, Group: n.Group})
		}
		for _, shape := range slices.Sorted(maps.Keys(n.Children)) {
			c := n.Children[shape]
			if n == &t.Root {
				walk(c, strings.Trim(shape[1:], "\x00"), nil)
				continue
			}
			open, inner, shut := tree.Braces([]byte(shape))
			walk(c, sep, append(segments, constant(Segment{open: string(open), shut: string(shut), Shape: string(inner),
				Seen: c.Seen}, c.Visits)))
		}
	}
	walk(&t.Root, "", nil)
	return out
}

// constant takes a number within a word for a part of the word if it was always
// the same one: md5sum2, v3; app1_user where many keys begin so.
func constant(s Segment, keys int64) Segment {
	if pure(s.Shape) || IsLiteral(s.Shape) || s.Seen.Varied || len(s.Seen.First) == 0 ||
		len(s.Seen.First) > class.MaxSegment {
		return s
	}
	short := len(s.Seen.First) <= 8 && !strings.ContainsRune(s.Shape, rune(class.UUID))
	if class.OneBit(s.Seen.Lens) != 0 && short || keys >= manyOfOne && len(s.Seen.First) < len(s.Shape)+maxConstant &&
		hasNoLong(s.Shape) {
		s.Shape = string(s.Seen.First)
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
		if c := shape[i]; class.IsClass(c) && class.Class(c) != class.Number && class.Class(c) != class.Digits {
			return false
		}
	}
	return true
}

// Generalise merges paths that differ in one segment only, where what differs is
// data and not a name. It goes on until nothing changes; each step makes one
// path less.
func Generalise(paths []*Path) []*Path {
	// Numbers first: words are counted where only words differ.
	for _, rules := range [][]rule{{mergeNumbers, forms}, rules} {
		for changed := true; changed; {
			changed = false
			for at := class.MaxDepth; at >= 0; at-- {
				var merged bool
				paths, merged = mergeAt(paths, at, rules)
				changed = changed || merged
			}
		}
	}
	return paths
}

// mergeAt merges what differs at one segment.
func mergeAt(paths []*Path, at int, rules []rule) ([]*Path, bool) {
	families := map[string][]*Path{}
	for _, p := range paths {
		if at < len(p.Segments) {
			families[p.without(at)] = append(families[p.without(at)], p)
		}
	}
	changed := false
	gone := map[*Path]bool{}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		family := families[name]
		if len(family) < 2 {
			continue
		}
		for _, r := range rules {
			if m := r(family, at); len(m.members) > 1 {
				for _, p := range m.members[1:] {
					m.members[0].Absorb(p)
					gone[p] = true
				}
				s := &m.members[0].Segments[at]
				m.segment.open, m.segment.shut = s.open, s.shut
				*s = m.segment
				changed = true
				break
			}
		}
	}
	return slices.DeleteFunc(paths, func(p *Path) bool { return gone[p] }), changed
}

// without returns what paths must share to be merged at a segment: the other
// segments, the type, and what the values look like.
func (p *Path) without(at int) string {
	var b strings.Builder
	b.WriteString(p.Sep)
	for i, s := range p.Segments {
		b.WriteString(s.open + "\x1f" + s.shut)
		if i != at {
			b.WriteString(anyNumber(s.Shape))
			b.WriteString(strings.Join(s.Words, "\x1e"))
		}
		b.WriteByte(0)
	}
	b.WriteString(p.Kind().String())
	return b.String()
}

// anyNumber returns a shape in which all numbers are alike.
func anyNumber(shape string) string {
	if !tree.HasClass(shape) {
		return shape
	}
	b := []byte(shape)
	for i, c := range b {
		if isNumber(class.Class(c)) {
			b[i] = byte(class.Number)
		}
	}
	return string(b)
}

func isNumber(c class.Class) bool {
	return c == class.Number || c == class.Digits || c == class.Seconds || c == class.Millis || c == class.Decimal
}

// Text returns the path as a pattern.
func (p *Path) Text() string {
	tokens := p.Tokens()
	NameTokens(tokens)
	return Spell(tokens)
}

// Absorb takes the keys of another path, whose segments are wider or the same.
func (p *Path) Absorb(o *Path) {
	g := tree.NewGroup()
	g.Merge(p.Group)
	g.Merge(o.Group)
	p.Group = g
	p.Origins = append(p.Origins, o.Origins...)
	for i := range p.Segments {
		a, b := &p.Segments[i], o.Segments[i]
		switch {
		case a.Shape == b.Shape:
		case pure(a.Shape) && pure(b.Shape):
			a.Shape = widest(a.Shape, b.Shape)
		case anyNumber(a.Shape) == anyNumber(b.Shape):
			a.Shape = wider(a.Shape, b.Shape)
		}
		if IsLiteral(b.Shape) && !IsLiteral(a.Shape) && len(b.Seen.First) == 0 {
			b.Seen.Add([]byte(b.Shape))
			if pure(a.Shape) && len(a.Words) == 0 {
				a.Shape = string(tree.TextShape)
			}
		}
		a.Seen.Merge(&b.Seen)
	}
}

// widest returns the class that has the values of both.
func widest(a, b string) string {
	switch x, y := class.Class(a[0]), class.Class(b[0]); {
	case !isNumber(x) || !isNumber(y):
		return string(tree.TextShape)
	case x == y:
		return a
	case x == class.Decimal || y == class.Decimal:
		return string(rune(class.Decimal))
	case x == class.Digits || y == class.Digits:
		return string(rune(class.Digits))
	}
	return string(rune(class.Number))
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

// IsLock reports whether the words of a path say that a key is held by someone.
func IsLock(p *Path) bool {
	if p.Kind() != source.String || p.TTL.Some == 0 || p.TTL.None > 0 {
		return false
	}
	for _, s := range p.Segments {
		if IsLiteral(s.Shape) || mixed(s.Shape) {
			for _, w := range WordsOf(s.Shape) {
				if lockWords[w] {
					return true
				}
			}
		}
	}
	return false
}

// WordsOf returns the words of a shape, in lower case; camelCase is two.
func WordsOf(shape string) []string {
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
		case class.IsClass(c) || class.Kinds[c] == class.IsDivider:
			flush(i)
		case class.Kinds[c]&class.IsUpper != 0 && i > 0 && class.Kinds[shape[i-1]]&(class.IsLower|class.IsDigit) != 0:
			flush(i)
			start = i
		case start < 0:
			start = i
		}
	}
	flush(len(shape))
	return out
}

// Joint returns a segment that has the values of both; false where the braces differ.
func Joint(a, b Segment) (Segment, bool) {
	if a.open != b.open || a.shut != b.shut {
		return a, false
	}
	words := func(s Segment) []string {
		if IsLiteral(s.Shape) {
			return []string{s.Shape}
		}
		return s.Words
	}
	out := Segment{open: a.open, shut: a.shut, Shape: string(tree.TextShape), Vocab: a.Vocab}
	switch {
	case a.Shape == b.Shape && slices.Equal(a.Words, b.Words):
		return a, true
	case mixed(a.Shape) && len(a.Shape) == len(b.Shape):
		out.Shape = jointShape(a.Shape, b.Shape)
	case words(a) != nil && words(b) != nil:
		out.Words = slices.Compact(slices.Sorted(slices.Values(slices.Concat(words(a), words(b)))))
		out.Vocab = cmp.Or(a.Vocab, b.Vocab)
		if len(out.Words) > maxEnum && out.Vocab == "" || !canEnumerate(out.Words) {
			out.anyText()
		}
	}
	return out, true
}

// jointShape returns a shape with the values of both: where only data differs, its words stay.
func jointShape(a, b string) string {
	out := []byte(a)
	for i := range out {
		x, y := class.Class(a[i]), class.Class(b[i])
		switch {
		case a[i] == b[i]:
		case !class.IsClass(a[i]) || !class.IsClass(b[i]):
			return string(tree.TextShape)
		case x == class.Hex && isNumber(y), y == class.Hex && isNumber(x):
			out[i] = byte(class.Hex)
		default:
			out[i] = widest(a[i:i+1], b[i:i+1])[0]
		}
	}
	return string(out)
}
