// Package infer drafts a declaration from the facts of live keys: patterns with
// typed placeholders and speaking names, types, TTLs, value shapes, and guesses
// about what the keys are for.
//
// It is a fold over a source.Source, and pure: it asks no server and no clock.
// Memory is bounded whatever the number of keys: a tree of key shapes with a
// fixed number of nodes, and a sample of values per shape. The same keys give
// the same draft. What it writes is a draft: it describes what is there, not
// what should be, and a person decides. It never keeps values beyond what tells
// their type.
//
// API: may change until 1.0.
package infer

import (
	"bytes"
	"context"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/source"
)

// Options say what to draft.
type Options struct {
	Package string // of the declaration; "": made from the keys
	// Known is a declaration that stays as it is: only keys it does not declare
	// are looked at. nil: none.
	Known *keyspace.Keyspace
}

// Infer is one fold. It is not safe for concurrent use.
type Infer struct {
	options Options
	tree    *tree
	known   *match.Matcher
	keys    int64
	covered int64 // by the known declaration
	recent  ring
	words   scratch
}

// New prepares a fold.
func New(options Options) (*Infer, error) {
	in := &Infer{options: options, tree: newTree()}
	if options.Known != nil {
		items, _ := options.Known.Items()
		var err error
		if in.known, _, err = match.Compile(items); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Run feeds everything src yields, and drafts. When src fails or ctx ends the
// draft covers what was seen, and the error says so.
func (in *Infer) Run(ctx context.Context, src source.Source, req source.Request) (*Draft, source.Summary, error) {
	req.Values = in.wantsValue
	sum, err := src.Scan(ctx, req, func(keys []source.Key) error {
		in.Add(keys)
		return nil
	})
	return in.Draft(), sum, err
}

// Add takes a batch of keys.
func (in *Infer) Add(keys []source.Key) {
	for i := range keys {
		in.add(&keys[i])
	}
}

func (in *Infer) add(k *source.Key) {
	in.keys++
	g := in.group(k.Name, true)
	if g == nil {
		in.covered++
		return
	}
	g.add(k)
}

// wantsValue is a source.Request's Values: a sample per shape.
func (in *Infer) wantsValue(name []byte, _ source.Kind) bool {
	g := in.group(name, false)
	return g != nil && g.wantsValue()
}

// group is where a key belongs; nil if the known declaration has it. A source
// asks about a value before it hands over the key: the answer is remembered, so
// that the tree is walked once.
func (in *Infer) group(name []byte, last bool) *group {
	if g, ok := in.recent.find(name, last); ok {
		return g
	}
	var g *group
	if in.known == nil || in.known.Match(name, nil) == match.None {
		g = in.tree.insert(name, &in.words)
	}
	if !last {
		in.recent.add(name, g)
	}
	return g
}

// ring remembers the groups of the last names asked about, in order.
type ring struct {
	slots      [512]remembered
	head, tail int
}

type remembered struct {
	name  []byte
	group *group
}

func (r *ring) add(name []byte, g *group) {
	s := &r.slots[r.tail%len(r.slots)]
	s.name, s.group = append(s.name[:0], name...), g
	r.tail++
	r.head = max(r.head, r.tail-len(r.slots))
}

// find looks for a name among what was asked about and not handed over yet: the
// next of them, or one soon behind, since a source may drop keys.
func (r *ring) find(name []byte, last bool) (*group, bool) {
	if !last {
		return nil, false
	}
	for i := r.head; i < min(r.tail, r.head+4); i++ {
		if s := &r.slots[i%len(r.slots)]; bytes.Equal(s.name, name) {
			r.head = i + 1
			return s.group, true
		}
	}
	r.head = r.tail
	return nil, false
}

// Nodes is the size of the tree, which bounds the memory.
func (in *Infer) Nodes() int { return in.tree.nodes }
