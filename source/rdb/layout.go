package rdb

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/packed"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// reads says for each type how its value is passed: the function fills in the facts, puts the value into r.want if that
// is not nil, and tells the estimated bytes of the value in the server's memory, -1 if they are unknown.
var reads = [256]func(*reader, *layout.Layout, *source.Facts) int64{
	0:  (*reader).str,
	1:  (*reader).oldList,
	2:  (*reader).table,
	3:  (*reader).table,
	4:  (*reader).table,
	5:  (*reader).table,
	6:  (*reader).oldModule,
	7:  (*reader).moduleType,
	9:  (*reader).packed,
	10: (*reader).packed,
	11: (*reader).packed,
	12: (*reader).packed,
	13: (*reader).packed,
	14: (*reader).quicklist,
	15: (*reader).stream,
	16: (*reader).packed,
	17: (*reader).packed,
	18: (*reader).quicklist,
	19: (*reader).stream,
	20: (*reader).packed,
	21: (*reader).stream,
	22: (*reader).expiringTable,
	23: (*reader).expiringPacked,
	24: (*reader).expiringTable,
	25: (*reader).expiringPacked,
	26: (*reader).stream,
	27: (*reader).stream,
	28: (*reader).array,
	29: (*reader).templateListpack,
	30: (*reader).templateListpack,
	31: (*reader).templateArray,
	32: (*reader).templateArray,
}

// str returns a string. Which encoding the server gives it depends on its bytes.
func (r *reader) str(_ *layout.Layout, f *source.Facts) int64 {
	t := r.Text()
	f.Elements = int64(t.Size)
	bytes := r.model.robj
	integer := t.Encoding < window.EncodedLZF
	if t.Encoding == window.Plain && t.Stored <= 20 && r.Need(int(t.Stored)) {
		integer = isInteger(r.Buf[r.Pos : r.Pos+int(t.Stored)])
	}
	switch {
	case integer:
		f.Encoding = "int"
	case t.Size <= maxEmbedded:
		f.Encoding = "embstr"
		bytes = class(r.model.robj + 3 + int64(t.Size) + 1)
	default:
		f.Encoding = "raw"
		bytes += sds(t.Size)
	}
	if r.want != nil {
		limit := r.limit()
		r.want.Str = r.values.text(&r.Window, t, int(limit))
		r.cut = t.Size > limit
		return bytes
	}
	r.Skip(t.Stored)
	return bytes
}

// maxEmbedded is the longest string that is in one piece with its object.
const maxEmbedded = 44

// isInteger is string2l of the server: what Redis stores as a number.
func isInteger(p []byte) bool {
	if len(p) == 0 || len(p) > 20 {
		return false
	}
	negative := p[0] == '-'
	if negative {
		p = p[1:]
	}
	if len(p) == 0 || p[0] == '0' && (len(p) > 1 || negative) || len(p) > 19 {
		return false
	}
	var n uint64
	for _, c := range p {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + uint64(c-'0')
	}
	limit := uint64(1) << 63
	if negative {
		return n <= limit
	}
	return n < limit
}

// table returns a set, hash or sorted set that is stored element by element.
func (r *reader) table(l *layout.Layout, f *source.Facts) int64 {
	n := r.Count()
	f.Elements = window.Clamp(n)
	bytes := r.model.table(l.Kind, n)
	for i := uint64(0); i < n && r.Err == nil; i++ {
		keep := r.keeps(r.spread(i, n))
		elements, scores := r.held()
		for range l.Per {
			bytes += sds(r.element(keep))
		}
		if l.Score != layout.NoScore {
			if score := r.score(l.Score); keep {
				r.want.Scores = append(r.want.Scores, score)
			}
		}
		r.endElement(elements, scores)
	}
	return bytes
}

// element passes a string, or takes it into the value, and tells its size.
func (r *reader) element(keep bool) uint64 {
	return r.elementOf(r.Text(), keep)
}

func (r *reader) elementOf(t window.Text, keep bool) uint64 {
	if keep && t.Size > r.limit() {
		r.long, keep = true, false
	}
	if keep {
		r.want.Elements = append(r.want.Elements, r.values.text(&r.Window, t, int(r.limit())))
		return t.Size
	}
	r.Skip(t.Stored)
	return t.Size
}

// oldList returns a list as Redis before 3.2 wrote long ones.
func (r *reader) oldList(_ *layout.Layout, f *source.Facts) int64 {
	n := r.Count()
	f.Elements = window.Clamp(n)
	var sum uint64
	for i := uint64(0); i < n && r.Err == nil; i++ {
		elements, scores := r.held()
		sum += r.element(r.keeps(r.atEnds(i, n))) + 2
		r.endElement(elements, scores)
	}
	return r.model.list([]uint64{sum})
}

// ExpiringTable returns a hash some of whose fields expire. Version 1 writes the
// expiry before the field, 2 relative to the least of them, which comes first;
// 3 is Valkey's: it follows the value.
func (r *reader) expiringTable(l *layout.Layout, f *source.Facts) int64 {
	if l.Version == 2 {
		r.Skip(8)
	}
	n := r.Count()
	f.Elements = window.Clamp(n)
	bytes := r.model.table(source.Hash, n)
	for i := uint64(0); i < n && r.Err == nil; i++ {
		keep := r.keeps(r.spread(i, n))
		elements, scores := r.held()
		if l.Version < 3 {
			r.Count()
		}
		bytes += sds(r.element(keep)) + sds(r.element(keep))
		if l.Version == 3 {
			r.Skip(8)
		}
		r.endElement(elements, scores)
	}
	return bytes
}

func (r *reader) expiringPacked(l *layout.Layout, f *source.Facts) int64 {
	if l.Version == 2 {
		r.Skip(8)
	}
	return r.packed(l, f)
}

// oldModule returns what the release candidates of Redis 4 wrote: without framing.
func (r *reader) oldModule(*layout.Layout, *source.Facts) int64 {
	r.Fail(fmt.Errorf("a module's value of type 6, which has no length and is %w", fault.ErrUnknown))
	return -1
}

func (r *reader) moduleType(_ *layout.Layout, f *source.Facts) int64 {
	f.Encoding = r.moduleName(r.Count())
	start := r.Offset()
	r.moduleValue()
	return r.model.robj + r.Offset() - start
}

// Tags of an array's elements.
const (
	arrayText = iota
	arrayInt
	arrayFloat
	arrayShort
)

// array returns the type of Redis 8.8: a sparse sequence of strings.
func (r *reader) array(_ *layout.Layout, f *source.Facts) int64 {
	start := r.Offset()
	n := r.Count()
	f.Elements = window.Clamp(n)
	switch cursor := r.Count(); cursor {
	case 0:
	case 1:
		r.Count()
	default:
		r.Failf("an array whose flag of an insert cursor is %d", cursor)
	}
	for i := uint64(0); i < n && r.Err == nil; i++ {
		r.Count() // index
		switch tag := r.Count(); tag {
		case arrayText, arrayShort:
			r.SkipText()
		case arrayInt, arrayFloat:
			r.Skip(8)
		default:
			r.Failf("an array's element with tag %d, which is %w", tag, fault.ErrUnknown)
		}
	}
	return r.model.robj + r.Offset() - start
}

// templateListpack returns a hash whose field names lie in a template: in one of the
// snapshot's (version 2, whose listpack begins with its id), or before it.
func (r *reader) templateListpack(l *layout.Layout, f *source.Facts) int64 {
	var names []string
	if l.Version != 2 {
		names = r.ownTemplate()
	}
	t := r.Text()
	bytes := r.model.robj + class(int64(t.Size))
	if r.want != nil {
		blob := r.values.text(&r.Window, t, packed.MaxWalked)
		f.Elements = templated(l, blob)
		r.templateValues(blob, names, l.Version == 2)
		return bytes
	}
	r.values.glimpse(&r.Window, t, packed.ListpackHead, func(blob []byte) { f.Elements = templated(l, blob) })
	return bytes
}

// templated returns the number of fields of a hash, by the head of its listpack.
func templated(l *layout.Layout, blob []byte) int64 {
	entries := int64(packed.Uncounted)
	if len(blob) >= packed.ListpackHead {
		entries = int64(binary.LittleEndian.Uint16(blob[4:]))
	}
	if l.Version == 2 {
		entries-- // the id
	}
	return entries
}

// ownTemplate reads the field names of one hash.
func (r *reader) ownTemplate() (names []string) {
	size := 0
	for n := r.Count(); n > 0 && r.Err == nil; n-- {
		t := r.Text()
		if size += int(min(t.Size, maxTemplates)) + nameCost; size > maxTemplates {
			r.Failf("a hash template of more than %d bytes", maxTemplates)
			break
		}
		if r.want == nil || len(names) >= maxFields {
			r.Skip(t.Stored)
			continue
		}
		names = append(names, string(r.Body(t, nil, source.SampleString)))
	}
	return names
}

func (r *reader) templateValues(blob []byte, names []string, byID bool) {
	i := 0
	packed.WalkListpack(blob, func(v []byte) bool {
		if byID {
			byID = false
			id, _ := strconv.ParseUint(string(v), 10, 64)
			names = r.templates[id]
			return true
		}
		if i < len(names) && r.keeps(r.spread(uint64(i), uint64(len(names)))) {
			elements, scores := r.held()
			r.want.Elements = append(r.want.Elements, r.values.copy([]byte(names[i])))
			r.takeOne(v)
			r.endElement(elements, scores)
		}
		i++
		return i < len(names)
	})
}

// templateArray returns a hash whose values stand one by one.
func (r *reader) templateArray(l *layout.Layout, f *source.Facts) int64 {
	if l.Version != 2 {
		n := r.Count()
		f.Elements = window.Clamp(n)
		bytes := r.model.table(source.Hash, n)
		for i := uint64(0); i < n && r.Err == nil; i++ {
			keep := r.keeps(r.spread(i, n))
			elements, scores := r.held()
			bytes += sds(r.element(keep)) + sds(r.element(keep))
			r.endElement(elements, scores)
		}
		return bytes
	}
	id := r.Count()
	names, known := r.templates[id]
	if !known {
		r.Failf("a hash of template %d, which the snapshot does not have", id)
		return -1
	}
	f.Elements = int64(len(names))
	bytes := r.model.robj
	for i, name := range names {
		keep := r.keeps(r.spread(uint64(i), uint64(len(names))))
		elements, scores := r.held()
		if keep {
			r.want.Elements = append(r.want.Elements, r.values.copy([]byte(name)))
		}
		bytes += sds(r.element(keep))
		r.endElement(elements, scores)
	}
	return bytes
}
