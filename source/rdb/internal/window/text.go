package window

import (
	"encoding/binary"
	"strconv"
)

// Text represents a string of the snapshot whose head has been read and whose body
// comes next: plain bytes, an integer, or compressed bytes.
type Text struct {
	Encoding int
	Stored   uint64 // bytes in the file
	Size     uint64 // bytes of the string
	integer  int64  // its value, if it is one
}

// Text reads the head of a string.
func (w *Window) Text() Text {
	n, encoding := w.length()
	switch encoding {
	case Plain:
		return Text{Plain, n, n, 0}
	case EncodedLZF:
		stored := w.Count()
		size := w.Count()
		if size == 0 || stored == 0 || size/maxRatio > stored {
			w.Failf("a compressed string of %d bytes that claims to become %d", stored, size)
		}
		return Text{EncodedLZF, stored, size, 0}
	case encodedInt8:
		v := int64(int8(w.Byte()))
		return Text{encodedInt8, 0, digits(v), v}
	case encodedInt16:
		if p := w.Take(2); p != nil {
			v := int64(int16(binary.LittleEndian.Uint16(p)))
			return Text{encodedInt16, 0, digits(v), v}
		}
	default:
		v := int64(int32(w.Uint32()))
		return Text{encodedInt32, 0, digits(v), v}
	}
	return Text{}
}

// maxRatio is more than LZF can do: three bytes become 264 at most.
const maxRatio = 264/3 + 1

// digits returns the length of a number in decimal.
func digits(v int64) uint64 {
	n := uint64(1)
	u := uint64(v)
	if v < 0 {
		n, u = 2, -u
	}
	for ; u >= 10; u /= 10 {
		n++
	}
	return n
}

// SkipText passes a string and tells its size.
func (w *Window) SkipText() uint64 {
	t := w.Text()
	w.Skip(t.Stored)
	return t.Size
}

// head gives up to len(dst) of a string's first bytes, and passes it.
func (w *Window) head(t Text, dst []byte) []byte {
	dst = w.First(t, dst)
	w.Skip(t.Stored)
	return dst
}

// First gives up to len(dst) of a string's first bytes without passing it.
func (w *Window) First(t Text, dst []byte) []byte {
	switch t.Encoding {
	case Plain:
		n := int(min(t.Stored, uint64(len(dst))))
		if !w.Need(n) {
			return nil
		}
		return dst[:copy(dst, w.Buf[w.Pos:w.Pos+n])]
	case EncodedLZF:
		// n bytes out of LZF need no more than n plus one in 32 of its own, and
		// what a match refers to is in them.
		n := int(min(t.Stored, uint64(len(dst))+uint64(len(dst))/32+4))
		if !w.Need(n) {
			return nil
		}
		n, ok := expand(dst, w.Buf[w.Pos:w.Pos+n])
		if !ok || n < int(min(uint64(len(dst)), t.Size)) {
			w.Failf("a compressed string that cannot be expanded")
			return nil
		}
		return dst[:n]
	default:
		return strconv.AppendInt(dst[:0], t.integer, 10)
	}
}

// Body appends a string's first limit bytes to dst, and passes it.
func (w *Window) Body(t Text, dst []byte, limit int) []byte {
	n := int(min(t.Size, uint64(limit)))
	from := len(dst)
	if t.Encoding != Plain && t.Encoding != EncodedLZF {
		return strconv.AppendInt(dst, t.integer, 10)
	}
	if t.Encoding == EncodedLZF && !w.Need(int(min(t.Stored, uint64(n)+uint64(n)/32+4))) ||
		t.Encoding == Plain && !w.Need(n) {
		return dst // the bytes did not come: nothing was allocated for them
	}
	dst = Grow(dst, n)
	got := w.head(t, dst[from:from+n])
	return dst[:from+len(got)]
}

// Grow makes dst n bytes longer.
func Grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) < n {
		bigger := make([]byte, len(dst), len(dst)+max(n, 64<<10)) // what is cut from dst stays where it is
		copy(bigger, dst)
		dst = bigger
	}
	return dst[:len(dst)+n]
}

// expand decompresses LZF until dst is full or src ends: a prefix of the input
// gives a prefix of the output. It is false for input that no compressor made.
// See http://oldhome.schmorp.de/marc/liblzf.html.
func expand(dst, src []byte) (int, bool) {
	out := 0
	for i := 0; i < len(src) && out < len(dst); {
		c := int(src[i])
		i++
		if c < 32 {
			out += copy(dst[out:], src[i:min(i+c+1, len(src))])
			i += c + 1
			continue
		}
		length := c>>5 + 2
		if length == 9 {
			if i >= len(src) {
				break
			}
			length += int(src[i])
			i++
		}
		if i >= len(src) {
			break
		}
		from := out - (c&31)<<8 - int(src[i]) - 1
		i++
		if from < 0 {
			return out, false
		}
		length = min(length, len(dst)-out)
		for range length { // byte by byte: a match may overlap itself
			dst[out] = dst[from]
			out, from = out+1, from+1
		}
	}
	return out, true
}

// Pieces passes a string, and gives its bytes a piece at a time.
func (w *Window) Pieces(t Text, each func([]byte)) {
	switch t.Encoding {
	case Plain:
		for left := t.Stored; left > 0 && w.Need(1); {
			n := min(left, uint64(w.End-w.Pos))
			each(w.Take(int(n)))
			left -= n
		}
	case EncodedLZF:
		w.expand(t, each)
	default:
		each(strconv.AppendInt(nil, t.integer, 10))
	}
}

// history says how far back LZF refers.
const history = 8 << 10

// expand decompresses LZF a piece at a time, however long it is.
func (w *Window) expand(t Text, each func([]byte)) {
	out := w.expanded[:0]
	if need := int(min(t.Size, 64<<10+history)) + 512; cap(out) < need {
		out = make([]byte, 0, need)
	}
	defer func() { w.expanded = out[:0] }()
	given, total := 0, uint64(0) // of out; of the string
	flush := func() {
		each(out[given:])
		total += uint64(len(out) - given)
		if len(out) > history {
			out = out[:copy(out, out[len(out)-history:])]
		}
		given = len(out)
	}
	stop := w.Offset() + int64(t.Stored)
	for w.Offset() < stop && w.Err == nil {
		if len(out)-given >= 64<<10 {
			flush()
		}
		if total+uint64(len(out)-given) > t.Size {
			break
		}
		c := int(w.Byte())
		if c < 32 {
			out = append(out, w.Take(c+1)...)
			continue
		}
		length := c>>5 + 2
		if length == 9 {
			length += int(w.Byte())
		}
		from := len(out) - (c&31)<<8 - int(w.Byte()) - 1
		if from < 0 {
			w.Failf("a compressed string that cannot be expanded")
			return
		}
		for range length { // byte by byte: a match may overlap itself
			out = append(out, out[from])
			from++
		}
	}
	flush()
	if w.Err == nil && (total != t.Size || w.Offset() != stop) {
		w.Failf("a compressed string that cannot be expanded")
	}
}

// AppendLength appends a length as RDB has it.
func AppendLength(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, byte(n))
	case n < 1<<14:
		return append(b, 0x40|byte(n>>8), byte(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, 0x80), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 0x81), n)
}
