package automaton

import (
	"fmt"
	"slices"
)

type op uint8

const (
	opSet  op = iota
	opText    // its bytes, one after the other
	opSeq
	opAlt
	opStar // zero or more
	opPlus // one or more
)

// Expr represents a regular expression over bytes. The zero Expr is the empty set of
// bytes, which matches nothing. Exprs are values: the functions below never
// change their arguments. An Expr is small, and that of a literal is its text: a large
// declaration has very many.
type Expr struct {
	text string // a literal; else a node
	n    *node
}

// node describes what an expression is.
type node struct {
	op   op
	tag  int32
	set  Set
	text string
	sub  []Expr
}

// Epsilon matches the empty string only.
var Epsilon = Seq()

// One matches one byte of s.
func One(s Set) Expr { return Expr{n: &node{op: opSet, set: s}} }

// Literal matches exactly text.
func Literal(text string) Expr {
	if text == "" {
		return Epsilon
	}
	return Expr{text: text}
}

func (e Expr) node() node {
	switch {
	case e.n != nil:
		return *e.n
	case e.text != "":
		return node{op: opText, text: e.text}
	}
	return node{}
}

// spelt returns a literal as one expression for each byte.
func (n node) spelt() []Expr {
	sub := make([]Expr, len(n.text))
	for i := range sub {
		sub[i] = Expr{n: &node{op: opSet, set: Of(n.text[i : i+1]), tag: n.tag}}
	}
	return sub
}

// String is equal for equal expressions only.
func (e Expr) String() string {
	n := e.node()
	return fmt.Sprintf("%d %d %v %q %v", n.op, n.tag, n.set, n.text, n.sub)
}

// Seq matches its parts one after the other.
func Seq(parts ...Expr) Expr { return Expr{n: &node{op: opSeq, sub: parts}} }

// Alt matches any one of its parts; with none it matches nothing.
func Alt(parts ...Expr) Expr { return Expr{n: &node{op: opAlt, sub: parts}} }

// Optional matches e or nothing.
func Optional(e Expr) Expr { return Alt(e, Epsilon) }

// Plus matches e once or more often.
func Plus(e Expr) Expr { return Expr{n: &node{op: opPlus, sub: []Expr{e}}} }

// Star matches e any number of times.
func Star(e Expr) Expr { return Expr{n: &node{op: opStar, sub: []Expr{e}}} }

// Repeat matches e from min to max times; max < 0 means without bound.
func Repeat(e Expr, min, max int) Expr {
	parts := make([]Expr, 0, min+1)
	for range min {
		parts = append(parts, e)
	}
	if max < 0 {
		return Seq(append(parts, Star(e))...)
	}
	tail := Epsilon
	for range max - min {
		tail = Optional(Seq(e, tail))
	}
	return Seq(append(parts, tail)...)
}

// Tagged marks every byte of e with tag, so that a run of the automaton tells
// which part of the expression consumed which byte.
func (e Expr) Tagged(tag int) Expr {
	mark := func(leaf node) Expr { leaf.tag = int32(tag); return Expr{n: &leaf} }
	return e.rewrite(mark, mark)
}

// Without returns the language of e less every string that holds a byte of s.
func (e Expr) Without(s Set) Expr {
	less := func(leaf node) Expr { leaf.set = leaf.set.Minus(s); return Expr{n: &leaf} }
	return e.rewrite(less, func(text node) Expr { return Seq(text.spelt()...).rewrite(less, nil) })
}

// Bytes returns the set of all bytes that the expression mentions.
func (e Expr) Bytes() Set {
	var all Set
	e.rewrite(func(leaf node) Expr { all = all.Union(leaf.set); return Expr{} },
		func(text node) Expr { all = all.Union(Of(text.text)); return Expr{} })
	return all
}

// rewrite replaces the leaves of an expression: sets of bytes, and literals.
func (e Expr) rewrite(leaf, text func(node) Expr) Expr {
	out := e.node()
	switch out.op {
	case opSet:
		return leaf(out)
	case opText:
		return text(out)
	}
	sub := make([]Expr, len(out.sub))
	for i, s := range out.sub {
		sub[i] = s.rewrite(leaf, text)
	}
	out.sub = sub
	return Expr{n: &out}
}

// NFA represents a position automaton without empty moves. State 0 is the start; state
// i > 0 has just read a byte of Sets[i].
type NFA struct {
	Sets   []Set
	Tags   []int32
	Follow [][]int32
	Final  []bool

	edges int // all of Follow
}

// maxEdges bounds the steps from one position to another: with many parts that may
// be left out they grow with the square of the positions.
const maxEdges = 4_000_000

// Compile makes the position automaton of e.
func Compile(e Expr) (*NFA, error) {
	n := &NFA{Sets: make([]Set, 1), Tags: []int32{-1}, Follow: make([][]int32, 1), Final: make([]bool, 1)}
	root, err := n.build(e)
	if err != nil {
		return nil, err
	}
	n.Follow[0] = root.first
	n.Final[0] = root.nullable
	for _, p := range root.last {
		n.Final[p] = true
	}
	for i, f := range n.Follow {
		slices.Sort(f)
		n.Follow[i] = slices.Compact(f)
	}
	return n, nil
}

// part describes what Glushkov's construction needs to know of a sub-expression.
type part struct {
	first, last []int32
	nullable    bool
}

func (n *NFA) build(expr Expr) (part, error) {
	switch e := expr.node(); e.op {
	case opSet:
		return n.leaf(e)
	case opText:
		return n.seq(e.spelt())
	case opSeq:
		return n.seq(e.sub)
	case opAlt:
		return n.alt(e.sub)
	default:
		p, err := n.build(e.sub[0])
		if err == nil {
			err = n.link(p.last, p.first)
		}
		p.nullable = p.nullable || e.op == opStar
		return p, err
	}
}

func (n *NFA) leaf(e node) (part, error) {
	if e.set.Empty() {
		return part{}, nil
	}
	id := int32(len(n.Sets))
	if id > MaxPositions {
		return part{}, &TooLargeError{"positions", MaxPositions}
	}
	n.Sets = append(n.Sets, e.set)
	n.Tags = append(n.Tags, e.tag)
	n.Follow = append(n.Follow, nil)
	n.Final = append(n.Final, false)
	return part{first: []int32{id}, last: []int32{id}}, nil
}

func (n *NFA) seq(subs []Expr) (part, error) {
	all := part{nullable: true}
	for _, s := range subs {
		p, err := n.build(s)
		if err != nil {
			return part{}, err
		}
		if err := n.link(all.last, p.first); err != nil {
			return part{}, err
		}
		if all.nullable {
			all.first = append(all.first, p.first...)
		}
		if p.nullable {
			all.last = append(all.last, p.last...)
		} else {
			all.last = slices.Clip(p.last)
		}
		all.nullable = all.nullable && p.nullable
	}
	return all, nil
}

func (n *NFA) alt(subs []Expr) (part, error) {
	var all part
	for _, s := range subs {
		p, err := n.build(s)
		if err != nil {
			return part{}, err
		}
		all.first = append(all.first, p.first...)
		all.last = append(all.last, p.last...)
		all.nullable = all.nullable || p.nullable
	}
	return all, nil
}

func (n *NFA) link(from, to []int32) error {
	if n.edges += len(from) * len(to); n.edges > maxEdges {
		return &TooLargeError{"steps", maxEdges}
	}
	for _, p := range from {
		n.Follow[p] = append(n.Follow[p], to...)
	}
	return nil
}

// Ambiguous finds a string which two runs of n read with different tags, that
// is, in two ways. It returns the shortest one.
func (n *NFA) Ambiguous() (witness []byte, ok bool) {
	type pair struct {
		p, q   int32
		differ bool
	}
	search := newBFS(pair{})
	for {
		at, more := search.next()
		if !more {
			return nil, false
		}
		if at.differ && n.Final[at.p] && n.Final[at.q] {
			return search.path(), true
		}
		for _, p := range n.Follow[at.p] {
			for _, q := range n.Follow[at.q] {
				both := n.Sets[p].And(n.Sets[q])
				if !both.Empty() {
					search.visit(pair{p, q, at.differ || n.Tags[p] != n.Tags[q]}, both.Pick())
				}
			}
		}
	}
}

// Nullable reports whether e matches the empty string.
func (e Expr) Nullable() bool {
	n := e.node()
	switch n.op {
	case opSet, opText: // an empty literal is Epsilon
		return false
	case opStar:
		return true
	case opSeq:
		return !slices.ContainsFunc(n.sub, func(s Expr) bool { return !s.Nullable() })
	case opAlt:
		return slices.ContainsFunc(n.sub, Expr.Nullable)
	}
	return n.sub[0].Nullable()
}
