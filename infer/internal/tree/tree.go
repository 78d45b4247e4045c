// Package tree groups keys by the shapes of their segments, in bounded memory: it counts the keys of a shape, and
// describes their types, TTLs and values. What of it is one pattern is decided by package path.
package tree

import (
	"bytes"
	"maps"
	"slices"

	"github.com/keywright/keywright/infer/internal/class"
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

// Tree groups keys by the shapes of their segments.
type Tree struct {
	Root    Node
	Nodes   int
	sampled int // groups with a sample of values
}

// Node represents one segment of a key; group is what ends here.
type Node struct {
	Children map[string]*Node
	words    int // children that are words only
	mixed    int // children of words and data
	Seen     Values
	Visits   int64 // keys that came through
	Group    *Group
	first    bool // below it are the first segments of keys: names more often than data
	texts    bool // words are taken for text
	mixes    bool // and so is what is mixed
}

// Values describes what is known of the values of a segment.
type Values struct {
	First  []byte // one of them, the smallest
	Varied bool   // there are others
	Lens   uint64 // lengths, as bits; the last for all longer
	Kinds  byte   // kinds of bytes
}

func newTree() *Tree { return &Tree{} }

// Insert adds a name, and returns the group of its shape.
func (t *Tree) Insert(name []byte, s *class.Scratch) *Group {
	sep := class.SeparatorOf(name)
	n := t.child(&t.Root, place{shape: append(s.Buf[:0], '<', sep), fixed: true}, s)
	n.first = true
	for at, depth := 0, 0; at >= 0; depth++ {
		var p place
		if t.Nodes >= maxNodes && depth > 0 {
			p, at = place{segment: name[at:], shape: s.One(class.Rest)}, -1
		} else {
			p, at = placeAt(name, sep, at, depth, s)
		}
		n = t.child(n, p, s)
	}
	return t.end(n)
}

// end returns the group of the keys that end at a node.
func (t *Tree) end(n *Node) *Group {
	if n.Group == nil {
		n.Group = NewGroup()
		n.Group.sampled = &t.sampled
	}
	return n.Group
}

// placeAt returns the segment of a name that begins at a byte, and where the next one
// does, -1 after the last.
func placeAt(name []byte, sep byte, at, depth int, s *class.Scratch) (place, int) {
	segment, next := name[at:], -1
	if sep != 0 {
		if i := bytes.IndexByte(segment, sep); i >= 0 {
			segment, next = segment[:i], at+i+1
		}
	}
	if depth == class.MaxDepth && next >= 0 {
		return place{segment: name[at:], shape: s.One(class.Rest)}, -1
	}
	var p place
	p.open, p.segment, p.shut = Braces(segment)
	p.shape, p.fixed = s.Shape(p.segment)
	return p, next
}

// place represents a segment of a key: the braces around it, and the shape of what is
// between them. fixed is true if that is all words.
type place struct {
	open, segment, shut []byte
	shape               []byte
	fixed               bool
}

// Braces parts a segment from the braces around it.
func Braces(segment []byte) (open, inner, shut []byte) {
	if len(segment) == 0 || segment[0] != '{' && segment[len(segment)-1] != '}' {
		return nil, segment, nil
	}
	inner = bytes.TrimLeft(segment, "{")
	open = segment[:len(segment)-len(inner)]
	rest := bytes.TrimRight(inner, "}")
	return open, rest, inner[len(rest):]
}

// name returns what a node calls its child at this place.
func (p *place) name(s *class.Scratch) []byte {
	if len(p.open)+len(p.shut) == 0 {
		return p.shape
	}
	return append(append(append(s.Name[:0], p.open...), p.shape...), p.shut...)
}

func (t *Tree) child(n *Node, p place, s *class.Scratch) *Node {
	name := p.name(s)
	c := n.Children[string(name)]
	if c == nil && (p.fixed && n.texts || !p.fixed && len(p.shape) > 1 && n.mixes) {
		p.shape, p.fixed = TextShape, false
		name = p.name(s)
		c = n.Children[string(name)]
	}
	if c == nil {
		c = t.add(n, string(name), p.fixed)
		p.fixed = p.fixed && n.Children[string(name)] == c
	}
	c.Visits++
	if !p.fixed {
		c.Seen.Add(p.segment)
	}
	return c
}

// TextShape is the shape of what is a text as a whole.
var TextShape = []byte{byte(class.Text)}

// textual returns the name of a child whose data became a text.
func textual(name string) string {
	open, _, shut := Braces([]byte(name))
	return string(open) + string(TextShape) + string(shut)
}

func (t *Tree) add(n *Node, name string, fixed bool) *Node {
	limit, limitMixed := maxWords, maxMixed
	if n.first {
		limit, limitMixed = maxRoots, maxWords
	}
	switch mixed := isMixed(name); {
	case fixed && n.words >= limit:
		n.texts = true
		t.collapse(n, func(s string) bool { return !HasClass(s) && !n.isName(s) })
		return t.leaf(n, textual(name))
	case mixed && n.mixed >= limitMixed:
		n.mixes = true
		t.collapse(n, func(s string) bool { return isMixed(s) && !n.isName(s) })
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

// isName reports whether a word has so many keys that it is a name among data.
func (n *Node) isName(name string) bool {
	var all int64
	more := 0
	for _, c := range n.Children {
		all += c.Visits
		if c.Visits > n.Children[name].Visits {
			more++
		}
	}
	mine := n.Children[name].Visits
	return more < maxHeavy && (mine > heavy*(all-mine)/int64(len(n.Children)) ||
		float64(mine) >= keygroup.LeastKeys(len(n.Children)))
}

// isMixed: words and data in one.
func isMixed(name string) bool {
	_, inner, _ := Braces([]byte(name))
	return len(inner) > 1 && HasClass(string(inner))
}

// HasClass reports whether data are in a shape.
func HasClass(shape string) bool {
	for i := range len(shape) {
		if class.IsClass(shape[i]) {
			return true
		}
	}
	return false
}

func (t *Tree) leaf(n *Node, shape string) *Node {
	if c := n.Children[shape]; c != nil {
		return c
	}
	if n.Children == nil {
		n.Children = map[string]*Node{}
	}
	c := &Node{}
	n.Children[shape] = c
	t.Nodes++
	return c
}

// collapse merges the children whose shape is such into one text.
func (t *Tree) collapse(n *Node, such func(name string) bool) {
	for _, name := range slices.Sorted(maps.Keys(n.Children)) { // in order: what is merged first may decide
		to := textual(name)
		if name == to || !such(name) {
			continue
		}
		c := n.Children[name]
		delete(n.Children, name)
		t.Nodes--
		if !HasClass(name) {
			_, inner, _ := Braces([]byte(name))
			c.Seen.Add(inner)
		}
		t.merge(t.leaf(n, to), c)
	}
}

func (t *Tree) merge(into, from *Node) {
	into.Visits += from.Visits
	into.Seen.Merge(&from.Seen)
	if from.Group != nil {
		if into.Group == nil {
			into.Group = NewGroup()
		}
		into.Group.Merge(from.Group)
	}
	for _, name := range slices.Sorted(maps.Keys(from.Children)) {
		c := from.Children[name]
		t.Nodes--
		fixed := !HasClass(name)
		to := name
		if fixed && into.texts || isMixed(name) && into.mixes {
			to, fixed = textual(name), false
		}
		dst := into.Children[to]
		if dst == nil {
			dst = t.add(into, to, fixed)
		}
		t.merge(dst, c)
	}
}

// Add adds a value.
func (v *Values) Add(segment []byte) {
	v.Lens |= 1 << min(len(segment), 63)
	for _, c := range segment {
		v.Kinds |= class.Kinds[c]
	}
	switch {
	case v.First == nil:
		v.First = append([]byte{}, segment...)
	case !v.Varied && !bytes.Equal(v.First, segment):
		v.Varied = true
		fallthrough
	case v.Varied && len(segment) <= 256 && bytes.Compare(segment, v.First) < 0:
		v.First = append(v.First[:0], segment...)
	}
}

// Merge adds the values of another segment.
func (v *Values) Merge(o *Values) {
	if o.First == nil {
		return
	}
	v.Lens |= o.Lens
	v.Kinds |= o.Kinds
	if v.First == nil {
		v.First, v.Varied = o.First, o.Varied
		return
	}
	v.Varied = v.Varied || o.Varied || !bytes.Equal(v.First, o.First)
	if bytes.Compare(o.First, v.First) < 0 {
		v.First = o.First
	}
}
