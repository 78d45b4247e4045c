package audit

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
)

// figures describes what is counted of any group of keys.
type figures struct {
	keys  int64
	bytes int64
	blind int64 // keys whose bytes are unknown
	noTTL int64
	ttls  histogram
}

func (f *figures) add(k *source.Key) {
	f.keys++
	if k.Bytes >= 0 {
		f.bytes += k.Bytes
	} else {
		f.blind++
	}
	if k.TTL == source.NoTTL {
		f.noTTL++
	} else {
		f.ttls.add(k.TTL)
	}
}

func (f *figures) merge(o *figures) {
	f.keys, f.bytes, f.blind, f.noTTL = f.keys+o.keys, f.bytes+o.bytes, f.blind+o.blind, f.noTTL+o.noTTL
	f.ttls.merge(&o.ttls)
}

// histogram counts TTLs in steps of a quarter of a power of two, from a
// millisecond to centuries: a quantile is right to 12.5 %.
type histogram struct {
	steps    []int64
	min, max time.Duration
	n        int64
}

func (h *histogram) add(d time.Duration) {
	ms := uint64(max(d/time.Millisecond, 1))
	if h.n == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.n++
	i := stepOf(ms)
	if i >= len(h.steps) {
		h.steps = append(h.steps, make([]int64, i+1-len(h.steps))...)
	}
	h.steps[i]++
}

func (h *histogram) merge(o *histogram) {
	if o.n == 0 {
		return
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.n += o.n
	if len(o.steps) > len(h.steps) {
		h.steps = append(h.steps, make([]int64, len(o.steps)-len(h.steps))...)
	}
	for i, n := range o.steps {
		h.steps[i] += n
	}
}

// stepOf returns the index of the step that ms is in: four per doubling.
func stepOf(ms uint64) int {
	if ms < 4 {
		return int(ms)
	}
	power := bits.Len64(ms) - 1
	return power*4 + int(ms>>(power-2)&3)
}

// stepMiddle returns the middle of a step in milliseconds.
func stepMiddle(i int) float64 {
	if i < 4 {
		return float64(i)
	}
	power := i / 4
	low := float64(uint64(1)<<power) * (1 + float64(i%4)/4)
	return low * 1.125
}

// quantile returns the TTL below which a share q of the keys with TTL is.
func (h *histogram) quantile(q float64) time.Duration {
	target := int64(q * float64(h.n))
	var below int64
	for i, n := range h.steps {
		if below += n; below > target {
			d := time.Duration(stepMiddle(i) * float64(time.Millisecond))
			return min(max(d, h.min), h.max)
		}
	}
	return h.max
}

// topList keeps the keys that rank highest.
type topList struct {
	size int
	rank func(*source.Key) int64
	list []topKey
}

type topKey struct {
	source.Key // without its value
	facts      source.Facts
	rank       int64
	item       int
}

// Rank describes what keys are ordered by in the list of the largest; -1 keeps a key
// out of it.
type Rank string

// The ranks. All but Bytes need a snapshot, which alone tells them.
const (
	ByBytes    Rank = "bytes"
	ByElements Rank = "elements"
	ByStored   Rank = "stored" // bytes in the snapshot
	ByIdle     Rank = "idle"
)

var ranks = map[Rank]func(*source.Key) int64{
	ByBytes:    func(k *source.Key) int64 { return k.Bytes },
	ByElements: func(k *source.Key) int64 { return fact(k, func(f *source.Facts) int64 { return f.Elements }) },
	ByStored:   func(k *source.Key) int64 { return fact(k, func(f *source.Facts) int64 { return f.Stored }) },
	ByIdle:     func(k *source.Key) int64 { return fact(k, func(f *source.Facts) int64 { return f.Idle }) },
}

func fact(k *source.Key, of func(*source.Facts) int64) int64 {
	if k.Facts == nil {
		return -1
	}
	return of(k.Facts)
}

func (t *topList) offer(k *source.Key, item int) {
	rank := t.rank(k)
	if rank < 0 || t.size == 0 {
		return
	}
	name := finding.Cut(k.Name)
	if len(t.list) == t.size {
		if least := &t.list[t.size-1]; cmp.Or(cmp.Compare(least.rank, rank), slices.Compare(name, least.Name),
			cmp.Compare(k.DB, least.DB)) >= 0 {
			return
		}
	}
	if t.holds(k.DB, name) { // SCAN may repeat a key
		return
	}
	top := topKey{Key: *k, rank: rank, item: item, facts: source.Facts{Elements: -1, Stored: -1, Idle: -1, Freq: -1}}
	if k.Facts != nil {
		top.facts = *k.Facts
	}
	top.Name, top.Value, top.Facts = name, nil, nil
	t.insert(&top)
}

func (t *topList) holds(db int, name []byte) bool {
	for i := range t.list {
		if known := &t.list[i]; known.DB == db && bytes.Equal(known.Name, name) {
			return true
		}
	}
	return false
}

// compareTop returns the order of the list: of keys of one rank the smaller names come first,
// in whatever order they are met.
func compareTop(a, b *topKey) int {
	return cmp.Or(cmp.Compare(b.rank, a.rank), slices.Compare(a.Name, b.Name), cmp.Compare(a.DB, b.DB))
}

// insert puts a key in its place, if there is one for it. Its name is copied.
func (t *topList) insert(top *topKey) {
	if t.holds(top.DB, top.Name) {
		return
	}
	i, _ := slices.BinarySearchFunc(t.list, top, func(a topKey, b *topKey) int { return compareTop(&a, b) })
	if i == t.size {
		return
	}
	t.list = t.list[:min(len(t.list), t.size-1)]
	one := *top
	one.Name = slices.Clone(top.Name)
	t.list = slices.Insert(t.list, i, one)
}
