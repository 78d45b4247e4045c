// Package digests holds digests of any number of records in bounded memory: what is too much is in sorted runs on the
// disk. It does not know what they are digests of.
package digests

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"io"
	"slices"

	"github.com/keywright/keywright/migrate/record"
)

// Pair represents the digest of an identity, and of what is stored for it.
type Pair struct{ ID, Content uint64 }

func (a Pair) compare(b Pair) int {
	if a.ID != b.ID {
		return cmp.Compare(a.ID, b.ID)
	}
	return cmp.Compare(a.Content, b.Content)
}

// Held is how many digests are held in memory.
const Held = 1 << 18

const (
	pairBytes = 16
	pairRun   = Held // pairs that are held in memory: 4 MiB
	pairBlock = 64   // pairs that are read at once
)

// Set holds those of any number of records, in bounded memory: what is too much is in
// sorted runs on the disk.
type Set struct {
	Room func() (record.Spill, error)
	held []Pair

	runs  []int64 // how many pairs each has
	spill record.Spill

	sorted record.Spill // all of them, once they are merged; nil: they are in held
	count  int64
	first  []uint64 // the identity at the beginning of each block of sorted
	out    []byte
}

// Add adds one.
func (d *Set) Add(p Pair) error {
	if d.held == nil {
		d.held = make([]Pair, 0, 1024)
	}
	if d.held = append(d.held, p); len(d.held) < pairRun {
		return nil
	}
	return d.flush()
}

// flush writes a sorted run.
func (d *Set) flush() (err error) {
	if d.spill == nil {
		if d.spill, err = d.Room(); err != nil {
			return err
		}
	}
	slices.SortFunc(d.held, Pair.compare)
	text := make([]byte, 0, 64<<10)
	for i, p := range d.held {
		text = appendPair(text, p)
		if len(text) == cap(text) || i == len(d.held)-1 {
			if _, err := d.spill.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	d.runs, d.held = append(d.runs, int64(len(d.held))), d.held[:0]
	return nil
}

func appendPair(text []byte, p Pair) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(text, p.ID), p.Content)
}

// pairReader reads pairs in order.
type pairReader struct {
	Pair
	in         io.ReaderAt
	from, left int64
	block      []byte
}

func (r *pairReader) next() (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	if len(r.block) == 0 {
		r.block = make([]byte, min(r.left, 4096)*pairBytes)
		if _, err := r.in.ReadAt(r.block, r.from); err != nil {
			return false, err
		}
		r.from += int64(len(r.block))
	}
	r.Pair = Pair{binary.LittleEndian.Uint64(r.block), binary.LittleEndian.Uint64(r.block[8:])}
	r.block, r.left = r.block[pairBytes:], r.left-1
	return true, nil
}

type pairHeap []*pairReader

func (h pairHeap) Len() int           { return len(h) }
func (h pairHeap) Less(i, j int) bool { return h[i].compare(h[j].Pair) < 0 }
func (h pairHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *pairHeap) Push(x any)        { *h = append(*h, x.(*pairReader)) }
func (h *pairHeap) Pop() any          { last := (*h)[len(*h)-1]; *h = (*h)[:len(*h)-1]; return last }

// Sort makes all of them ready for has, and visits them in order.
func (d *Set) Sort(visit func(Pair)) error {
	if len(d.runs) == 0 {
		slices.SortFunc(d.held, Pair.compare)
		for _, p := range d.held {
			visit(p)
		}
		return nil
	}
	if err := d.flush(); err != nil {
		return err
	}
	d.held = nil
	var h pairHeap
	from := int64(0)
	for _, n := range d.runs {
		r := &pairReader{in: d.spill, from: from, left: n}
		from += n * pairBytes
		if ok, err := r.next(); err != nil {
			return err
		} else if ok {
			h = append(h, r)
		}
	}
	heap.Init(&h)
	var err error
	if d.sorted, err = d.Room(); err != nil {
		return err
	}
	for len(h) > 0 {
		visit(h[0].Pair)
		if err := d.keep(h[0].Pair); err != nil {
			return err
		}
		if ok, err := h[0].next(); err != nil {
			return err
		} else if ok {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	_, err = d.sorted.Write(d.out)
	return err
}

func (d *Set) keep(p Pair) (err error) {
	if d.count%pairBlock == 0 {
		d.first = append(d.first, p.ID)
	}
	d.count++
	if d.out = appendPair(d.out, p); len(d.out) >= 64<<10 {
		_, err = d.sorted.Write(d.out)
		d.out = d.out[:0]
	}
	return err
}

// Has reports whether there is an identity, once they are sorted.
func (d *Set) Has(id uint64) (bool, error) {
	if d.sorted == nil {
		_, there := slices.BinarySearchFunc(d.held, id, func(p Pair, id uint64) int { return cmp.Compare(p.ID, id) })
		return there, nil
	}
	at, exact := slices.BinarySearch(d.first, id)
	if exact || at == 0 {
		return exact, nil
	}
	from := int64(at-1) * pairBlock
	text := make([]byte, min(pairBlock, d.count-from)*pairBytes)
	if _, err := d.sorted.ReadAt(text, from*pairBytes); err != nil {
		return false, err
	}
	for ; len(text) > 0; text = text[pairBytes:] {
		if binary.LittleEndian.Uint64(text) == id {
			return true, nil
		}
	}
	return false, nil
}

// Close gives back the room on the disk.
func (d *Set) Close() {
	for _, s := range []record.Spill{d.spill, d.sorted} {
		if s != nil {
			_ = s.Close()
		}
	}
}

// Once tells which identities come for the first time, in bounded memory.
type Once struct {
	Room   func() (record.Spill, error)
	Most   int // that are held in memory; 0: pairRun
	held   map[uint64]bool
	before []*Set // sorted
}

// First reports whether an identity was not asked about before.
func (o *Once) First(id uint64) (bool, error) {
	if o.held[id] {
		return false, nil
	}
	for _, d := range o.before {
		if had, err := d.Has(id); had || err != nil {
			return false, err
		}
	}
	if len(o.held) >= cmp.Or(o.Most, pairRun) {
		d := &Set{Room: o.Room}
		o.before = append(o.before, d)
		for id := range o.held {
			if err := d.Add(Pair{ID: id}); err != nil {
				return false, err
			}
		}
		if err := d.Sort(func(Pair) {}); err != nil {
			return false, err
		}
		o.held = nil
	}
	if o.held == nil {
		o.held = map[uint64]bool{}
	}
	o.held[id] = true
	return true, nil
}

// Close gives back the room on the disk.
func (o *Once) Close() {
	for _, d := range o.before {
		d.Close()
	}
}
