package rdb

import (
	"math"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// packed returns a value whose elements share one string: a listpack, a ziplist, an
// intset or a zipmap.
func (r *reader) packed(l *layout.Layout, f *source.Facts) int64 {
	form := packed.Packings[l.Encoding]
	t := r.Text()
	bytes := r.model.robj + class(int64(t.Size))
	n, ok := r.entries(form, t)
	switch {
	case r.Err != nil:
	case r.want != nil:
		blob := r.values.text(&r.Window, t, packed.MaxWalked)
		if !ok {
			n = r.walked(form, blob, t)
		}
		r.unpack(l, form, blob, n/l.Per)
	case !ok:
		r.values.glimpse(&r.Window, t, packed.MaxWalked, func(blob []byte) { n = r.walked(form, blob, t) })
	default:
		r.Skip(t.Stored)
	}
	f.Elements = window.Clamp(n / l.Per)
	if l.Encoding == "ziplist" && l.Kind == source.List {
		bytes = r.model.list([]uint64{t.Size})
	}
	return bytes
}

// entries reads the head of a packed value that comes next, and holds it
// against the size the string has.
func (r *reader) entries(form *packed.Packing, t window.Text) (uint64, bool) {
	h := r.First(t, r.packedHead[:form.Head])
	if r.Err != nil {
		return 0, false
	}
	if len(h) < form.Head {
		r.Failf("a packed value of %d bytes, less than its head", t.Size)
		return 0, false
	}
	if form.Size != nil && form.Size(h) != t.Size {
		r.Failf("a packed value of %d bytes whose head says %d", t.Size, form.Size(h))
		return 0, false
	}
	return form.N(h)
}

// walked counts the entries of a value whose head cannot.
func (r *reader) walked(form *packed.Packing, blob []byte, t window.Text) uint64 {
	if uint64(len(blob)) < t.Size {
		r.Failf("a packed value of %d bytes without a count, more than the %d that are walked", t.Size, packed.MaxWalked)
		return 0
	}
	n := uint64(0)
	if !form.Walk(blob, func([]byte) bool { n++; return true }) {
		r.Fail(packed.ErrPacked)
	}
	return n
}

// unpack puts those of the n elements of a packed value that a sample has, or
// all of them, into r.want.
func (r *reader) unpack(l *layout.Layout, form *packed.Packing, blob []byte, n uint64) {
	i, keep := uint64(0), false
	elements, scores := 0, 0
	form.Walk(blob, func(v []byte) bool {
		place := i % l.Per
		if place == 0 {
			picked := r.spread(i/l.Per, n)
			if l.Kind == source.List {
				picked = r.atEnds(i/l.Per, n)
			}
			keep = r.keeps(picked)
			elements, scores = r.held()
		}
		i++
		switch {
		case !keep || place == 2: // when the field expires
		case place == 1 && l.Score != layout.NoScore:
			score, err := strconv.ParseFloat(string(v), 64)
			if err != nil {
				score = math.NaN()
			}
			r.want.Scores = append(r.want.Scores, score)
		default:
			r.takeOne(v)
		}
		if keep && i%l.Per == 0 {
			r.endElement(elements, scores)
		}
		return true
	})
}

// takeOne takes an element that was unpacked.
func (r *reader) takeOne(v []byte) {
	if uint64(len(v)) > r.limit() {
		r.long = true
		return
	}
	r.want.Elements = append(r.want.Elements, r.values.copy(v))
}

// quicklist returns a list of packed nodes: ziplists (version 1), or listpacks and
// single long elements (2).
func (r *reader) quicklist(l *layout.Layout, f *source.Facts) int64 {
	nodes := r.Count()
	f.Elements = 0
	var bytes, single int64
	for i := uint64(0); i < nodes && r.Err == nil; i++ {
		form, plainNode := packed.Packings["ziplist"], false
		if l.Version == 2 {
			form = packed.Packings["listpack"]
			switch container := r.Count(); container {
			case 1:
				plainNode = true
			case 2:
			default:
				r.Failf("a list's node of kind %d, which is %w", container, fault.ErrUnknown)
			}
		}
		t := r.Text()
		if r.Err != nil {
			break
		}
		single = int64(t.Size)
		bytes += r.model.listNode + class(int64(t.Size))
		const half = source.SampleMembers / 2 // every node has an element at least
		keep := r.keeps(r.req.Part != nil || f.Elements < half || i+half >= nodes)
		if plainNode {
			f.Elements++
			elements, scores := r.held()
			r.elementOf(t, keep)
			r.endElement(elements, scores)
			continue
		}
		f.Elements += window.Clamp(r.listNode(form, t, keep))
	}
	r.ends()
	if nodes == 1 && r.model.smallLists && single <= maxSmallList {
		f.Encoding = "listpack"
		return r.model.robj + class(single)
	}
	return r.model.listHead + bytes
}

// maxSmallList is the size up to which a list is one listpack
// (list-max-listpack-size -2).
const maxSmallList = 8 << 10

// listNode reads a node of a list, or passes it, and tells its elements.
func (r *reader) listNode(form *packed.Packing, t window.Text, keep bool) uint64 {
	n, ok := r.entries(form, t)
	switch {
	case r.Err != nil || ok && !keep:
		r.Skip(t.Stored)
	case keep:
		blob := r.values.text(&r.Window, t, packed.MaxWalked)
		if !ok {
			n = r.walked(form, blob, t)
		}
		r.unpack(&listNodes, form, blob, n)
	default:
		r.values.glimpse(&r.Window, t, packed.MaxWalked, func(blob []byte) { n = r.walked(form, blob, t) })
	}
	return n
}

// listNodes is the layout of a node of a list.
var listNodes = layout.Layout{Kind: source.List, Per: 1}
