package audit

import (
	"math/bits"
	"slices"
	"time"

	"github.com/keywright/keywright/source"
)

// figures are what is counted of any group of keys.
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

// stepOf is the index of the step that ms lies in: four per doubling.
func stepOf(ms uint64) int {
	if ms < 4 {
		return int(ms)
	}
	power := bits.Len64(ms) - 1
	return power*4 + int(ms>>(power-2)&3)
}

// stepMiddle is the middle of a step in milliseconds.
func stepMiddle(i int) float64 {
	if i < 4 {
		return float64(i)
	}
	power := i / 4
	low := float64(uint64(1)<<power) * (1 + float64(i%4)/4)
	return low * 1.125
}

// quantile is the TTL below which a share q of the keys with TTL lies.
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

// topList keeps the largest keys.
type topList struct {
	size int
	list []topKey
}

type topKey struct {
	name  []byte
	db    int
	kind  source.Kind
	bytes int64
	item  int
}

func (t *topList) offer(k *source.Key, item int) {
	if k.Bytes < 0 || t.size == 0 {
		return
	}
	if len(t.list) == t.size { // full: of keys of one size the smaller names stay, in whatever order they come
		least := &t.list[t.size-1]
		if k.Bytes < least.bytes || k.Bytes == least.bytes && slices.Compare(k.Name, least.name) >= 0 {
			return
		}
	}
	for _, known := range t.list { // SCAN may repeat a key
		if known.db == k.DB && string(known.name) == string(k.Name) {
			return
		}
	}
	i, _ := slices.BinarySearchFunc(t.list, k, func(a topKey, k *source.Key) int {
		if a.bytes != k.Bytes {
			return int(min(max(k.Bytes-a.bytes, -1), 1))
		}
		return slices.Compare(a.name, k.Name)
	})
	if len(t.list) == t.size {
		t.list = t.list[:t.size-1]
	}
	t.list = slices.Insert(t.list, i, topKey{slices.Clone(k.Name), k.DB, k.Kind, k.Bytes, item})
}
