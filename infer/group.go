package infer

import (
	"bytes"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/source"
)

// group describes what is known of the keys of one shape.
type group struct {
	keys    int64
	size    int64 // bytes, of those keys whose bytes are known
	kinds   [source.Kinds]int64
	example []byte // the smallest key
	ttl     ttls
	most    int64 // elements of the largest key, as far as the source tells
	asked   int
	values  *content
	sampled *int // groups of the tree whose values are sampled
}

// ttls describes what is known of remaining TTLs.
type ttls struct {
	none, some int64
	min, max   time.Duration
	steps      [48]uint32 // by powers of two of milliseconds
}

func newGroup() *group { return &group{} }

// Bounds of the sample of values: every key of a small group, then fewer and
// fewer.
const (
	firstValues = 64
	maxValues   = 400
	maxSampled  = 4000 // groups with a sample: beyond, shapes are reported without one
)

// wantsValue says whether the value of the group's next key is to be read.
func (g *group) wantsValue() bool {
	if g.asked >= maxValues {
		return false
	}
	if g.asked == 0 && g.sampled != nil {
		if *g.sampled >= maxSampled {
			return false
		}
		*g.sampled++
	}
	g.asked++
	return g.asked <= firstValues || g.keys&1023 == 0
}

func (g *group) add(k *source.Key) {
	g.keys++
	if k.Bytes > 0 {
		g.size += k.Bytes
	}
	if int(k.Kind) < len(g.kinds) {
		g.kinds[k.Kind]++
	}
	if g.example == nil || g.keys < 4096 && bytes.Compare(k.Name, g.example) < 0 {
		g.example = append(g.example[:0], k.Name...)
	}
	g.ttl.add(k.TTL)
	if k.Facts != nil {
		g.most = max(g.most, k.Facts.Elements)
	}
	if k.Value != nil {
		if g.values == nil {
			g.values = &content{}
		}
		g.values.add(k.Kind, k.Value)
	}
}

// count adds a key that was kept.
func (g *group) count(name []byte, f *fact) {
	g.keys++
	g.size += max(f.bytes, 0)
	g.kinds[f.kind]++
	if g.example == nil || bytes.Compare(name, g.example) < 0 {
		g.example = name
	}
	g.ttl.add(time.Duration(f.ttl))
	g.most = max(g.most, int64(f.most))
}

func (g *group) merge(o *group) {
	g.keys += o.keys
	g.size += o.size
	for i, n := range o.kinds {
		g.kinds[i] += n
	}
	if g.example == nil || o.example != nil && bytes.Compare(o.example, g.example) < 0 {
		g.example = o.example
	}
	g.ttl.merge(&o.ttl)
	g.most = max(g.most, o.most)
	g.asked += o.asked
	if o.values != nil {
		if g.values == nil {
			g.values = &content{}
		}
		g.values.merge(o.values)
	}
}

// kind returns the type most keys have.
func (g *group) kind() source.Kind {
	best := source.Unknown
	for k := range g.kinds {
		if g.kinds[k] > g.kinds[best] {
			best = source.Kind(k)
		}
	}
	return best
}

func (t *ttls) add(d time.Duration) {
	if d == source.NoTTL {
		t.none++
		return
	}
	if t.some == 0 || d < t.min {
		t.min = d
	}
	t.max = max(t.max, d)
	t.some++
	t.steps[min(bits.Len64(uint64(d/time.Millisecond)), len(t.steps)-1)]++
}

func (t *ttls) merge(o *ttls) {
	if o.some > 0 && (t.some == 0 || o.min < t.min) {
		t.min = o.min
	}
	t.max = max(t.max, o.max)
	t.none, t.some = t.none+o.none, t.some+o.some
	for i, n := range o.steps {
		t.steps[i] += n
	}
}

// below returns a TTL that at least the share q of the keys with one does not pass.
func (t *ttls) below(q float64) time.Duration {
	var n int64
	for i, c := range t.steps {
		if n += int64(c); float64(n) >= q*float64(t.some) {
			return min(time.Duration(1<<i)*time.Millisecond, t.max)
		}
	}
	return t.max
}

// fieldNames returns the fields of hashes or JSON objects that were seen.
func (g *group) fieldNames() []string {
	if g.values == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(g.values.fields.byName))
}

func (g *group) mostlyExpires() bool { return g.ttl.some > g.ttl.none }

// signature returns what the keys of a group have in common besides their names.
func (g *group) signature() string {
	s := g.kind().String()
	switch {
	case g.ttl.none == 0:
		s += " expires"
	case g.ttl.some > 0:
		s += " either"
	}
	if g.values == nil {
		return s
	}
	switch g.kind() {
	case source.String:
		s += " " + g.values.whole.typ(0)
	case source.Hash:
		if f := &g.values.fields; f.fixed() {
			s += " " + strings.Join(slices.Sorted(maps.Keys(f.byName)), ",")
		}
	case source.List, source.Set, source.ZSet:
		s += " " + g.values.member.typ(0) + " " + g.values.scores.typ()
	}
	return s
}
