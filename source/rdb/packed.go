package rdb

import (
	"math"
	"strconv"

	"github.com/keywright/keywright/source"
)

// packed returns a value whose elements share one string: a listpack, a ziplist, an
// intset or a zipmap.
func (r *reader) packed(l *layout, f *source.Facts) int64 {
	form := packings[l.encoding]
	t := r.text()
	bytes := r.model.robj + class(int64(t.size))
	n, ok := r.entries(form, t)
	switch {
	case r.err != nil:
	case r.want != nil:
		blob := r.values.text(&r.window, t, maxWalked)
		if !ok {
			n = r.walked(form, blob, t)
		}
		r.unpack(l, form, blob, n/l.per)
	case !ok:
		r.values.glimpse(&r.window, t, maxWalked, func(blob []byte) { n = r.walked(form, blob, t) })
	default:
		r.skip(t.stored)
	}
	f.Elements = clamp(n / l.per)
	if l.encoding == "ziplist" && l.kind == source.List {
		bytes = r.model.list([]uint64{t.size})
	}
	return bytes
}

// entries reads the head of a packed value that comes next, and holds it
// against the size the string has.
func (r *reader) entries(form *packing, t text) (uint64, bool) {
	h := r.first(t, r.packedHead[:form.head])
	if r.err != nil {
		return 0, false
	}
	if len(h) < form.head {
		r.failf("a packed value of %d bytes, less than its head", t.size)
		return 0, false
	}
	if form.size != nil && form.size(h) != t.size {
		r.failf("a packed value of %d bytes whose head says %d", t.size, form.size(h))
		return 0, false
	}
	return form.n(h)
}

// walked counts the entries of a value whose head cannot.
func (r *reader) walked(form *packing, blob []byte, t text) uint64 {
	if uint64(len(blob)) < t.size {
		r.failf("a packed value of %d bytes without a count, more than the %d that are walked", t.size, maxWalked)
		return 0
	}
	n := uint64(0)
	if !form.walk(blob, func([]byte) bool { n++; return true }) {
		r.fail(errPacked)
	}
	return n
}

// unpack puts those of the n elements of a packed value that a sample has, or
// all of them, into r.want.
func (r *reader) unpack(l *layout, form *packing, blob []byte, n uint64) {
	i, keep := uint64(0), false
	elements, scores := 0, 0
	form.walk(blob, func(v []byte) bool {
		place := i % l.per
		if place == 0 {
			picked := r.spread(i/l.per, n)
			if l.kind == source.List {
				picked = r.atEnds(i/l.per, n)
			}
			keep = r.keeps(picked)
			elements, scores = r.held()
		}
		i++
		switch {
		case !keep || place == 2: // when the field expires
		case place == 1 && l.score != noScore:
			score, err := strconv.ParseFloat(string(v), 64)
			if err != nil {
				score = math.NaN()
			}
			r.want.Scores = append(r.want.Scores, score)
		default:
			r.takeOne(v)
		}
		if keep && i%l.per == 0 {
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
func (r *reader) quicklist(l *layout, f *source.Facts) int64 {
	nodes := r.count()
	f.Elements = 0
	var bytes, single int64
	for i := uint64(0); i < nodes && r.err == nil; i++ {
		form, plainNode := packings["ziplist"], false
		if l.version == 2 {
			form = packings["listpack"]
			switch container := r.count(); container {
			case 1:
				plainNode = true
			case 2:
			default:
				r.failf("a list's node of kind %d, which is %w", container, ErrUnknown)
			}
		}
		t := r.text()
		if r.err != nil {
			break
		}
		single = int64(t.size)
		bytes += r.model.listNode + class(int64(t.size))
		const half = source.SampleMembers / 2 // every node has an element at least
		keep := r.keeps(r.req.Part != nil || f.Elements < half || i+half >= nodes)
		if plainNode {
			f.Elements++
			elements, scores := r.held()
			r.elementOf(t, keep)
			r.endElement(elements, scores)
			continue
		}
		f.Elements += clamp(r.listNode(form, t, keep))
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
func (r *reader) listNode(form *packing, t text, keep bool) uint64 {
	n, ok := r.entries(form, t)
	switch {
	case r.err != nil || ok && !keep:
		r.skip(t.stored)
	case keep:
		blob := r.values.text(&r.window, t, maxWalked)
		if !ok {
			n = r.walked(form, blob, t)
		}
		r.unpack(&listNodes, form, blob, n)
	default:
		r.values.glimpse(&r.window, t, maxWalked, func(blob []byte) { n = r.walked(form, blob, t) })
	}
	return n
}

// listNodes is the layout of a node of a list.
var listNodes = layout{kind: source.List, per: 1}
