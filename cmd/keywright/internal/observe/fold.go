package observe

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/explain"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/source"
)

// What is kept of the keys of one declared key, and of the instances of a construct.
const (
	maxLargest   = 20
	maxOffending = 50 // per code
	maxInstances = 1000
	maxKeptKey   = 1 << 10 // bytes of a name; a longer one is counted and not listed
)

// Buckets of the distributions: powers of four of seconds and of bytes.
const (
	bucketShift = 2
	bucketCount = 20
)

// Shape describes how the keys of one declared key are: their TTLs and sizes, the largest of
// them, and those that are not as declared.
type Shape struct {
	TTLs      [bucketCount]int64 // by Ceiling, in seconds
	NoTTL     int64
	Sizes     [bucketCount]int64 // by Ceiling, in bytes
	Unsized   int64              // keys of which no size is known
	Largest   []audit.LargeKey
	Offending map[string][]audit.Offender // by code, the first of them
}

// Merge adds the distributions of another.
func (s *Shape) Merge(o *Shape) {
	for i := range bucketCount {
		s.TTLs[i], s.Sizes[i] = s.TTLs[i]+o.TTLs[i], s.Sizes[i]+o.Sizes[i]
	}
	s.NoTTL, s.Unsized = s.NoTTL+o.NoTTL, s.Unsized+o.Unsized
}

// Ceiling returns the largest value in a bucket; the last bucket has no ceiling.
func Ceiling(bucket int) int64 { return 1 << (bucketShift * bucket) }

func bucketOf(n int64) int {
	for b := range bucketCount - 1 {
		if n <= Ceiling(b) {
			return b
		}
	}
	return bucketCount - 1
}

// Found describes what there is of an entry whose keys have placeholders.
type Found struct {
	Values []bind.Values
	Keys   []string // of rankings and streams
	Cut    bool     // there is more
}

// fold keeps what a page shows beside the report of an audit.
type fold struct {
	locator   *explain.Locator
	shapes    map[string]*Shape
	instances map[string]*gathering
}

// gathering holds the instances of one entry.
type gathering struct {
	leave []string
	seen  map[string]bind.Values
	keys  map[string]bool
	more  bool
}

func newFold(l *explain.Locator) *fold {
	return &fold{locator: l, shapes: map[string]*Shape{}, instances: map[string]*gathering{}}
}

func (f *fold) shape(name string) *Shape {
	s := f.shapes[name]
	if s == nil {
		s = &Shape{Offending: map[string][]audit.Offender{}}
		f.shapes[name] = s
	}
	return s
}

// add takes a batch of keys.
func (f *fold) add(keys []source.Key) {
	for i := range keys {
		k := &keys[i]
		t, _ := f.locator.Target(k.Name)
		if t.Key != nil {
			f.shape(t.Key.Name).add(k, t.Key.Name)
			f.instance(t.Key, k)
		}
	}
}

func (s *Shape) add(k *source.Key, entry string) {
	if k.TTL == source.NoTTL {
		s.NoTTL++
	} else {
		s.TTLs[bucketOf(int64(k.TTL/time.Second))]++
	}
	if k.Bytes < 0 {
		s.Unsized++
		return
	}
	s.Sizes[bucketOf(k.Bytes)]++
	if len(s.Largest) == maxLargest && k.Bytes <= s.Largest[maxLargest-1].Bytes || len(k.Name) > maxKeptKey {
		return
	}
	one := audit.LargeKey{Key: bytes.Clone(k.Name), DB: k.DB, Type: k.Kind.String(), Bytes: k.Bytes, Entry: entry}
	if k.TTL != source.NoTTL {
		left := k.TTL.Seconds()
		one.TTL = &left
	}
	at, _ := slices.BinarySearchFunc(s.Largest, one.Bytes,
		func(l audit.LargeKey, size int64) int { return cmp.Compare(size, l.Bytes) })
	s.Largest = slices.Insert(s.Largest, at, one)
	s.Largest = s.Largest[:min(len(s.Largest), maxLargest)]
}

// offends notes a key that is not as declared.
func (f *fold) offends(codes []string, entry string, k *source.Key) {
	if entry == "" || len(k.Name) > maxKeptKey {
		return
	}
	s := f.shape(entry)
	for _, code := range codes {
		if len(s.Offending[code]) < maxOffending {
			s.Offending[code] = append(s.Offending[code],
				audit.Offender{Code: code, DB: k.DB, Key: bytes.Clone(k.Name), Entry: entry})
		}
	}
}

// instance notes that there is an instance of a construct.
func (f *fold) instance(k *keyspace.Key, live *source.Key) {
	e := k.Entry
	kind := e.Construct
	listed := kind == keyspace.Ranking || live.Kind == source.Stream && k.Kind == keyspace.Kind(source.Stream.String())
	handles := kind == keyspace.Queue || kind == keyspace.Lock || kind == keyspace.Entity
	if !listed && (!handles || len(parts.Values(e)) == 0) || len(live.Name) > maxKeptKey {
		return
	}
	g := f.instances[e.Name]
	if g == nil {
		g = &gathering{leave: parts.Of(e).Own(), seen: map[string]bind.Values{}, keys: map[string]bool{}}
		f.instances[e.Name] = g
	}
	g.add(k, string(live.Name), listed)
}

func (g *gathering) add(k *keyspace.Key, name string, listed bool) {
	if listed {
		if g.more = g.more || len(g.keys) >= maxInstances && !g.keys[name]; len(g.keys) < maxInstances {
			g.keys[name] = true
		}
		return
	}
	v, ok := bind.Read(k.Pattern, name, g.leave...)
	if !ok {
		return
	}
	id := v.ID()
	if _, known := g.seen[id]; known {
		return
	}
	if len(g.seen) >= maxInstances {
		g.more = true
		return
	}
	g.seen[id] = v
}

// found returns the instances, in a stable order.
func (f *fold) found() map[string]Found {
	out := map[string]Found{}
	for name, g := range f.instances {
		one := Found{Cut: g.more}
		for _, v := range g.seen {
			one.Values = append(one.Values, v)
		}
		for k := range g.keys {
			one.Keys = append(one.Keys, k)
		}
		slices.SortFunc(one.Values, func(a, b bind.Values) int { return cmp.Compare(a.ID(), b.ID()) })
		slices.Sort(one.Keys)
		out[name] = one
	}
	return out
}

// tee represents a source that shows its keys to others, too.
type tee struct {
	source.Source
	to []func([]source.Key)
}

func (t tee) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary, error) {
	return t.Source.Scan(ctx, req, func(keys []source.Key) error {
		for _, to := range t.to {
			to(keys)
		}
		return each(keys)
	})
}
