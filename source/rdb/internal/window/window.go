// Package window reads the bytes of a snapshot: numbers, lengths and strings, compressed ones, too, from the part of the
// input that is in memory. The input is read ahead, and summed. It knows no opcode and no type of values.
package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/crc"
)

// MaxContiguous bounds what must lie in one piece, which is a key's name: a
// longer one is refused.
const MaxContiguous = 16 << 20

// Window represents the part of the input that is in memory. The first error sticks:
// what is read after it are zeros or bytes without a meaning, so that a parser may check once per record.
type Window struct {
	Blocks *blockReader
	Buf    []byte
	held   []byte // the block that buf is, nil if it is none
	Pos    int    // next byte
	End    int    // of what was read
	base   int64  // what to add to an index for its offset in the input
	fresh  int    // where the bytes of the newest block begin
	crc    uint64
	last   error // of the newest block: there is none after it
	Err    error
	// Moving is called before bytes in the window move, while they are still
	// where they were.
	Moving func() error
	// Release gives a block back when nothing refers to it any more.
	Release func([]byte)

	// A pin keeps the bytes from an index on: they stay in the window, up to most of
	// them. Then over says whether they are needed no more (nil) or reading ends.
	expanded []byte // space for strings that are compressed

	Pin  int // plus one; 0: there is none
	Most int
	Over func() error
}

// Offset returns where the next byte is in the input.
func (w *Window) Offset() int64 { return w.base + int64(w.Pos) }

// Fail notes an error, if it is the first.
func (w *Window) Fail(err error) {
	if w.Err == nil {
		w.Err = &fault.Error{Offset: w.Offset(), Err: err}
	}
}

// Failf notes an error with this text, if it is the first.
func (w *Window) Failf(format string, args ...any) { w.Fail(fmt.Errorf(format, args...)) }

// Need makes n bytes contiguous at pos. It is false when they do not come.
func (w *Window) Need(n int) bool { return w.End-w.Pos >= n || w.fill(n) }

func (w *Window) fill(n int) bool {
	if w.Err != nil {
		return false
	}
	if n > MaxContiguous {
		w.Failf("a piece of %d bytes is longer than the %d this reader takes", n, MaxContiguous)
		return false
	}
	if err := w.Moving(); err != nil {
		w.Err = err
		return false
	}
	for w.End-w.Pos < n {
		if !w.advance() {
			return false
		}
	}
	return true
}

// kept returns where the bytes begin that must stay in the window. It is false if reading is
// to end.
func (w *Window) kept() (int, bool) {
	if w.Pin == 0 {
		return w.Pos, true
	}
	if w.Pos-(w.Pin-1) > w.Most {
		if err := w.Over(); err != nil {
			w.Err = err
			return 0, false
		}
		w.Pin = 0
		return w.Pos, true
	}
	return w.Pin - 1, true
}

// advance appends the next block to what is left of the window.
func (w *Window) advance() bool {
	from, ok := w.kept()
	if !ok {
		return false
	}
	b, ok := block{}, false
	if w.last == nil {
		b, ok = <-w.Blocks.ready
	}
	if !ok || b.end == headroom {
		if b.err != nil {
			w.last = b.err
		}
		if w.last == nil || w.last == io.EOF {
			w.Fail(fault.ErrTruncated)
		} else {
			w.Fail(w.last)
		}
		return false
	}
	left, at, held := w.Buf[from:w.End], w.base+int64(from), w.held
	passed := w.Pos - from // of a value that is pinned
	if len(left) <= headroom {
		from = headroom - len(left)
		copy(b.buf[from:], left)
		w.Buf, w.End, w.fresh, w.held = b.buf, b.end, headroom, b.buf
	} else { // grows with what came, not with what was promised
		data := b.buf[headroom:b.end]
		if held != nil || cap(w.Buf)-w.End < len(data) {
			w.Buf = append(make([]byte, 0, 2*(len(left)+len(data))), left...)
			from = 0
		} else {
			w.Buf = w.Buf[:w.End]
		}
		w.fresh = len(w.Buf)
		w.Buf = append(w.Buf, data...)
		w.End, w.held = len(w.Buf), nil
		w.Release(b.buf)
	}
	if held != nil {
		w.Release(held)
	}
	w.Pos = from + passed
	if w.Pin > 0 {
		w.Pin = from + 1
	}
	w.base, w.crc, w.last = at-int64(from), b.crc, b.err
	return true
}

// Sum returns the checksum of all up to here.
func (w *Window) Sum() uint64 { return crc.Update(w.crc, w.Buf[w.fresh:w.Pos]) }

// Skip passes n bytes, however many.
func (w *Window) Skip(n uint64) {
	for n > uint64(w.End-w.Pos) {
		n -= uint64(w.End - w.Pos)
		w.Pos = w.End
		if !w.fill(1) {
			return
		}
	}
	w.Pos += int(n)
}

// More reports whether the input goes on.
func (w *Window) More() bool {
	if w.End > w.Pos {
		return true
	}
	if w.advance() {
		return true
	}
	if e := (*fault.Error)(nil); errors.As(w.Err, &e) && e.Err == fault.ErrTruncated {
		w.Err = nil // it ends where it should
	}
	return false
}

// Take gives the next n bytes, valid until the window moves.
func (w *Window) Take(n int) []byte {
	if !w.Need(n) {
		return nil
	}
	w.Pos += n
	return w.Buf[w.Pos-n : w.Pos]
}

// Byte reads one byte.
func (w *Window) Byte() byte {
	if w.Pos == w.End && !w.fill(1) {
		return 0
	}
	w.Pos++
	return w.Buf[w.Pos-1]
}

// Uint32 reads four bytes, the lowest first.
func (w *Window) Uint32() uint32 {
	if p := w.Take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

// Uint64 reads eight bytes, the lowest first.
func (w *Window) Uint64() uint64 {
	if p := w.Take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// Encodings of a string whose length byte begins with two ones.
const (
	encodedInt8 = iota
	encodedInt16
	encodedInt32
	EncodedLZF
	Plain // our own: not encoded
)

// length reads a length, or the number of an encoding.
func (w *Window) length() (n uint64, encoding int) {
	b := w.Byte()
	switch b >> 6 {
	case 0:
		return uint64(b), Plain
	case 1:
		return uint64(b&0x3f)<<8 | uint64(w.Byte()), Plain
	case 3:
		if b &= 0x3f; b > EncodedLZF {
			w.Failf("a string with encoding %d, which no version writes", b)
		}
		return 0, int(b)
	}
	switch b {
	case 0x80:
		if p := w.Take(4); p != nil {
			return uint64(binary.BigEndian.Uint32(p)), Plain
		}
	case 0x81:
		if p := w.Take(8); p != nil {
			return binary.BigEndian.Uint64(p), Plain
		}
	default:
		w.Failf("a length that begins with 0x%02x, which no version writes", b)
	}
	return 0, Plain
}

// Count reads a length that is a number of things.
func (w *Window) Count() uint64 {
	n, encoding := w.length()
	if encoding != Plain {
		w.Failf("an encoded string where a number should be")
	}
	return n
}

// New returns a window over bytes that are all there.
func New(p []byte) *Window {
	return &Window{Buf: p, End: len(p), last: io.EOF, Moving: func() error { return nil }, Release: func([]byte) {}}
}

// Clamp returns a count as a number with a sign.
func Clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// RawID reads an id of a stream that is 16 bytes.
func (w *Window) RawID() (id source.StreamID) {
	if b := w.Take(16); b != nil {
		id = source.StreamID{MS: binary.BigEndian.Uint64(b), Seq: binary.BigEndian.Uint64(b[8:])}
	}
	return id
}

// CountedID reads an id of a stream that is two counts.
func (w *Window) CountedID() source.StreamID { return source.StreamID{MS: w.Count(), Seq: w.Count()} }
