package rdb

import (
	"encoding/binary"
	"fmt"
	"io"
)

// windowSize is how much is read at a time: it stays in the cache between the
// read, the parse and the checksum. maxContiguous bounds what must lie in one
// piece, which is a key's name: a longer one is refused.
const (
	firstWindow   = 8 << 10 // doubled while the input fills it
	windowSize    = 256 << 10
	maxContiguous = 64 << 20
)

// window is the part of the input that is in memory. The first error sticks:
// every later read gives zeros, so that a parser may check once per record.
type window struct {
	in     io.Reader
	buf    []byte
	pos    int    // next byte
	end    int    // of what was read
	base   int64  // offset of buf[0]
	summed int    // buf[:summed] is in crc
	crc    uint64 //
	sums   bool   // keep crc
	tables *crcTables
	err    error
	// moving is called before bytes in the window move, while they are still
	// where they were.
	moving func() error
}

func newWindow(in io.Reader, sums bool) window {
	return window{in: in, buf: make([]byte, firstWindow), sums: sums, tables: tables()}
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
	w.shift()
	for w.end < n {
		if w.end == len(w.buf) { // grows with what came, not with what was promised
			w.buf = append(w.buf, make([]byte, len(w.buf))...)
		}
		if !w.read() {
			return false
		}
	}
	return true
}

// shift moves what is not read yet to the front.
func (w *window) shift() {
	w.sum()
	w.base += int64(w.pos)
	rest := w.buf[w.pos:w.end]
	if w.end == len(w.buf) && w.end < windowSize {
		w.buf = make([]byte, 2*w.end)
	}
	w.end = copy(w.buf, rest)
	w.pos, w.summed = 0, 0
}

// sum takes what was read so far into the checksum.
func (w *window) sum() {
	if w.sums {
		w.crc = w.tables.update(w.crc, w.buf[w.summed:w.pos])
		w.summed = w.pos
	}
}

func (w *window) read() bool {
	n, err := io.ReadAtLeast(w.in, w.buf[w.end:], 1)
	w.end += n
	switch {
	case n > 0:
		return true
	case err == io.EOF:
		w.fail(ErrTruncated)
	default:
		w.fail(err)
	}
	return false
}

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
	w.shift()
	n, err := io.ReadAtLeast(w.in, w.buf, 1)
	w.end += n
	if n == 0 && err != io.EOF { // a decompressor's own checksum
		w.fail(err)
	}
	return n > 0
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
