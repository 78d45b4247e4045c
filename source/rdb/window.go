package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/keywright/keywright/source"
)

// maxContiguous bounds what must lie in one piece, which is a key's name: a
// longer one is refused.
const maxContiguous = 16 << 20

// Errors that a caller may want to tell apart.
var (
	ErrTruncated = errors.New("the snapshot ends in the middle: it was cut, or is still being written")
	ErrUnknown   = errors.New("unknown to this version of keywright, so that nothing after it can be read")
)

// window represents the part of the input that is in memory. The first error sticks:
// every later read gives zeros, so that a parser may check once per record.
type window struct {
	blocks *blockReader
	buf    []byte
	held   []byte // the block that buf is, nil if it is none
	pos    int    // next byte
	end    int    // of what was read
	base   int64  // what to add to an index for its offset in the input
	fresh  int    // where the bytes of the newest block begin
	crc    uint64
	last   error // of the newest block: there is none after it
	err    error
	// moving is called before bytes in the window move, while they are still
	// where they were.
	moving func() error
	// release gives a block back when nothing refers to it any more.
	release func([]byte)

	// A pin keeps the bytes from an index on: they stay in the window, up to most of
	// them. Then over says whether they are needed no more (nil) or reading ends.
	expanded []byte // space for strings that are compressed

	pin  int // plus one; 0: there is none
	most int
	over func() error
}

func (w *window) offset() int64 { return w.base + int64(w.pos) }

func (w *window) fail(err error) {
	if w.err == nil {
		w.err = &Error{Offset: w.offset(), Err: err}
	}
}

func (w *window) failf(format string, args ...any) { w.fail(fmt.Errorf(format, args...)) }

// need makes n bytes contiguous at pos. It is false when they do not come.
func (w *window) need(n int) bool { return w.end-w.pos >= n || w.fill(n) }

func (w *window) fill(n int) bool {
	if w.err != nil {
		return false
	}
	if n > maxContiguous {
		w.failf("a piece of %d bytes is longer than the %d this reader takes", n, maxContiguous)
		return false
	}
	if err := w.moving(); err != nil {
		w.err = err
		return false
	}
	for w.end-w.pos < n {
		if !w.advance() {
			return false
		}
	}
	return true
}

// kept returns where the bytes begin that must stay in the window. It is false if reading is
// to end.
func (w *window) kept() (int, bool) {
	if w.pin == 0 {
		return w.pos, true
	}
	if w.pos-(w.pin-1) > w.most {
		if err := w.over(); err != nil {
			w.err = err
			return 0, false
		}
		w.pin = 0
		return w.pos, true
	}
	return w.pin - 1, true
}

// advance appends the next block to what is left of the window.
func (w *window) advance() bool {
	from, ok := w.kept()
	if !ok {
		return false
	}
	b, ok := block{}, false
	if w.last == nil {
		b, ok = <-w.blocks.ready
	}
	if !ok || b.end == headroom {
		if b.err != nil {
			w.last = b.err
		}
		if w.last == nil || w.last == io.EOF {
			w.fail(ErrTruncated)
		} else {
			w.fail(w.last)
		}
		return false
	}
	left, at, held := w.buf[from:w.end], w.base+int64(from), w.held
	passed := w.pos - from // of a value that is pinned
	if len(left) <= headroom {
		from = headroom - len(left)
		copy(b.buf[from:], left)
		w.buf, w.end, w.fresh, w.held = b.buf, b.end, headroom, b.buf
	} else { // grows with what came, not with what was promised
		data := b.buf[headroom:b.end]
		if held != nil || cap(w.buf)-w.end < len(data) {
			w.buf = append(make([]byte, 0, 2*(len(left)+len(data))), left...)
			from = 0
		} else {
			w.buf = w.buf[:w.end]
		}
		w.fresh = len(w.buf)
		w.buf = append(w.buf, data...)
		w.end, w.held = len(w.buf), nil
		w.release(b.buf)
	}
	if held != nil {
		w.release(held)
	}
	w.pos = from + passed
	if w.pin > 0 {
		w.pin = from + 1
	}
	w.base, w.crc, w.last = at-int64(from), b.crc, b.err
	return true
}

// sum returns the checksum of all up to here.
func (w *window) sum() uint64 { return update(w.crc, w.buf[w.fresh:w.pos]) }

// skip passes n bytes, however many.
func (w *window) skip(n uint64) {
	for n > uint64(w.end-w.pos) {
		n -= uint64(w.end - w.pos)
		w.pos = w.end
		if !w.fill(1) {
			return
		}
	}
	w.pos += int(n)
}

// more reports whether the input goes on.
func (w *window) more() bool {
	if w.end > w.pos {
		return true
	}
	if w.advance() {
		return true
	}
	if e := (*Error)(nil); errors.As(w.err, &e) && e.Err == ErrTruncated {
		w.err = nil // it ends where it should
	}
	return false
}

// take gives the next n bytes, valid until the window moves.
func (w *window) take(n int) []byte {
	if !w.need(n) {
		return nil
	}
	w.pos += n
	return w.buf[w.pos-n : w.pos]
}

func (w *window) byte() byte {
	if w.pos == w.end && !w.fill(1) {
		return 0
	}
	w.pos++
	return w.buf[w.pos-1]
}

func (w *window) uint32() uint32 {
	if p := w.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (w *window) uint64() uint64 {
	if p := w.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// Encodings of a string whose length byte begins with two ones.
const (
	encodedInt8 = iota
	encodedInt16
	encodedInt32
	encodedLZF
	plain // our own: not encoded
)

// length reads a length, or the number of an encoding.
func (w *window) length() (n uint64, encoding int) {
	b := w.byte()
	switch b >> 6 {
	case 0:
		return uint64(b), plain
	case 1:
		return uint64(b&0x3f)<<8 | uint64(w.byte()), plain
	case 3:
		if b &= 0x3f; b > encodedLZF {
			w.failf("a string with encoding %d, which no version writes", b)
		}
		return 0, int(b)
	}
	switch b {
	case 0x80:
		if p := w.take(4); p != nil {
			return uint64(binary.BigEndian.Uint32(p)), plain
		}
	case 0x81:
		if p := w.take(8); p != nil {
			return binary.BigEndian.Uint64(p), plain
		}
	default:
		w.failf("a length that begins with 0x%02x, which no version writes", b)
	}
	return 0, plain
}

// count reads a length that is a number of things.
func (w *window) count() uint64 {
	n, encoding := w.length()
	if encoding != plain {
		w.failf("an encoded string where a number should be")
	}
	return n
}

// newWindow returns a window over bytes that are all there.
func newWindow(p []byte) *window {
	return &window{buf: p, end: len(p), last: io.EOF, moving: func() error { return nil }, release: func([]byte) {}}
}

func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func (w *window) rawID() (id source.StreamID) {
	if b := w.take(16); b != nil {
		id = source.StreamID{MS: binary.BigEndian.Uint64(b), Seq: binary.BigEndian.Uint64(b[8:])}
	}
	return id
}

func (w *window) countedID() source.StreamID { return source.StreamID{MS: w.count(), Seq: w.count()} }
