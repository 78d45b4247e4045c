package window

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/crc"
	"pgregory.net/rapid"
)

// over returns a window that reads its input ahead, until the test ends.
func over(t interface{ Cleanup(func()) }, in io.Reader) *Window {
	w := &Window{Blocks: ReadAhead(in, true), Moving: func() error { return nil }}
	w.Release = func(b []byte) { w.Blocks.Free <- b }
	t.Cleanup(w.Blocks.End)
	return w
}

// blocks is a reader that gives so many bytes at a time.
func blocks(text string, size int) io.Reader {
	if size == 0 {
		return strings.NewReader(text)
	}
	return &chunks{text, size}
}

type chunks struct {
	text string
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.text)
	c.text = c.text[n:]
	return n, nil
}

// TestNumbers: lengths and numbers of every form, at their borders, and what each leaves unread.
func TestNumbers(t *testing.T) {
	count := func(w *Window) any { return w.Count() }
	for _, c := range []struct {
		bytes string
		read  func(*Window) any
		want  any
		fault string
	}{
		{"\x00", count, uint64(0), ""}, {"\x3f", count, uint64(63), ""}, {"\x40\x40", count, uint64(64), ""},
		{"\x7f\xff", count, uint64(16383), ""}, {"\x80\x00\x00\x40\x00", count, uint64(16384), ""},
		{"\x80\xff\xff\xff\xff", count, uint64(math.MaxUint32), ""},
		{"\x81\xff\xff\xff\xff\xff\xff\xff\xff", count, uint64(math.MaxUint64), ""},
		{"\x82", count, uint64(0), "byte 1: a length that begins with 0x82, which no version writes"},
		{"\xbf", count, uint64(0), "byte 1: a length that begins with 0xbf, which no version writes"},
		{"\xc0\x05", count, uint64(0), "byte 1: an encoded string where a number should be"},
		{"\xc4", count, uint64(0), "byte 1: a string with encoding 4, which no version writes"},
		{"", count, uint64(0), "byte 0: " + fault.ErrTruncated.Error()},
		{"\x40", count, uint64(0), "byte 1: " + fault.ErrTruncated.Error()},
		{"\x80\x00\x00\x00", count, uint64(0), "byte 1: " + fault.ErrTruncated.Error()},
		{"\x81\x00", count, uint64(0), "byte 1: " + fault.ErrTruncated.Error()},
		{"\x01\x02\x03\x04", func(w *Window) any { return w.Uint32() }, uint32(0x04030201), ""},
		{"\x01\x02\x03", func(w *Window) any { return w.Uint32() }, uint32(0), "byte 0: " + fault.ErrTruncated.Error()},
		{"\x01\x02\x03\x04\x05\x06\x07\xff", func(w *Window) any { return w.Uint64() }, uint64(0xff07060504030201), ""},
		{"\x01", func(w *Window) any { return w.Uint64() }, uint64(0), "byte 0: " + fault.ErrTruncated.Error()},
		{"\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02", func(w *Window) any { return w.RawID() },
			source.StreamID{MS: 256, Seq: 2}, ""},
		{"\x00\x00", func(w *Window) any { return w.RawID() }, source.StreamID{}, "byte 0: " + fault.ErrTruncated.Error()},
		{"\x05\x40\x80", func(w *Window) any { return w.CountedID() }, source.StreamID{MS: 5, Seq: 128}, ""},
		{"\x041.5e", func(w *Window) any { return w.TextScore() }, 0.0, "byte 5: a score that is no number"},
		{"\x031.5", func(w *Window) any { return w.TextScore() }, 1.5, ""},
		{"\x00", func(w *Window) any { return w.TextScore() }, 0.0, "byte 1: a score that is no number"},
		{"\x051.5", func(w *Window) any { return w.TextScore() }, 0.0, "byte 1: " + fault.ErrTruncated.Error()},
		{"\xfe", func(w *Window) any { return w.TextScore() }, math.Inf(1), ""},
		{"\xff", func(w *Window) any { return w.TextScore() }, math.Inf(-1), ""},
		{"\xfd", func(w *Window) any { return math.IsNaN(w.TextScore()) }, true, ""},
		{"\x07", func(w *Window) any { return w.Byte() }, byte(7), ""},
		{"", func(w *Window) any { return w.Byte() }, byte(0), "byte 0: " + fault.ErrTruncated.Error()},
		{"abc", func(w *Window) any { return string(w.Take(2)) }, "ab", ""},
		{"abc", func(w *Window) any { return w.Take(MaxContiguous+1) == nil }, true,
			"byte 0: a piece of 16777217 bytes is longer than the 16777216 this reader takes"},
	} {
		for _, w := range []*Window{New([]byte(c.bytes)), over(t, iotest.OneByteReader(strings.NewReader(c.bytes)))} {
			got, message := c.read(w), ""
			if w.Err != nil {
				message = w.Err.Error()
			} else if strings.Contains("abc", c.bytes) && w.Offset() != 2 && c.bytes != "" || c.bytes != "abc" &&
				w.Offset() != int64(len(c.bytes)) {
				t.Errorf("%q: %d bytes are read", c.bytes, w.Offset())
			}
			if got != c.want || message != c.fault {
				t.Errorf("%q: %v %s, want %v %s", c.bytes, got, message, c.want, c.fault)
			}
			if w.Err == nil {
				continue
			}
			if w.Skip(100); w.Byte() != 0 || w.Count() != 0 || w.Take(1) != nil || w.Err.Error() != message {
				t.Errorf("%q: after a fault it is %v", c.bytes, w.Err)
			}
		}
	}
	for n, want := range map[uint64]string{0: "\x00", 63: "\x3f", 64: "\x40\x40", 16383: "\x7f\xff",
		16384: "\x80\x00\x00\x40\x00", math.MaxUint32: "\x80\xff\xff\xff\xff",
		math.MaxUint32 + 1: "\x81\x00\x00\x00\x01\x00\x00\x00\x00"} {
		if got := string(AppendLength([]byte("x"), n)); got != "x"+want || New([]byte(want)).Count() != n {
			t.Errorf("%d is %q", n, got)
		}
	}
	if Clamp(math.MaxUint64) != math.MaxInt64 || Clamp(5) != 5 || Clamp(1<<63) != math.MaxInt64 {
		t.Error("Clamp")
	}
}

// text is a string as it is in a snapshot, and what it means.
type text struct{ stored, means string }

// texts are strings of every encoding.
var texts = []text{
	{"\x00", ""}, {"\x03abc", "abc"}, {"\x40\x46" + strings.Repeat("x", 70), strings.Repeat("x", 70)},
	{"\xc0\x7f", "127"}, {"\xc0\x80", "-128"}, {"\xc1\xff\x7f", "32767"}, {"\xc1\x00\x80", "-32768"},
	{"\xc2\xff\xff\xff\x7f", "2147483647"}, {"\xc2\x00\x00\x00\x80", "-2147483648"}, {"\xc0\x00", "0"}, {"\xc0\x0a", "10"},
	{"\xc3\x05\x03\x02abc?", "abc"}, // replaced below
	{lzf("\x00a\x20\x00"), "aaaa"},
	{lzf("\x02abc\x20\x02\x00x"), "abcabcx"},
	{lzf("\x01ab\xe0\xff\x01"), strings.Repeat("ab", 133)[:266]},
	{lzf("\x00a" + strings.Repeat("\xe0\xff\x00", 100)), strings.Repeat("a", 1+100*264)},
	{lzf("\x00a" + strings.Repeat("\xe0\xff\x00", 600)), strings.Repeat("a", 1+600*264)},
	{lzf("\x1f" + strings.Repeat("0123456789abcdef", 2) + strings.Repeat("\xe0\xff\x0f", 40) + "\x03wxyz"),
		strings.Repeat("0123456789abcdef", 2+40*264/16) + "wxyz"},
}

func init() { texts[11] = text{lzf("\x02abc"), "abc"} }

// lzf wraps compressed bytes: both lengths before them, the second by what they mean.
func lzf(packed string) string {
	out := make([]byte, 1<<20)
	n, ok := expand(out, []byte(packed))
	if !ok {
		panic(packed)
	}
	return string(AppendLength(AppendLength([]byte{0xc3}, uint64(len(packed))), uint64(n))) + packed
}

// TestTexts: a string of each encoding is the same read whole, in pieces, by its first bytes and by a part of it, with
// all bytes there and with few at a time; and after it comes what came after it.
func TestTexts(t *testing.T) {
	for _, c := range texts {
		for _, size := range []int{0, 1, 7} {
			fresh := func() *Window { return over(t, blocks(c.stored+"!", size)) }
			check := func(how, got, want string, w *Window) {
				t.Helper()
				if got != want || w.Byte() != '!' || w.Err != nil {
					t.Errorf("%.30q, %d at a time, %s: %.60q, %v", c.stored, size, how, got, w.Err)
				}
			}
			w := fresh()
			head := w.Text()
			if head.Size != uint64(len(c.means)) {
				t.Errorf("%.30q has %d bytes", c.stored, head.Size)
			}
			var whole []byte
			w.Pieces(head, func(piece []byte) { whole = append(whole, piece...) })
			check("in pieces", string(whole), c.means, w)
			for _, limit := range []int{0, 1, 3, 100, len(c.means), len(c.means) + 5} {
				want := c.means[:min(limit, len(c.means))]
				w = fresh()
				if head = w.Text(); head.Encoding < EncodedLZF {
					want = c.means // a number is short
				}
				if got := w.Body(head, []byte(">"), limit); w.Err == nil {
					check(fmt.Sprint("its first ", limit), string(got), ">"+want, w)
				}
				w = fresh()
				head = w.Text()
				first := string(w.First(head, make([]byte, limit, limit+20)))
				w.Skip(head.Stored)
				check(fmt.Sprint("up to ", limit), first, want, w)
			}
			w = fresh()
			if n := w.SkipText(); n != uint64(len(c.means)) {
				t.Errorf("%.30q: %d bytes are passed", c.stored, n)
			}
			check("passed", "", "", w)
		}
	}
}

// TestTextsThatLie: a string that claims more than it has, or is compressed by no compressor, is a fault wherever it is
// found out, and no memory is taken for what is only claimed.
func TestTextsThatLie(t *testing.T) {
	const cannot = "a compressed string that cannot be expanded"
	packed := func(size int, body string) string {
		return string(AppendLength(AppendLength([]byte{0xc3}, uint64(len(body))), uint64(size))) + body + "zzzzzzzz"
	}
	for _, c := range []struct{ name, bytes, message string }{
		{"a text cut short", "\x05abc", fault.ErrTruncated.Error()},
		{"a text of 2^64 bytes", "\x81\xff\xff\xff\xff\xff\xff\xff\xffabc", fault.ErrTruncated.Error()},
		{"compressed bytes cut short", "\xc3\x05\x05\x04abc", fault.ErrTruncated.Error()},
		{"one byte more than there is", packed(4, "\x02abc"), cannot},
		{"one byte less", packed(2, "\x02abc"), cannot},
		{"a match before the beginning", packed(4, "\x00a\x20\x01"), cannot},
		{"a match first", packed(3, "\x20\x00"), cannot},
		{"a match cut short", packed(4, "\x00a\x20"), cannot},
		{"a long match cut short", packed(10, "\x00a\xe0"), cannot},
		{"literals cut short", packed(4, "\x04ab"), cannot},
		{"nothing of something", "\xc3\x00\x05", "a compressed string of 0 bytes that claims to become 5"},
		{"something of nothing", "\xc3\x05\x00abcde", "a compressed string of 5 bytes that claims to become 0"},
		{"more than LZF can", "\xc3\x01\x40\xb2a", "a compressed string of 1 bytes that claims to become 178"},
		{"a number cut short", "\xc1\x05", fault.ErrTruncated.Error()},
		{"a longer one cut short", "\xc2\x05\x05\x05", fault.ErrTruncated.Error()},
	} {
		w := New([]byte(c.bytes))
		given := 0
		w.Pieces(w.Text(), func(piece []byte) { given += len(piece) })
		if w.Err == nil || !strings.HasSuffix(w.Err.Error(), ": "+c.message) || given > 20 {
			t.Errorf("%s: %v, %d bytes given", c.name, w.Err, given)
		}
		w = New([]byte(c.bytes))
		head := w.Text()
		if dst := w.Body(head, nil, 1<<30); cap(dst) > 1<<20 {
			t.Errorf("%s: %d bytes were taken", c.name, cap(dst))
		}
	}
	w := New([]byte(packed(4, "\x04ab\x00\x00")))
	if got := w.First(w.Text(), make([]byte, 10)); string(got) != "ab\x00\x00" {
		t.Errorf("%q", got)
	}
	w = New([]byte(packed(9, "\x02abc")))
	if got := w.First(w.Text(), make([]byte, 10)); got != nil || w.Err == nil {
		t.Errorf("the first bytes of one that is too short: %q %v", got, w.Err)
	}
}

// TestOneInputOneReading: whatever is read, and in whatever pieces the input comes, the bytes, the offset and the
// checksum are those of the input.
func TestOneInputOneReading(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		length := rapid.SampledFrom([]int{0, 10, 5000, 9000, 70_000, 300_000}).Draw(rt, "length")
		input := make([]byte, length)
		for i := range input {
			input[i] = byte(i * 7 >> 3)
		}
		size := rapid.SampledFrom([]int{0, 100, 4096, 8192, 10_000}).Draw(rt, "at a time")
		w := over(t, blocks(string(input), size))
		at := 0
		for w.Err == nil && at < length {
			n := min(rapid.SampledFrom([]int{0, 1, 8, 500, 5000, 20_000, 100_000}).Draw(rt, "n"), length-at)
			switch rapid.IntRange(0, 3).Draw(rt, "how") {
			case 0:
				if got := w.Take(n); !bytes.Equal(got, input[at:at+n]) {
					rt.Fatalf("%d bytes at %d differ", n, at)
				}
				at += n
			case 1:
				w.Skip(uint64(n))
				at += n
			case 2:
				if got := w.Byte(); got != input[at] {
					rt.Fatalf("byte %d is %d", at, got)
				}
				at++
			case 3:
				if !w.More() || !w.Need(n) || !bytes.Equal(w.Buf[w.Pos:w.Pos+n], input[at:at+n]) || w.Offset() != int64(at) {
					rt.Fatalf("%d bytes at %d are not there: %v", n, at, w.Err)
				}
				w.Skip(uint64(n)) // before the sum is asked for
				at += n
			}
			if w.Offset() != int64(at) {
				rt.Fatalf("at %d, not %d", w.Offset(), at)
			}
			if rapid.IntRange(0, 5).Draw(rt, "sum") == 0 && w.Sum() != crc.Update(0, input[:at]) {
				rt.Fatalf("the sum at %d", at)
			}
		}
		if w.More() || w.Err != nil || w.Sum() != crc.Update(0, input) {
			rt.Fatalf("it goes on, or %v", w.Err)
		}
		if w.Take(1) != nil || !errors.Is(w.Err, fault.ErrTruncated) {
			rt.Fatalf("after its end: %v", w.Err)
		}
	})
}

// TestFaultsOfTheInput: an error of the reader is the error, with the place; what came before it can be read. One of
// Moving, too, and no bytes move after it.
func TestFaultsOfTheInput(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, size := range []int{1, 3, 100} {
		w := over(t, io.MultiReader(blocks("abcdef", size), iotest.ErrReader(broken)))
		if got := string(w.Take(6)); got != "abcdef" || w.Err != nil {
			t.Errorf("%q %v", got, w.Err)
		}
		if w.More() || !errors.Is(w.Err, broken) || w.Err.Error() != "byte 6: the disk is broken" {
			t.Errorf("%v", w.Err)
		}
		w.Fail(errors.New("another"))
		if !errors.Is(w.Err, broken) {
			t.Errorf("the second error is the one: %v", w.Err)
		}
	}
	w := over(t, iotest.OneByteReader(strings.NewReader("abcdef")))
	moved := 0
	w.Moving = func() error {
		if moved++; moved > 2 {
			return broken
		}
		return nil
	}
	if string(w.Take(2)) != "ab" || string(w.Take(2)) != "cd" || w.Take(2) != nil || w.Err != broken {
		t.Errorf("%v after %d moves", w.Err, moved)
	}
}

// TestPins: what is pinned stays in the window however far is read, up to most bytes of it; then it is asked whether
// reading goes on.
func TestPins(t *testing.T) {
	input := strings.Repeat("0123456789", 10_000)
	for _, end := range []error{nil, errors.New("enough")} {
		w := over(t, blocks(input, 1000))
		w.Take(5)
		asked := 0
		w.Pin, w.Most, w.Over = w.Pos+1, 50_000, func() error { asked++; return end }
		for range 40 {
			w.Take(1000)
			if from := w.Pin - 1; asked > 0 || string(w.Buf[from:w.Pos]) != input[5:w.Offset()] {
				t.Fatalf("at %d: %d bytes are kept", w.Offset(), w.Pos-from)
			}
		}
		for range 20 {
			w.Take(1000)
		}
		if asked != 1 || end == nil && (w.Err != nil || w.Pin != 0 || w.Offset() != 60_005) || end != nil && w.Err != end {
			t.Errorf("asked %d times, then %v, at %d", asked, w.Err, w.Offset())
		}
	}
}

// TestGrow: what was cut from a slice stays as it is when the slice grows.
func TestGrow(t *testing.T) {
	for _, n := range []int{0, 1, 100, 70_000} {
		dst := append(make([]byte, 0, 4), "abc"...)
		cut := dst[1:2]
		out := Grow(dst, n)
		copy(out[3:], bytes.Repeat([]byte("z"), n))
		if len(out) != 3+n || string(out[:3]) != "abc" || string(cut) != "b" {
			t.Errorf("%d more: %d, %q", n, len(out), cut)
		}
	}
	room := make([]byte, 2, 100)
	if out := Grow(room, 98); &out[0] != &room[0] {
		t.Error("there was room")
	}
}

// TestBlocksGrow: an input that fills them is read in larger and larger blocks, up to the last size; the end is given
// once, and after End nothing is read.
func TestBlocksGrow(t *testing.T) {
	a := ReadAhead(bytes.NewReader(make([]byte, 2<<20)), false)
	var sizes []int
	for b := range a.ready {
		if n := b.end - headroom; n > 0 {
			sizes = append(sizes, n)
		}
		a.Free <- b.buf
	}
	a.End()
	if want := []int{8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10}; !slices.Equal(sizes[:6], want) ||
		slices.Max(sizes) != lastBlock {
		t.Errorf("%v", sizes)
	}
	stopped := ReadAhead(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 1000))), false)
	stopped.End()
	if n := len(stopped.ready); n > Buffers {
		t.Errorf("%d blocks", n)
	}
}
