package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

const (
	chunk         = 64 << 10
	longestNumber = 4096
)

// scanner reads the bytes of a document through a window that grows only while
// something is held. Places in the document are absolute offsets.
type scanner struct {
	in   io.Reader
	out  *output // of a rewrite: gets every byte before it leaves the window
	file string
	most int64 // bytes of what is held

	buf  []byte
	base int64 // the offset of buf[0]
	pos  int   // the next byte, in buf
	hold int64 // the first offset that stays in the window; -1: none
	eof  bool

	line      int
	lineStart int64 // the offset at which the line begins
	wide      int   // bytes of the line that begin no character
	lines     bool  // JSON Lines: a value ends with its line
	depth     int
}

// scannerOf returns a scanner of a text that is all there.
func scannerOf(text []byte) *scanner { return &scanner{buf: text, hold: -1, line: 1, eof: true} }

func newScanner(in io.Reader, file string, most int64) *scanner {
	return &scanner{in: in, file: file, most: most, buf: make([]byte, 0, chunk), hold: -1, line: 1}
}

// offset returns the place of the next byte.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) here() Position {
	return Position{File: s.file, Line: s.line, Column: int(s.offset()-s.lineStart) - s.wide + 1, Offset: s.offset()}
}

func (s *scanner) fault(err error, format string, args ...any) error {
	return &Error{At: s.here(), Message: fmt.Sprintf(format, args...), Err: err}
}

// bytes returns the held bytes from an offset to the next byte.
func (s *scanner) bytes(from int64) []byte { return s.buf[from-s.base : s.pos] }

// ensure makes n bytes from the next one on available; false at the end of the
// document.
func (s *scanner) ensure(n int) (bool, error) {
	for len(s.buf)-s.pos < n {
		if s.eof {
			return false, nil
		}
		if err := s.fill(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// fill reads more, after it has given up what is not held.
func (s *scanner) fill() error {
	keep := s.pos
	if s.hold >= 0 {
		keep = int(s.hold - s.base)
	}
	if s.out != nil {
		s.out.emit(s.buf, s.base, s.base+int64(keep))
		if s.out.err != nil {
			return s.out.err
		}
	}
	if s.hold >= 0 && int64(len(s.buf)-keep) > s.most {
		return s.fault(ErrTooLarge, "a record has more than %d bytes", s.most)
	}
	rest := copy(s.buf, s.buf[keep:])
	s.buf, s.base, s.pos = s.buf[:rest], s.base+int64(keep), s.pos-keep
	if cap(s.buf)-rest < chunk/2 {
		s.buf = append(make([]byte, 0, 2*cap(s.buf)), s.buf...)
	} else if rest == 0 && cap(s.buf) > 16*chunk {
		s.buf = make([]byte, 0, chunk)
	}
	return s.readMore(rest)
}

func (s *scanner) readMore(rest int) error {
	for range 100 {
		n, err := s.in.Read(s.buf[rest:cap(s.buf)])
		s.buf = s.buf[:rest+n]
		if errors.Is(err, io.EOF) {
			s.eof = true
			return nil
		}
		if err != nil {
			return &Error{At: s.here(), Message: "the file cannot be read: " + err.Error(), Err: err}
		}
		if n > 0 {
			return nil
		}
	}
	return &Error{At: s.here(), Message: "the file cannot be read: " + io.ErrNoProgress.Error(), Err: io.ErrNoProgress}
}

// space skips white space. In a file of lines it stops at the end of a line where
// a value is under way.
func (s *scanner) space() error {
	for {
		for s.pos < len(s.buf) {
			switch s.buf[s.pos] {
			case ' ', '\t', '\r':
				s.pos++
			case '\n':
				if s.lines && s.depth > 0 {
					return s.fault(ErrSyntax, "the line ends inside of a value; in JSON Lines each value is on one line")
				}
				s.pos++
				s.newLine()
			default:
				return nil
			}
		}
		if more, err := s.ensure(1); !more || err != nil {
			return err
		}
	}
}

func (s *scanner) newLine() { s.line, s.lineStart, s.wide = s.line+1, s.offset(), 0 }

// peek returns the next byte after white space, 0 at the end.
func (s *scanner) peek() (byte, error) {
	if err := s.space(); err != nil {
		return 0, err
	}
	if s.pos == len(s.buf) {
		return 0, nil
	}
	return s.buf[s.pos], nil
}

// unexpected says what is there instead of what was expected.
func (s *scanner) unexpected(want string) error {
	if _, err := s.ensure(utf8.UTFMax); err != nil {
		return err
	}
	if s.pos >= len(s.buf) {
		return s.fault(ErrSyntax, "the document ends where %s should be", want)
	}
	c, size := utf8.DecodeRune(s.buf[s.pos:])
	if c == utf8.RuneError && size == 1 {
		return s.fault(ErrUTF8, "a byte that is no UTF-8 (0x%02x)", s.buf[s.pos])
	}
	if c == 0xfeff {
		return s.fault(ErrSyntax, "a byte order mark, which JSON has not; save the file as UTF-8 without it")
	}
	return s.fault(ErrSyntax, "%s where %s should be", shown(c), want)
}

// shown returns a character as messages show it: no value of the document, and nothing
// that commands a terminal.
func shown(c rune) string {
	if c > ' ' && c < 0x7f {
		return "'" + string(c) + "'"
	}
	return fmt.Sprintf("%U", c)
}

// plain lists the bytes of a string that need no look.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// plain8 reports whether eight bytes of a string need no look.
func plain8(b uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, escape := b^('"'*ones), b^('\\'*ones)
	return (b|(b-' '*ones)|(quote-ones)|(escape-ones))&tops == 0
}

// text skips a string, which begins at the next byte, and says whether it has
// escapes.
func (s *scanner) text() (escaped bool, err error) {
	s.pos++
	for {
		for len(s.buf)-s.pos >= 8 && plain8(binary.LittleEndian.Uint64(s.buf[s.pos:])) {
			s.pos += 8
		}
		for s.pos < len(s.buf) && plain[s.buf[s.pos]] {
			s.pos++
		}
		if s.pos == len(s.buf) {
			if more, err := s.ensure(1); err != nil {
				return false, err
			} else if !more {
				return false, s.unexpected("the end of a text")
			}
			continue
		}
		switch c := s.buf[s.pos]; {
		case c == '"':
			s.pos++
			return escaped, nil
		case c == '\\':
			escaped = true
			err = s.escape()
		case c < 0x20:
			return false, s.fault(ErrSyntax, "the control character %U in a text; JSON writes it as an escape", c)
		default:
			err = s.character()
		}
		if err != nil {
			return false, err
		}
	}
}

// character skips one character of several bytes.
func (s *scanner) character() error {
	if _, err := s.ensure(utf8.UTFMax); err != nil {
		return err
	}
	c, size := utf8.DecodeRune(s.buf[s.pos:])
	if c == utf8.RuneError && size <= 1 {
		return s.fault(ErrUTF8, "a byte that is no UTF-8 (0x%02x)", s.buf[s.pos])
	}
	s.pos += size
	s.wide += size - 1
	return nil
}

func (s *scanner) escape() error {
	if _, err := s.ensure(12); err != nil {
		return err
	}
	b := s.buf[s.pos:]
	if len(b) > 1 && bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) >= 0 {
		s.pos += 2
		return nil
	}
	unit, ok := hex4(b)
	if !ok {
		return s.fault(ErrSyntax, `an escape that JSON has not; they are \" \\ \/ \b \f \n \r \t and \u with four digits`)
	}
	s.pos += 6
	if unit < 0xd800 || unit > 0xdfff {
		return nil
	}
	low, ok := hex4(b[6:])
	if unit >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
		s.pos -= 6
		return s.fault(ErrUTF8, `half of a pair of \u escapes (%04x), which is no character`, unit)
	}
	s.pos += 6
	return nil
}

// hex4 reads \uXXXX.
func hex4(b []byte) (unit rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			unit = unit<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// number skips a number, and refuses one that other programs would read as zero
// or as infinite.
func (s *scanner) number() error {
	n, err := s.numberLength()
	if err != nil {
		return err
	}
	text := s.buf[s.pos : s.pos+n]
	exponent, ok := numberForm(text)
	if !ok {
		return s.fault(ErrSyntax, "a number that is not written as JSON writes it")
	}
	if exponent || n > 300 {
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil || math.IsInf(f, 0) {
			return s.fault(ErrNumber, "a number beyond 1.8e308, which most programs read as infinite or not at all")
		}
		if f == 0 && bytes.ContainsAny(mantissa(text), "123456789") {
			return s.fault(ErrNumber, "a number so near to 0 that most programs read it as 0")
		}
	}
	s.pos += n
	return nil
}

// mantissa returns a number without its exponent.
func mantissa(text []byte) []byte {
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		return text[:i]
	}
	return text
}

// numberLength returns how many bytes from the next one on may be of a number.
func (s *scanner) numberLength() (int, error) {
	for n := 0; ; n++ {
		if s.pos+n == len(s.buf) {
			if more, err := s.ensure(n + 1); err != nil {
				return 0, err
			} else if !more {
				return n, nil
			}
		}
		if c := s.buf[s.pos+n]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
			return n, nil
		}
		if n > longestNumber {
			return 0, s.fault(ErrNumber, "a number of more than %d digits", longestNumber)
		}
	}
}

// keyword skips true, false or null.
func (s *scanner) keyword(word string) error {
	if _, err := s.ensure(len(word) + 1); err != nil {
		return err
	}
	rest := s.buf[s.pos:]
	if !bytes.HasPrefix(rest, []byte(word)) || len(rest) > len(word) && isWord(rest[len(word)]) {
		return s.fault(ErrSyntax, "a word that JSON has not; it has true, false and null")
	}
	s.pos += len(word)
	return nil
}

func isWord(c byte) bool { return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
