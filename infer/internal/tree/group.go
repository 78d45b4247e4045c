package tree

import (
	"bytes"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/infer/internal/content"
	"github.com/keywright/keywright/source"
)

// Group describes what is known of the keys of one shape.
type Group struct {
	Keys    int64
	Size    int64 // bytes, of those keys whose bytes are known
	Kinds   [source.Kinds]int64
	Example []byte // the smallest key
	TTL     TTLs
	Most    int64 // elements of the largest key, as far as the source tells
	asked   int
	Values  *content.Content
	sampled *int // groups of the tree whose values are sampled
}

// TTLs describes what is known of remaining TTLs.
type TTLs struct {
	None, Some int64
	Min, Max   time.Duration
	steps      [48]uint32 // by powers of two of milliseconds
}

// NewGroup returns a group without keys.
func NewGroup() *Group { return &Group{} }

// Bounds of the sample of values: every key of a small group, then fewer and
// fewer.
const (
	firstValues = 64
	maxValues   = 400
	maxSampled  = 4000 // groups with a sample: beyond, shapes are reported without one
)

// WantsValue says whether the value of the group's next key is to be read.
func (g *Group) WantsValue() bool {
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
	return g.asked <= firstValues || g.Keys&1023 == 0
}

// Add adds a key.
func (g *Group) Add(k *source.Key) {
	g.Keys++
	if k.Bytes > 0 {
		g.Size += k.Bytes
	}
	if int(k.Kind) < len(g.Kinds) {
		g.Kinds[k.Kind]++
	}
	if g.Example == nil || g.Keys < 4096 && bytes.Compare(k.Name, g.Example) < 0 {
		g.Example = append(g.Example[:0], k.Name...)
	}
	g.TTL.add(k.TTL)
	if k.Facts != nil {
		g.Most = max(g.Most, k.Facts.Elements)
	}
	if k.Value != nil {
		if g.Values == nil {
			g.Values = &content.Content{}
		}
		g.Values.Add(k.Kind, k.Value)
	}
}

// Count adds a key that was kept.
func (g *Group) Count(name []byte, f *Fact) {
	g.Keys++
	g.Size += max(f.Bytes, 0)
	g.Kinds[f.Kind]++
	if g.Example == nil || bytes.Compare(name, g.Example) < 0 {
		g.Example = name
	}
	g.TTL.add(time.Duration(f.TTL))
	g.Most = max(g.Most, int64(f.most))
}

// Merge adds the keys of another group.
func (g *Group) Merge(o *Group) {
	g.Keys += o.Keys
	g.Size += o.Size
	for i, n := range o.Kinds {
		g.Kinds[i] += n
	}
	if g.Example == nil || o.Example != nil && bytes.Compare(o.Example, g.Example) < 0 {
		g.Example = o.Example
	}
	g.TTL.merge(&o.TTL)
	g.Most = max(g.Most, o.Most)
	g.asked += o.asked
	if o.Values != nil {
		if g.Values == nil {
			g.Values = &content.Content{}
		}
		g.Values.Merge(o.Values)
	}
}

// Kind returns the type most keys have.
func (g *Group) Kind() source.Kind {
	best := source.Unknown
	for k := range g.Kinds {
		if g.Kinds[k] > g.Kinds[best] {
			best = source.Kind(k)
		}
	}
	return best
}

func (t *TTLs) add(d time.Duration) {
	if d == source.NoTTL {
		t.None++
		return
	}
	if t.Some == 0 || d < t.Min {
		t.Min = d
	}
	t.Max = max(t.Max, d)
	t.Some++
	t.steps[min(bits.Len64(uint64(d/time.Millisecond)), len(t.steps)-1)]++
}

func (t *TTLs) merge(o *TTLs) {
	if o.Some > 0 && (t.Some == 0 || o.Min < t.Min) {
		t.Min = o.Min
	}
	t.Max = max(t.Max, o.Max)
	t.None, t.Some = t.None+o.None, t.Some+o.Some
	for i, n := range o.steps {
		t.steps[i] += n
	}
}

// Below returns a TTL that at least the share q of the keys with one does not pass.
func (t *TTLs) Below(q float64) time.Duration {
	var n int64
	for i, c := range t.steps {
		if n += int64(c); float64(n) >= q*float64(t.Some) {
			return min(time.Duration(1<<i)*time.Millisecond, t.Max)
		}
	}
	return t.Max
}

// FieldNames returns the fields of hashes or JSON objects that were seen.
func (g *Group) FieldNames() []string {
	if g.Values == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(g.Values.Fields.ByName))
}

// MostlyExpires reports whether more keys have a TTL than have none.
func (g *Group) MostlyExpires() bool { return g.TTL.Some > g.TTL.None }

// Signature returns what the keys of a group have in common besides their names.
func (g *Group) Signature() string {
	s := g.Kind().String()
	switch {
	case g.TTL.None == 0:
		s += " expires"
	case g.TTL.Some > 0:
		s += " either"
	}
	if g.Values == nil {
		return s
	}
	switch g.Kind() {
	case source.String:
		s += " " + g.Values.Whole.Type(0)
	case source.Hash:
		if f := &g.Values.Fields; f.Fixed() {
			s += " " + strings.Join(slices.Sorted(maps.Keys(f.ByName)), ",")
		}
	case source.List, source.Set, source.ZSet:
		s += " " + g.Values.Member.Type(0) + " " + g.Values.Scores.Type()
	}
	return s
}
