package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
)

// sketch groups undeclared keys into patterns that would declare them.
type sketch struct {
	tree *group.Tree[tally, *tally]
	near *keyspace.Near // for "did you mean"
}

// tally describes what is counted of a group. Of one key it needs few bytes: a sketch of random names has tens of
// thousands of these.
type tally struct {
	keys    int64
	bytes   int64         // of the only key
	ttl     time.Duration // likewise
	kind    source.Kind   // likewise
	more    *moreKeys     // of two keys or more
	example []byte        // the smallest name
	db      int           // of the example
}

type moreKeys struct {
	figures
	kinds [source.Kinds]int64
}

func newSketch(ks *keyspace.Keyspace) *sketch {
	return &sketch{group.New[tally](0), keyspace.NewNear(ks)}
}

// add counts a key that no entry declares: those under one glob of owns are by themselves.
func (s *sketch) add(item int, k *source.Key) { s.tree.At(item, k.Name).add(k) }

func (t *tally) add(k *source.Key) {
	if t.keys++; t.keys == 1 {
		t.bytes, t.ttl, t.kind = k.Bytes, k.TTL, k.Kind
	} else {
		t.open()
		t.more.add(k)
		t.more.kinds[k.Kind]++
	}
	if name := finding.Cut(k.Name); t.keys == 1 || cmp.Or(slices.Compare(name, t.example), cmp.Compare(k.DB, t.db)) < 0 {
		t.example, t.db = append(t.example[:0], name...), k.DB
	}
}

// open makes room for a second key.
func (t *tally) open() {
	if t.more == nil {
		t.more = t.counted()
	}
}

// counted returns what was counted, as of several keys.
func (t *tally) counted() *moreKeys {
	if t.more != nil || t.keys == 0 {
		return t.more
	}
	m := &moreKeys{}
	m.add(&source.Key{Bytes: t.bytes, TTL: t.ttl})
	m.kinds[t.kind] = 1
	return m
}

// Keys implements group.Tally.
func (t *tally) Keys() int64 { return t.keys }

// Merge implements group.Tally.
func (t *tally) Merge(o *tally) {
	if o.keys == 0 {
		return
	}
	if t.keys == 0 && o.more == nil {
		*t = *o
		t.example = slices.Clone(o.example)
		return
	}
	if t.keys == 0 {
		t.more = &moreKeys{}
	}
	t.open()
	from := o.counted()
	t.more.figures.merge(&from.figures)
	for kind, n := range from.kinds {
		t.more.kinds[kind] += n
	}
	if c := slices.Compare(o.example, t.example); t.keys == 0 || c < 0 || c == 0 && o.db < t.db {
		t.example, t.db = slices.Clone(o.example), o.db
	}
	t.keys += o.keys
}

// Likeness implements group.Tally: the type that most keys have, and whether most expire.
func (t *tally) Likeness() uint64 {
	if t.more == nil {
		return likeness(t.kind, t.ttl != source.NoTTL)
	}
	kind := 0
	for k, n := range t.more.kinds {
		if n > t.more.kinds[kind] {
			kind = k
		}
	}
	return likeness(source.Kind(kind), t.more.ttls.n > t.more.noTTL)
}

func likeness(kind source.Kind, expires bool) uint64 {
	if expires {
		return uint64(kind)*2 + 1
	}
	return uint64(kind) * 2
}

// suggestion represents a group with the declared key that it may be a misspelling of.
type suggestion struct {
	group.Group[tally]
	near *keyspace.Key
}

// maxCompared bounds the comparisons of groups with what is declared: a second or two.
const maxCompared = 2_000_000

// compared holds groups, sorted, of which the first near ones are near a declared name.
type compared struct {
	groups []suggestion
	near   int
	left   int // that were not compared
}

// compare holds groups against what is declared, from both ends of their list in turn
// until the comparisons are used up: a typo has few keys, and what has many matters. A group in which words became a
// placeholder is no misspelling: its example is one of many names.
func (s *sketch) compare(room int) compared {
	var out []suggestion
	used := s.near.Work()
	for _, g := range s.tree.Groups(func(t *tally) bool {
		return s.near.Work()-used < room/2 && len(s.near.To(t.example, 1)) > 0 // a typo is no value
	}) {
		out = append(out, suggestion{Group: g})
	}
	slices.SortFunc(out, func(a, b suggestion) int {
		return cmp.Or(cmp.Compare(b.Tally.keys, a.Tally.keys), strings.Compare(a.Pattern, b.Pattern))
	})
	left := len(out)
	for ; left > 0 && s.near.Work()-used < room; left-- {
		done := len(out) - left
		g := &out[done/2]
		if done%2 == 1 {
			g = &out[len(out)-1-done/2]
		}
		if len(g.Folds) > 0 || g.Lost > 0 {
			continue
		}
		if found := s.near.To(g.Tally.example, 1); len(found) > 0 {
			g.near = found[0]
		}
	}
	slices.SortStableFunc(out, func(a, b suggestion) int { return cmp.Compare(far(a), far(b)) })
	return compared{out, len(out) - count(out, far), left}
}

func far(g suggestion) int {
	if g.near == nil {
		return 1
	}
	return 0
}

func count(list []suggestion, f func(suggestion) int) (n int) {
	for _, g := range list {
		n += f(g)
	}
	return n
}

// list divides the groups into at most limit that are listed, and the others. Those that
// are near a declared name come first, then the largest: half of the room is theirs.
func (c compared) list(limit int) (listed, others []suggestion) {
	near, far := c.groups[:c.near], c.groups[c.near:]
	first := min(len(near), max(limit/2, limit-len(far)))
	second := min(len(far), limit-first)
	return slices.Concat(near[:first], far[:second]), slices.Concat(near[first:], far[second:])
}
