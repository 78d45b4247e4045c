package infer

import (
	"bytes"
	"maps"
	"slices"

	keygroup "github.com/keywright/keywright/keyspace/group"
)

// Bounds of the tree. Beyond maxWords children of words a node's become one
// text, beyond maxMixed those of words and data; beyond maxNodes new keys end
// as {rest} where they are.
const (
	maxWords = 64
	maxRoots = 400
	maxMixed = 12
	maxNodes = 40_000
)

// tree groups keys by the shapes of their segments.
type tree struct {
	root    node
	nodes   int
	sampled int // groups with a sample of values
}

// node represents one segment of a key; group is what ends here.
type node struct {
	children map[string]*node
	words    int // children that are words only
	mixed    int // children of words and data
	seen     values
	visits   int64 // keys that came through
	group    *group
	first    bool // below it are the first segments of keys: names more often than data
	texts    bool // words are taken for text
	mixes    bool // and so is what is mixed
}

// values describes what is known of the values of a segment.
type values struct {
	first  []byte // one of them, the smallest
	varied bool   // there are others
	lens   uint64 // lengths, as bits; the last for all longer
	bytes  byte   // kinds of bytes
}

func newTree() *tree { return &tree{} }

func (t *tree) insert(name []byte, s *scratch) *group {
	sep := separatorOf(name)
	n := t.child(&t.root, place{shape: append(s.buf[:0], '<', sep), fixed: true}, s)
	n.first = true
	for at, depth := 0, 0; at >= 0; depth++ {
		var p place
		if t.nodes >= maxNodes && depth > 0 {
			p, at = place{segment: name[at:], shape: s.one(rest)}, -1
		} else {
			p, at = placeAt(name, sep, at, depth, s)
		}
		n = t.child(n, p, s)
	}
	return t.end(n)
}

// end returns the group of the keys that end at a node.
func (t *tree) end(n *node) *group {
	if n.group == nil {
		n.group = newGroup()
		n.group.sampled = &t.sampled
	}
	return n.group
}

// placeAt returns the segment of a name that begins at a byte, and where the next one
// does, -1 after the last.
func placeAt(name []byte, sep byte, at, depth int, s *scratch) (place, int) {
	segment, next := name[at:], -1
	if sep != 0 {
		if i := bytes.IndexByte(segment, sep); i >= 0 {
			segment, next = segment[:i], at+i+1
		}
	}
	if depth == maxDepth && next >= 0 {
		return place{segment: name[at:], shape: s.one(rest)}, -1
	}
	var p place
	p.open, p.segment, p.shut = braces(segment)
	p.shape, p.fixed = s.shape(p.segment)
	return p, next
}

// place represents a segment of a key: the braces around it, and the shape of what is
// between them. fixed is true if that is all words.
type place struct {
	open, segment, shut []byte
	shape               []byte
	fixed               bool
}

// braces parts a segment from the braces around it.
func braces(segment []byte) (open, inner, shut []byte) {
	if len(segment) == 0 || segment[0] != '{' && segment[len(segment)-1] != '}' {
		return nil, segment, nil
	}
	inner = bytes.TrimLeft(segment, "{")
	open = segment[:len(segment)-len(inner)]
	rest := bytes.TrimRight(inner, "}")
	return open, rest, inner[len(rest):]
}

// name returns what a node calls its child at this place.
func (p *place) name(s *scratch) []byte {
	if len(p.open)+len(p.shut) == 0 {
		return p.shape
	}
	return append(append(append(s.name[:0], p.open...), p.shape...), p.shut...)
}

func (t *tree) child(n *node, p place, s *scratch) *node {
	name := p.name(s)
	c := n.children[string(name)]
	if c == nil && (p.fixed && n.texts || !p.fixed && len(p.shape) > 1 && n.mixes) {
		p.shape, p.fixed = textShape, false
		name = p.name(s)
		c = n.children[string(name)]
	}
	if c == nil {
		c = t.add(n, string(name), p.fixed)
		p.fixed = p.fixed && n.children[string(name)] == c
	}
	c.visits++
	if !p.fixed {
		c.seen.add(p.segment)
	}
	return c
}

var textShape = []byte{byte(text)}

// textual returns the name of a child whose data became a text.
func textual(name string) string {
	open, _, shut := braces([]byte(name))
	return string(open) + string(textShape) + string(shut)
}

func (t *tree) add(n *node, name string, fixed bool) *node {
	limit, limitMixed := maxWords, maxMixed
	if n.first {
		limit, limitMixed = maxRoots, maxWords
	}
	switch mixed := isMixed(name); {
	case fixed && n.words >= limit:
		n.texts = true
		t.collapse(n, func(s string) bool { return !hasClass(s) && !n.stands(s) })
		return t.leaf(n, textual(name))
	case mixed && n.mixed >= limitMixed:
		n.mixes = true
		t.collapse(n, func(s string) bool { return isMixed(s) && !n.stands(s) })
		return t.leaf(n, textual(name))
	case fixed:
		n.words++
	case mixed:
		n.mixed++
	}
	return t.leaf(n, name)
}

// heavy is how many times more keys than its fellows a word must have, and how
// many such words there may be, to stay one when they become a text.
const (
	heavy         = 16
	maxHeavy      = 1000
	maxRootsHeavy = 1000
)

// is: a word with so many keys is a name among data.
func (n *node) stands(name string) bool {
	var all int64
	more := 0
	for _, c := range n.children {
		all += c.visits
		if c.visits > n.children[name].visits {
			more++
		}
	}
	mine := n.children[name].visits
	return more < maxHeavy && (mine > heavy*(all-mine)/int64(len(n.children)) ||
		float64(mine) >= keygroup.LeastKeys(len(n.children)))
}

// isMixed: words and data in one.
func isMixed(name string) bool {
	_, inner, _ := braces([]byte(name))
	return len(inner) > 1 && hasClass(string(inner))
}

func hasClass(shape string) bool {
	for i := range len(shape) {
		if isClass(shape[i]) {
			return true
		}
	}
	return false
}

func (t *tree) leaf(n *node, shape string) *node {
	if c := n.children[shape]; c != nil {
		return c
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	c := &node{}
	n.children[shape] = c
	t.nodes++
	return c
}

// collapse merges the children whose shape is such into one text.
func (t *tree) collapse(n *node, such func(name string) bool) {
	for _, name := range slices.Sorted(maps.Keys(n.children)) { // in order: what is merged first may decide
		to := textual(name)
		if name == to || !such(name) {
			continue
		}
		c := n.children[name]
		delete(n.children, name)
		t.nodes--
		if !hasClass(name) {
			_, inner, _ := braces([]byte(name))
			c.seen.add(inner)
		}
		t.merge(t.leaf(n, to), c)
	}
}

func (t *tree) merge(into, from *node) {
	into.visits += from.visits
	into.seen.merge(&from.seen)
	if from.group != nil {
		if into.group == nil {
			into.group = newGroup()
		}
		into.group.merge(from.group)
	}
	for _, name := range slices.Sorted(maps.Keys(from.children)) {
		c := from.children[name]
		t.nodes--
		fixed := !hasClass(name)
		to := name
		if fixed && into.texts || isMixed(name) && into.mixes {
			to, fixed = textual(name), false
		}
		dst := into.children[to]
		if dst == nil {
			dst = t.add(into, to, fixed)
		}
		t.merge(dst, c)
	}
}

func (v *values) add(segment []byte) {
	v.lens |= 1 << min(len(segment), 63)
	for _, c := range segment {
		v.bytes |= kinds[c]
	}
	switch {
	case v.first == nil:
		v.first = append([]byte{}, segment...)
	case !v.varied && !bytes.Equal(v.first, segment):
		v.varied = true
		fallthrough
	case v.varied && len(segment) <= 256 && bytes.Compare(segment, v.first) < 0:
		v.first = append(v.first[:0], segment...)
	}
}

func (v *values) merge(o *values) {
	if o.first == nil {
		return
	}
	v.lens |= o.lens
	v.bytes |= o.bytes
	if v.first == nil {
		v.first, v.varied = o.first, o.varied
		return
	}
	v.varied = v.varied || o.varied || !bytes.Equal(v.first, o.first)
	if bytes.Compare(o.first, v.first) < 0 {
		v.first = o.first
	}
}
