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

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/tree"
	"github.com/keywright/keywright/keyspace"
	keygroup "github.com/keywright/keywright/keyspace/group"
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

// Infer represents one fold. It is not safe for concurrent use.
type Infer struct {
	options Options
	kept    tree.Kept
	samples tree.Samples
	tree    *tree.Tree // nil while all keys are kept
	known   *match.Matcher
	targets []keyspace.Target // of known
	byItem  []int64           // of known: how many keys each has
	seen    Count             // all keys
	covered Count             // by the known declaration
	long    Count             // with a name that is longer than any pattern
	slips   slips             // with a name that a program put together by mistake
	looked  int64             // keys whose value was read whole
	recent  ring
	words   class.Scratch
}

// Count represents a number of keys, and their bytes as far as these are known.
type Count struct{ Keys, Bytes int64 }

func (c *Count) add(o Count) { c.Keys, c.Bytes = c.Keys+o.Keys, c.Bytes+o.Bytes }

// New prepares a fold.
func New(options Options) (*Infer, error) {
	in := &Infer{options: options}
	if options.Known != nil {
		var err error
		if in.known, in.targets, err = matchDeclared(options.Known); err != nil {
			return nil, err
		}
		in.byItem = make([]int64, len(in.targets))
	}
	return in, nil
}

// matchDeclared matches the keys that a declaration says something of. Those that are only in
// a namespace, or in a glob of owns, are ours and not declared yet.
func matchDeclared(ks *keyspace.Keyspace) (*match.Matcher, []keyspace.Target, error) {
	all, allTargets := ks.Items()
	var items []match.Item
	var targets []keyspace.Target
	for i, t := range allTargets {
		if t.Owned == nil {
			items, targets = append(items, all[i]), append(targets, t)
		}
	}
	m, _, err := match.Compile(items)
	return m, targets, err
}

// Run feeds everything src yields, and drafts. Of more keys than are kept src is read twice: the second time they are
// counted. When src fails or ctx ends the draft covers what was seen, and the error says so.
func (in *Infer) Run(ctx context.Context, src source.Source, req source.Request) (*Draft, source.Summary, error) {
	req.Values = in.wantsValue
	sum, err := src.Scan(ctx, req, func(keys []source.Key) error {
		in.Add(keys)
		return ctx.Err()
	})
	d := in.Draft()
	if in.tree != nil && err == nil && req.Sample == 0 && len(sum.Incomplete) == 0 {
		in.exactly(ctx, src, req, d)
	}
	d.About = d.About || req.Sample > 0 || sum.MaxRepeats > 0
	return d, sum, err
}

// Add takes a batch of keys.
func (in *Infer) Add(keys []source.Key) {
	for i := range keys {
		in.add(&keys[i])
	}
}

func (in *Infer) add(k *source.Key) {
	one := Count{1, max(k.Bytes, 0)}
	in.seen.add(one)
	asked, found := in.recent.find(k.Name)
	item := asked.item
	if !found {
		item = in.item(k.Name)
	}
	switch {
	case item != match.None:
		in.covered.add(one)
		in.byItem[item]++
		return
	case len(k.Name) > tree.MaxKeptName:
		in.long.add(one)
		return
	case in.slips.take(k.Name, one):
		return
	}
	if int(k.Kind) >= source.Kinds {
		k.Kind = source.Unknown
	}
	if k.Value != nil && !k.Value.Partial {
		in.looked++
	}
	if in.tree == nil && in.keep(k, asked, found) {
		return
	}
	g := asked.group
	if g == nil {
		g = in.tree.Insert(k.Name, &in.words)
	}
	g.Add(k)
}

// keep remembers a key, and what its value looks like. When there is no more
// room the tree is made of what is there, and grows from then on.
func (in *Infer) keep(k *source.Key, asked remembered, found bool) bool {
	sample := int32(-1)
	if k.Value != nil {
		if sample = asked.sample; !found {
			sample = in.samples.Of(k.Name, &in.words)
		}
		if sample >= 0 {
			in.samples.Looks[sample].Add(k.Kind, k.Value)
		}
	}
	if in.kept.Keep(k, sample) {
		return true
	}
	in.tree, _ = tree.Grow(&in.kept, in.samples.Looks)
	in.kept, in.samples = tree.Kept{}, tree.Samples{}
	return false
}

// slips counts the keys whose name a program put together by mistake, by what is in it.
type slips map[string]*Count

// maxSlips bounds the mistakes that are counted by kind.
const maxSlips = 50

// take counts a key if its name is such a one: it is not declared.
func (s *slips) take(name []byte, one Count) bool {
	slip := keygroup.Slip(name)
	if slip == "" {
		return false
	}
	if *s == nil {
		*s = slips{}
	}
	if (*s)[slip] == nil {
		if len(*s) >= maxSlips {
			slip = "another"
		}
		if (*s)[slip] == nil {
			(*s)[slip] = &Count{}
		}
	}
	(*s)[slip].add(one)
	return true
}

func (in *Infer) knows(name []byte) bool { return in.item(name) != match.None }

// item returns what of the known declaration has a key, match.None if nothing has.
func (in *Infer) item(name []byte) int {
	if in.known == nil {
		return match.None
	}
	return in.known.Match(name, nil)
}

// declared returns how many keys those of the known declaration have.
func (in *Infer) declared() map[*keyspace.Key]int64 {
	out := map[*keyspace.Key]int64{}
	for i, n := range in.byItem {
		if k := in.targets[i].Key; k != nil {
			out[k] = n
		}
	}
	return out
}

// WantsValue is a source.Request's Values: a sample per shape. A source asks
// about a value before it hands over the key: what is found out is remembered.
func (in *Infer) wantsValue(name []byte, _ source.Kind) bool {
	r := remembered{sample: -1, item: in.item(name)}
	want := false
	switch {
	case r.item != match.None || len(name) > tree.MaxKeptName || keygroup.Slip(name) != "":
	case in.tree == nil:
		r.sample, want = in.samples.Wants(name, &in.words)
	default:
		r.group = in.tree.Insert(name, &in.words)
		want = r.group.WantsValue()
	}
	in.recent.add(name, r)
	return want
}

// ring remembers the last names asked about, in order.
type ring struct {
	slots      [512]remembered
	head, tail int
}

type remembered struct {
	name   []byte
	item   int // of the known declaration
	sample int32
	group  *tree.Group
}

func (r *ring) add(name []byte, what remembered) {
	s := &r.slots[r.tail%len(r.slots)]
	what.name = append(s.name[:0], name...)
	*s = what
	r.tail++
	r.head = max(r.head, r.tail-len(r.slots))
}

// find looks for a name among what was asked about and not handed over yet: the
// next of them, or one soon after it, since a source may drop keys.
func (r *ring) find(name []byte) (remembered, bool) {
	for i := r.head; i < min(r.tail, r.head+4); i++ {
		if s := &r.slots[i%len(r.slots)]; bytes.Equal(s.name, name) {
			r.head = i + 1
			return *s, true
		}
	}
	r.head = r.tail
	return remembered{sample: -1}, false
}

// Nodes returns the size of the tree of a keyspace of which not all keys are kept.
func (in *Infer) Nodes() int {
	if in.tree == nil {
		return 0
	}
	return in.tree.Nodes
}
