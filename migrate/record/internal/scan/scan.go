// Package scan reads the bytes of a JSON document through a window, token by token, and writes them again with some
// changed. It knows no objects and no records: what follows what is for package record.
package scan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/keywright/keywright/migrate/record/internal/jsontext"

	"github.com/keywright/keywright/migrate/record/fault"
)

const (
	chunk         = 64 << 10
	longestNumber = 4096
)

// Scanner reads the bytes of a document through a window that grows only while
// something is held. Places in the document are absolute offsets.
type Scanner struct {
	in   io.Reader
	Out  *Output // of a rewrite: gets every byte before it leaves the window
	file string
	most int64 // bytes of what is held

	Buf  []byte
	Base int64 // the offset of buf[0]
	Pos  int   // the next byte, in buf
	Hold int64 // the first offset that stays in the window; -1: none
	eof  bool

	Line      int
	LineStart int64 // the offset at which the line begins
	wide      int   // bytes of the line that begin no character
	Lines     bool  // JSON Lines: a value ends with its line
	Depth     int
}

// Text returns a scanner of a text that is all there.
func Text(text []byte) *Scanner { return &Scanner{Buf: text, Hold: -1, Line: 1, eof: true} }

// New returns a scanner of a document, which holds at most so many bytes.
func New(in io.Reader, file string, most int64) *Scanner {
	return &Scanner{in: in, file: file, most: most, Buf: make([]byte, 0, chunk), Hold: -1, Line: 1}
}

// Offset returns the place of the next byte.
func (s *Scanner) Offset() int64 { return s.Base + int64(s.Pos) }

// Here returns the place of the next byte, for people.
func (s *Scanner) Here() fault.Position {
	return fault.Position{File: s.file, Line: s.Line, Column: int(s.Offset()-s.LineStart) - s.wide + 1, Offset: s.Offset()}
}

// Fault returns an error at the next byte.
func (s *Scanner) Fault(err error, format string, args ...any) error {
	return &fault.Error{At: s.Here(), Message: fmt.Sprintf(format, args...), Err: err}
}

// Bytes returns the held bytes from an offset to the next byte.
func (s *Scanner) Bytes(from int64) []byte { return s.Buf[from-s.Base : s.Pos] }

// Ensure makes n bytes from the next one on available; false at the end of the
// document.
func (s *Scanner) Ensure(n int) (bool, error) {
	for len(s.Buf)-s.Pos < n {
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
func (s *Scanner) fill() error {
	keep := s.Pos
	if s.Hold >= 0 {
		keep = int(s.Hold - s.Base)
	}
	if s.Out != nil {
		s.Out.Emit(s.Buf, s.Base, s.Base+int64(keep))
		if s.Out.Err != nil {
			return s.Out.Err
		}
	}
	if s.Hold >= 0 && int64(len(s.Buf)-keep) > s.most {
		return s.Fault(fault.ErrTooLarge, "a record has more than %d bytes", s.most)
	}
	rest := copy(s.Buf, s.Buf[keep:])
	s.Buf, s.Base, s.Pos = s.Buf[:rest], s.Base+int64(keep), s.Pos-keep
	if cap(s.Buf)-rest < chunk/2 {
		s.Buf = append(make([]byte, 0, 2*cap(s.Buf)), s.Buf...)
	} else if rest == 0 && cap(s.Buf) > 16*chunk {
		s.Buf = make([]byte, 0, chunk)
	}
	return s.readMore(rest)
}

func (s *Scanner) readMore(rest int) error {
	for range 100 {
		n, err := s.in.Read(s.Buf[rest:cap(s.Buf)])
		s.Buf = s.Buf[:rest+n]
		if errors.Is(err, io.EOF) {
			s.eof = true
			return nil
		}
		if err != nil {
			return &fault.Error{At: s.Here(), Message: "the file cannot be read: " + err.Error(), Err: err}
		}
		if n > 0 {
			return nil
		}
	}
	return &fault.Error{At: s.Here(), Message: "the file cannot be read: " + io.ErrNoProgress.Error(), Err: io.ErrNoProgress}
}

// space skips white space. In a file of lines it stops at the end of a line where
// a value is under way.
func (s *Scanner) space() error {
	for {
		for s.Pos < len(s.Buf) {
			switch s.Buf[s.Pos] {
			case ' ', '\t', '\r':
				s.Pos++
			case '\n':
				if s.Lines && s.Depth > 0 {
					return s.Fault(fault.ErrSyntax, "the line ends inside of a value; in JSON Lines each value is on one line")
				}
				s.Pos++
				s.newLine()
			default:
				return nil
			}
		}
		if more, err := s.Ensure(1); !more || err != nil {
			return err
		}
	}
}

func (s *Scanner) newLine() { s.Line, s.LineStart, s.wide = s.Line+1, s.Offset(), 0 }

// Peek returns the next byte after white space, 0 at the end.
func (s *Scanner) Peek() (byte, error) {
	if err := s.space(); err != nil {
		return 0, err
	}
	if s.Pos == len(s.Buf) {
		return 0, nil
	}
	return s.Buf[s.Pos], nil
}

// Unexpected says what is there instead of what was expected.
func (s *Scanner) Unexpected(want string) error {
	if _, err := s.Ensure(utf8.UTFMax); err != nil {
		return err
	}
	if s.Pos >= len(s.Buf) {
		return s.Fault(fault.ErrSyntax, "the document ends where %s should be", want)
	}
	c, size := utf8.DecodeRune(s.Buf[s.Pos:])
	if c == utf8.RuneError && size == 1 {
		return s.Fault(fault.ErrUTF8, "a byte that is no UTF-8 (0x%02x)", s.Buf[s.Pos])
	}
	if c == 0xfeff {
		return s.Fault(fault.ErrSyntax, "a byte order mark, which JSON has not; save the file as UTF-8 without it")
	}
	return s.Fault(fault.ErrSyntax, "%s where %s should be", printRune(c), want)
}

// printRune returns a character as messages show it: no value of the document, and nothing
// that commands a terminal.
func printRune(c rune) string {
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

// Text skips a string, which begins at the next byte, and says whether it has
// escapes.
func (s *Scanner) Text() (escaped bool, err error) {
	s.Pos++
	for {
		for len(s.Buf)-s.Pos >= 8 && plain8(binary.LittleEndian.Uint64(s.Buf[s.Pos:])) {
			s.Pos += 8
		}
		for s.Pos < len(s.Buf) && plain[s.Buf[s.Pos]] {
			s.Pos++
		}
		if s.Pos == len(s.Buf) {
			if more, err := s.Ensure(1); err != nil {
				return false, err
			} else if !more {
				return false, s.Unexpected("the end of a text")
			}
			continue
		}
		switch c := s.Buf[s.Pos]; {
		case c == '"':
			s.Pos++
			return escaped, nil
		case c == '\\':
			escaped = true
			err = s.escape()
		case c < 0x20:
			return false, s.Fault(fault.ErrSyntax, "the control character %U in a text; JSON writes it as an escape", c)
		default:
			err = s.character()
		}
		if err != nil {
			return false, err
		}
	}
}

// character skips one character of several bytes.
func (s *Scanner) character() error {
	if _, err := s.Ensure(utf8.UTFMax); err != nil {
		return err
	}
	c, size := utf8.DecodeRune(s.Buf[s.Pos:])
	if c == utf8.RuneError && size <= 1 {
		return s.Fault(fault.ErrUTF8, "a byte that is no UTF-8 (0x%02x)", s.Buf[s.Pos])
	}
	s.Pos += size
	s.wide += size - 1
	return nil
}

func (s *Scanner) escape() error {
	if _, err := s.Ensure(12); err != nil {
		return err
	}
	b := s.Buf[s.Pos:]
	if len(b) > 1 && bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) >= 0 {
		s.Pos += 2
		return nil
	}
	unit, ok := hex4(b)
	if !ok {
		return s.Fault(fault.ErrSyntax, `an escape that JSON has not; they are \" \\ \/ \b \f \n \r \t and \u with four digits`)
	}
	s.Pos += 6
	if unit < 0xd800 || unit > 0xdfff {
		return nil
	}
	low, ok := hex4(b[6:])
	if unit >= 0xdc00 || !ok || low < 0xdc00 || low > 0xdfff {
		s.Pos -= 6
		return s.Fault(fault.ErrUTF8, `half of a pair of \u escapes (%04x), which is no character`, unit)
	}
	s.Pos += 6
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

// Number skips a number, and refuses one that other programs would read as zero
// or as infinite.
func (s *Scanner) Number() error {
	n, err := s.numberLength()
	if err != nil {
		return err
	}
	text := s.Buf[s.Pos : s.Pos+n]
	exponent, ok := jsontext.NumberForm(text)
	if !ok {
		return s.Fault(fault.ErrSyntax, "a number that is not written as JSON writes it")
	}
	if exponent || n > 300 {
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil || math.IsInf(f, 0) {
			return s.Fault(fault.ErrNumber, "a number beyond 1.8e308, which most programs read as infinite or not at all")
		}
		if f == 0 && bytes.ContainsAny(mantissa(text), "123456789") {
			return s.Fault(fault.ErrNumber, "a number so near to 0 that most programs read it as 0")
		}
	}
	s.Pos += n
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
func (s *Scanner) numberLength() (int, error) {
	for n := 0; ; n++ {
		if s.Pos+n == len(s.Buf) {
			if more, err := s.Ensure(n + 1); err != nil {
				return 0, err
			} else if !more {
				return n, nil
			}
		}
		if c := s.Buf[s.Pos+n]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
			return n, nil
		}
		if n > longestNumber {
			return 0, s.Fault(fault.ErrNumber, "a number of more than %d digits", longestNumber)
		}
	}
}

// Keyword skips true, false or null.
func (s *Scanner) Keyword(word string) error {
	if _, err := s.Ensure(len(word) + 1); err != nil {
		return err
	}
	rest := s.Buf[s.Pos:]
	if !bytes.HasPrefix(rest, []byte(word)) || len(rest) > len(word) && isWord(rest[len(word)]) {
		return s.Fault(fault.ErrSyntax, "a word that JSON has not; it has true, false and null")
	}
	s.Pos += len(word)
	return nil
}

func isWord(c byte) bool { return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
