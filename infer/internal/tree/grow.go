package tree

import (
	"cmp"
	"slices"

	"github.com/keywright/keywright/infer/internal/class"
	"github.com/keywright/keywright/infer/internal/content"
	keygroup "github.com/keywright/keywright/keyspace/group"
)

// ref represents a key on its way into the tree: where its next segment begins, and where
// the one after it does, -1 after the last.
type ref struct {
	hash uint64 // of the next segment's shape
	key  uint32
	at   int32
	next int32
}

// grower makes a tree of keys that are all known: how many share a segment is
// counted before it is decided what is a name and what is data.
type grower struct {
	*Tree
	kept   *Kept
	groups []*Group // of each key
	sep    byte
	words  class.Scratch
	parts  affixes // of the words at the node in hand
}

// Grow makes the tree of what was kept, and says which group each key is in.
func Grow(k *Kept, values []Sample) (*Tree, []*Group) {
	g := &grower{Tree: newTree(), kept: k, groups: make([]*Group, k.N)}
	refs := make([]ref, k.N)
	for i := range refs {
		refs[i] = ref{hash: uint64(class.SeparatorOf(k.Name(i))), key: uint32(i)}
	}
	slices.SortFunc(refs, byHash)
	for len(refs) > 0 {
		n := runLength(refs)
		g.sep = byte(refs[0].hash)
		top := g.leaf(&g.Root, string([]byte{'<', g.sep}))
		g.Root.words++
		top.first, top.Visits = true, int64(n)
		g.branch(top, refs[:n], 0)
		refs = refs[n:]
	}
	used := make([]bool, len(values))
	for i, group := range g.groups {
		f := k.Fact(i)
		group.Count(k.Name(i), f)
		if f.Sample >= 0 && !used[f.Sample] {
			used[f.Sample] = true
			if group.Values == nil {
				group.Values = &content.Content{}
			}
			group.Values.Merge(&values[f.Sample].Content)
			group.asked += values[f.Sample].asked
		}
	}
	return g.Tree, g.groups
}

// byHash keeps the keys of one hash in the order in which they are stored: a million
// names that are read in another order are a million misses of the cache.
func byHash(a, b ref) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.key, b.key)) }

// runLength returns how many refs have the first one's hash.
func runLength(refs []ref) int {
	n := 1
	for n < len(refs) && refs[n].hash == refs[0].hash {
		n++
	}
	return n
}

// place returns the next segment of a key: all that is left of it where the tree is
// full.
func (g *grower) place(r ref, depth int, full bool) (place, int) {
	name := g.kept.Name(int(r.key))
	if full {
		return place{segment: name[r.at:], shape: g.words.One(class.Rest)}, -1
	}
	return placeAt(name, g.sep, int(r.at), depth, &g.words)
}

// segment returns the next segment of a key without the braces around it, or all that is
// left of the key.
func (g *grower) segment(r ref, whole bool) []byte {
	name := g.kept.Name(int(r.key))
	if whole {
		return name[r.at:]
	}
	if r.next >= 0 {
		name = name[:r.next-1]
	}
	_, segment, _ := Braces(name[r.at:])
	return segment
}

// branch puts keys below a node.
func (g *grower) branch(n *Node, refs []ref, depth int) {
	full := g.Nodes >= maxNodes && depth > 0
	for i := range refs {
		p, next := g.place(refs[i], depth, full)
		refs[i].hash, refs[i].next = hashed(basis, p.name(&g.words)), int32(next)
	}
	slices.SortFunc(refs, byHash)
	if !full && g.widen(n, refs, depth) {
		slices.SortFunc(refs, byHash)
	}
	for _, run := range g.runs(n, refs, depth, full) {
		g.follow(run, depth)
	}
}

// widen takes for text what are too many words, or mixtures, to be names; those
// with far more keys than the others stay. It says whether anything changed.
func (g *grower) widen(n *Node, refs []ref, depth int) bool {
	words, mixtures := shares{limit: maxWords}, shares{limit: maxMixed}
	if n.first {
		words, mixtures = shares{limit: maxRoots, most: maxRootsHeavy}, shares{limit: maxWords, most: maxHeavy}
	}
	each := func(do func(s *shares, run []ref, p place)) {
		for rest := refs; len(rest) > 0; {
			run := rest[:runLength(rest)]
			rest = rest[len(run):]
			p, _ := g.place(run[0], depth, false)
			if p.fixed {
				do(&words, run, p)
			} else if len(p.shape) > 1 {
				do(&mixtures, run, p)
			}
		}
	}
	each(func(s *shares, run []ref, _ place) { s.runs, s.keys = s.runs+1, s.keys+len(run) })
	n.texts, n.mixes = words.runs > words.limit, mixtures.runs > mixtures.limit
	g.parts = affixes{}
	if !n.texts && !n.mixes {
		return false
	}
	each(func(s *shares, run []ref, _ place) { s.weigh(len(run)) })
	words.choose()
	mixtures.choose()
	if n.texts {
		for _, do := range []func(word []byte, keys int){g.parts.guess, g.parts.count} {
			each(func(s *shares, run []ref, p place) {
				if s == &words && len(run) < s.least {
					do(p.shape, len(run))
				}
			})
		}
	}
	each(func(s *shares, run []ref, p place) {
		if s.runs > s.limit && len(run) < s.least {
			p.shape = g.parts.text(p.shape, p.fixed)
			hash := hashed(basis, p.name(&g.words))
			for i := range run {
				run[i].hash = hash
			}
		}
	})
	return true
}

// shares describes how many keys the words of a node have.
type shares struct {
	limit, most int // words that stay where there are few, and where there are many
	runs, keys  int
	heavy       []int
	least       int // keys that a word must have to stay
}

// weigh remembers the words that have far more keys than they have on average, or many.
func (s *shares) weigh(n int) {
	if n > heavy && n*s.runs > heavy*(s.keys-n) || float64(n) >= keygroup.LeastKeys(s.runs) {
		s.heavy = append(s.heavy, n)
	}
}

func (s *shares) choose() {
	if s.most == 0 {
		s.most = maxHeavy
	}
	slices.Sort(s.heavy)
	s.least = 1<<63 - 1
	if n := len(s.heavy); n > 0 {
		s.least = s.heavy[max(0, n-s.most)]
	}
}

// run is keys that go on below one node.
type run struct {
	node *Node
	refs []ref
	rank int
}

// runs makes the children. Names come first, then data, then texts: whatever
// fills the tree, it is not what is regular that is cut.
func (g *grower) runs(n *Node, refs []ref, depth int, full bool) []run {
	var out []run
	for len(refs) > 0 {
		r := run{refs: refs[:runLength(refs)]}
		refs = refs[len(r.refs):]
		p, _ := g.place(r.refs[0], depth, full)
		if hash := hashed(basis, p.name(&g.words)); hash != r.refs[0].hash {
			p.shape, p.fixed = g.parts.text(p.shape, p.fixed), false
		}
		name := string(p.name(&g.words))
		switch {
		case p.fixed:
			n.words++
		case isMixed(name):
			n.mixed++
			r.rank = 1
		case p.shape[0] != byte(class.Text) && p.shape[0] != byte(class.Rest):
			r.rank = 2
		default:
			r.rank = 3
		}
		r.node = g.leaf(n, name)
		r.node.Visits += int64(len(r.refs))
		if !p.fixed {
			whole := p.shape[0] == byte(class.Rest)
			for _, key := range r.refs {
				r.node.Seen.Add(g.segment(key, whole))
			}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b run) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(b.refs), len(a.refs)), cmp.Compare(a.refs[0].hash,
			b.refs[0].hash))
	})
	return out
}

// follow takes the keys of a child on to their next segment.
func (g *grower) follow(r run, depth int) {
	on := r.refs[:0]
	for _, key := range r.refs {
		if key.next < 0 {
			g.groups[key.key] = g.end(r.node)
			continue
		}
		key.at = key.next
		on = append(on, key)
	}
	if len(on) > 0 {
		g.branch(r.node, on, depth+1)
	}
}
