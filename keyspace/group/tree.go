// Package group groups names of keys into patterns that would declare them. It is the one grouping of what no
// declaration knows: audits, top, the server and baselines show its groups.
//
// A Tree takes the names one by one, in any order and in bounded memory. A segment that is an identifier by its form (a
// number, a UUID, a date, a token) is a placeholder at once; a word is kept as it is. Which words are values of a
// placeholder, too, is decided when the groups are asked for, by evidence: see Groups. Where memory is short the words
// with the fewest keys become one text, and the keys that lost their word by that are counted.
//
// It judges nothing, knows no declaration and no server, and does not know what is counted of the keys of a group: that
// is the caller's Tally.
//
// API: may change until 1.0.
package group

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Tally is what a caller counts of the keys of one group. Its zero value has counted nothing.
type Tally[T any] interface {
	*T
	// Keys returns how many keys were counted.
	Keys() int64
	// Merge adds what another one has counted.
	Merge(*T)
	// Likeness returns what else than their names tells groups apart, as a number: type, expiry, form of the values.
	Likeness() uint64
}

// child represents a node with its name.
type child[T any] struct {
	name string
	node *node[T]
}

// maxFew says how many children are looked through one by one.
const maxFew = 6

// get returns the child of a name, nil if there is none.
func (n *node[T]) get(name []byte) *node[T] {
	if n.children != nil {
		return n.children[string(name)]
	}
	for i := range n.few {
		if n.few[i].name == string(name) {
			return n.few[i].node
		}
	}
	return nil
}

func (n *node[T]) set(name string, c *node[T]) {
	switch {
	case n.children != nil:
		n.children[name] = c
	case len(n.few) < maxFew:
		n.few = append(n.few, child[T]{name, c})
	default:
		n.children = map[string]*node[T]{name: c}
		for _, f := range n.few {
			n.children[f.name] = f.node
		}
		n.few = nil
	}
}

// all yields the children, in no order. None may be added or taken out meanwhile.
func (n *node[T]) all() iter.Seq2[string, *node[T]] {
	return func(yield func(string, *node[T]) bool) {
		for _, f := range n.few {
			if !yield(f.name, f.node) {
				return
			}
		}
		for name, c := range n.children {
			if !yield(name, c) {
				return
			}
		}
	}
}

// sorted returns the children in the order of their names.
func (n *node[T]) sorted() []child[T] {
	out := make([]child[T], 0, len(n.few)+len(n.children))
	for name, c := range n.all() {
		out = append(out, child[T]{name, c})
	}
	slices.SortFunc(out, func(a, b child[T]) int { return strings.Compare(a.name, b.name) })
	return out
}

// keep takes out the children that are not to be kept, and returns them.
func (n *node[T]) keep(wanted func(string, *node[T]) bool) (out []child[T]) {
	n.few = slices.DeleteFunc(n.few, func(f child[T]) bool {
		if wanted(f.name, f.node) {
			return false
		}
		out = append(out, f)
		return true
	})
	for name, c := range n.children {
		if !wanted(name, c) {
			out = append(out, child[T]{name, c})
		}
	}
	if len(n.children) == 0 {
		return out
	}
	left := len(n.children) - len(out)
	if left > maxFew && 2*left > len(n.children) {
		for _, c := range out {
			delete(n.children, c.name)
		}
		return out
	}
	old := n.children // a map does not give back what it had
	n.children, n.few = nil, nil
	if left > maxFew {
		n.children = make(map[string]*node[T], left)
	}
	for name, c := range old {
		if wanted(name, c) {
			n.set(name, c)
		}
	}
	return out
}

// DefaultNodes bounds the nodes of a tree: some 200 bytes each, beside what the caller counts.
const DefaultNodes = 60_000

// maxDepth bounds the segments that are distinguished: what follows is one {rest}.
const maxDepth = 12

// Tree groups names. It is not safe for concurrent use.
type Tree[T any, P Tally[T]] struct {
	roots map[root]*node[T]
	nodes int
	most  int
	name  []byte // of the segment in hand
}

// root says which names are below a root: those of one space that are parted by one byte.
type root struct {
	space int
	sep   byte
}

func compareRoots(a, b root) int {
	return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.sep, b.sep))
}

// node represents one segment; tally counts the keys that end here.
type node[T any] struct {
	few      []child[T]          // what follows, where it is little: most nodes have one child
	children map[string]*node[T] // where it is more
	keys     int64               // that come through or end here
	folded   int64               // of these, those whose word was given up for want of nodes
	tally    *T
}

// New returns an empty tree of at most so many nodes; 0: DefaultNodes.
func New[T any, P Tally[T]](nodes int) *Tree[T, P] {
	if nodes == 0 {
		nodes = DefaultNodes
	}
	return &Tree[T, P]{roots: map[root]*node[T]{}, most: nodes}
}

// At returns the tally of the group that a name is in so far: the caller counts the key there, once. Names of one space
// are grouped by themselves, whatever is in others.
func (t *Tree[T, P]) At(space int, name []byte) P {
	t.room()
	sep := cmp.Or(SeparatorOf(name), ':') // names without a separator are among those with colons
	n := t.rootOf(root{space, sep})
	n.keys++
	for depth, rest, more := 0, name, true; more; depth++ {
		var segment []byte
		segment, rest, more = bytes.Cut(rest, []byte{sep})
		if t.name = t.name[:0]; depth == maxDepth && more {
			t.name, more = append(t.name, "{rest}"...), false
		} else {
			t.name = appendName(t.name, segment)
		}
		n = t.child(n)
		n.keys++
	}
	if n.tally == nil {
		n.tally = new(T)
	}
	return n.tally
}

func (t *Tree[T, P]) rootOf(r root) *node[T] {
	n := t.roots[r]
	if n == nil {
		n = &node[T]{}
		t.roots[r] = n
	}
	return n
}

// child returns the node with the name in hand below n.
func (t *Tree[T, P]) child(n *node[T]) *node[T] {
	if c := n.get(t.name); c != nil {
		return c
	}
	return t.add(n, string(t.name))
}

func (t *Tree[T, P]) add(n *node[T], name string) *node[T] {
	c := &node[T]{}
	n.set(name, c)
	t.nodes++
	return c
}

// room folds words where there is no place for one more name: those with the fewest keys, until half of the nodes are
// free. Where so many spaces have names that no word is left to fold, the tree may have twice as many nodes.
func (t *Tree[T, P]) room() {
	if t.nodes+maxDepth+1 < t.most {
		return
	}
	var sizes [65]int // nodes, by the power of two that their keys are below
	var count func(n *node[T])
	count = func(n *node[T]) {
		for _, c := range n.all() {
			sizes[bits.Len64(uint64(c.keys))]++
			count(c)
		}
	}
	for _, n := range t.roots {
		count(n)
	}
	power, kept := 0, t.nodes
	for power < 62 && (power < 2 || kept > t.most/2) { // at least those with one key
		kept -= sizes[power]
		power++
	}
	for ; t.nodes > t.most/2 && power <= 64; power++ {
		for _, n := range t.roots {
			t.thin(n, int64(1)<<(power-1)-1)
		}
	}
	t.most = max(t.most, 2*t.nodes)
}

// thin folds what has at most so many keys into the text beside it.
func (t *Tree[T, P]) thin(n *node[T], least int64) {
	light := n.keep(func(name string, c *node[T]) bool { return c.keys > least || name == text })
	for _, c := range light {
		t.nodes--
		into := n.get([]byte(text))
		if into == nil {
			into = t.add(n, text)
		}
		into.folded += c.node.keys - c.node.folded
		t.graft(into, c.node)
	}
	for _, c := range n.all() {
		t.thin(c, least)
	}
}

// graft takes a node of this tree, that is in it no more, into another.
func (t *Tree[T, P]) graft(into, from *node[T]) {
	into.keys += from.keys
	into.folded += from.folded
	if from.tally != nil {
		if into.tally == nil {
			into.tally = new(T)
		}
		P(into.tally).Merge(from.tally)
	}
	for name, c := range from.all() {
		t.nodes--
		to := into.get([]byte(name))
		if to == nil {
			to = t.add(into, name)
		}
		t.graft(to, c)
	}
}

// Row represents one group of a tree as it was grown, to be kept or sent and put into another tree.
type Row[T any] struct {
	Space  int
	Sep    byte     // that parts the names
	Path   []string // names of nodes
	Folded []int64  // of each node of the path, of all its keys; only in the first row that has the node
	Tally  *T
}

// Rows yields all that a tree has counted. The tallies are the tree's own.
func (t *Tree[T, P]) Rows() iter.Seq[Row[T]] {
	return func(yield func(Row[T]) bool) {
		var walk func(r root, n *node[T], path []string, folded []int64) bool
		walk = func(r root, n *node[T], path []string, folded []int64) bool {
			if n.tally != nil {
				if !yield(Row[T]{r.space, r.sep, slices.Clone(path), slices.Clone(folded), n.tally}) {
					return false
				}
				clear(folded)
			}
			for _, c := range n.sorted() {
				folded = append(folded, c.node.folded)
				if !walk(r, c.node, append(path, c.name), folded) {
					return false
				}
				folded = folded[:len(folded)-1]
			}
			return true
		}
		for _, r := range slices.SortedFunc(maps.Keys(t.roots), compareRoots) {
			if !walk(r, t.roots[r], nil, make([]int64, 0, maxDepth+1)) { // one array for all, which is cleared
				return
			}
		}
	}
}

// Put adds a row of another tree, or what a file has in its place. The tally is merged, not kept.
func (t *Tree[T, P]) Put(r Row[T]) {
	t.room()
	if len(r.Path) == 0 {
		r.Path = []string{"{rest}"}
	}
	n, keys := t.rootOf(root{r.Space, cmp.Or(r.Sep, ':')}), P(r.Tally).Keys()
	n.keys += keys
	for i, name := range r.Path[:min(len(r.Path), maxDepth+1)] {
		c := n.get([]byte(name))
		if c == nil {
			c = t.add(n, name)
		}
		if n = c; i < len(r.Folded) {
			n.folded += r.Folded[i]
		}
		n.keys += keys
	}
	if n.tally == nil {
		n.tally = new(T)
	}
	P(n.tally).Merge(r.Tally)
}

// Take adds another tree to this one. As long as neither had to fold words the result is that of one tree of all keys.
func (t *Tree[T, P]) Take(o *Tree[T, P]) {
	for r := range o.Rows() {
		t.Put(r)
	}
}

// Keys returns how many keys there are, and of how many a word was given up for want of nodes.
func (t *Tree[T, P]) Keys() (all, folded int64) {
	var walk func(n *node[T]) int64
	walk = func(n *node[T]) int64 { // a key may have lost several words
		sum := int64(0)
		for _, c := range n.all() {
			sum += walk(c)
		}
		return max(sum, n.folded)
	}
	for _, n := range t.roots {
		all, folded = all+n.keys, folded+walk(n)
	}
	return all, folded
}
