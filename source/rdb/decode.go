package rdb

import (
	"bytes"
	"fmt"

	"math"
	"slices"
	"strconv"

	"github.com/keywright/keywright/source"
)

// Decode reads a value as DUMP returned it without its last ten bytes: the bytes of a
// string, the elements of a list, the members of a set, members and scores (as the
// shortest decimal that gives them back), fields and values. It does not know streams,
// modules, and hashes whose fields expire: then the error wraps ErrUnknown. It takes
// memory of the order of what the value has.
func Decode(value []byte) (source.Kind, [][]byte, error) {
	if len(value) == 0 {
		return source.Unknown, nil, &Error{Err: ErrTruncated}
	}
	l := &layouts[value[0]]
	w := newWindow(value)
	w.skip(1)
	d := decoder{window: w, layout: l}
	switch value[0] {
	case 0:
		d.add(d.string())
	case 1, 2, 4:
		for n := d.count() * l.per; n > 0 && d.err == nil; n-- {
			d.add(d.string())
		}
	case 3, 5:
		d.sorted()
	case 9, 10, 11, 12, 13, 16, 17, 20:
		d.packed(packings[l.encoding], d.string())
	case 14, 18:
		d.nodes()
	default:
		return l.kind, nil, &Error{Err: fmt.Errorf("type %d is %w", value[0], ErrUnknown)}
	}
	if d.err == nil && d.pos != d.end {
		d.failf("%d bytes after the value", d.end-d.pos)
	}
	return l.kind, d.elements, d.err
}

// decoder collects the elements of one value.
type decoder struct {
	*window
	layout   *layout
	elements [][]byte
}

func (d *decoder) add(element []byte) { d.elements = append(d.elements, element) }

// string reads a string whole: the bytes are all there, so that it takes no more memory
// than they can expand to.
func (d *decoder) string() []byte {
	t := d.text()
	if d.err != nil || t.stored > uint64(d.end-d.pos) {
		d.fail(ErrTruncated)
		return nil
	}
	if t.size > math.MaxInt32 {
		d.failf("a string of %d bytes", t.size)
		return nil
	}
	return d.body(t, nil, int(t.size))
}

func (d *decoder) sorted() {
	for n := d.count(); n > 0 && d.err == nil; n-- {
		member := d.string()
		var score float64
		if d.layout.score == binaryScore {
			score = math.Float64frombits(d.uint64())
		} else {
			score = d.textScore()
		}
		d.add(member)
		d.add(strconv.AppendFloat(nil, score, 'g', -1, 64))
	}
}

func (d *decoder) textScore() float64 {
	switch n := d.byte(); n {
	case scoreNaN:
		return math.NaN()
	case scoreInfinity:
		return math.Inf(1)
	case scoreNegative:
		return math.Inf(-1)
	default:
		score, err := strconv.ParseFloat(string(d.take(int(n))), 64)
		if err != nil {
			d.failf("a score that is no number")
		}
		return score
	}
}

// packed adds the elements of a packed value.
func (d *decoder) packed(form *packing, blob []byte) {
	if d.err != nil {
		return
	}
	scores := d.layout.score != noScore
	if !form.walk(blob, func(e []byte) bool {
		if scores && len(d.elements)%2 == 1 {
			if score, err := strconv.ParseFloat(string(e), 64); err == nil {
				e = strconv.AppendFloat(nil, score, 'g', -1, 64)
			}
		}
		d.add(slices.Clone(e))
		return true
	}) {
		d.fail(errPacked)
	}
}

// nodes adds the elements of a list of packed nodes.
func (d *decoder) nodes() {
	for n := d.count(); n > 0 && d.err == nil; n-- {
		form := packings["ziplist"]
		if d.layout.version == 2 {
			form = packings["listpack"]
			if d.count() == 1 {
				d.add(d.string())
				continue
			}
		}
		d.packed(form, d.string())
	}
}

// Same reports whether two values, as DUMP returned them without their last ten bytes,
// are equal: whatever their encodings, and the order of what has none.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	if oldA, oldB := older(a), older(b); oldA != nil && oldB != nil {
		return bytes.Equal(oldA, oldB)
	}
	kindA, x, err1 := Decode(a)
	kindB, y, err2 := Decode(b)
	if err1 != nil || err2 != nil || kindA != kindB || len(x) != len(y) {
		return false
	}
	if kindA == source.Hash || kindA == source.ZSet {
		x, y = pairs(x), pairs(y)
	}
	if kindA != source.List && kindA != source.String {
		slices.SortFunc(x, bytes.Compare)
		slices.SortFunc(y, bytes.Compare)
	}
	return slices.EqualFunc(x, y, bytes.Equal)
}

// older is a stream in the oldest form that has all of it but the times at which its
// consumers were last active; nil for other values.
func older(value []byte) []byte {
	switch value[0] {
	case 19:
		return value
	case 21:
		out, _ := olderStream(value)
		return out
	}
	return nil
}

// pairs joins each two elements, so that they can be ordered together.
func pairs(elements [][]byte) (out [][]byte) {
	for i := 0; i+1 < len(elements); i += 2 {
		pair := appendLength(nil, uint64(len(elements[i])))
		out = append(out, append(append(pair, elements[i]...), elements[i+1]...))
	}
	return out
}
