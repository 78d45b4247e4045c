// Package class tells what the words of a key look like: numbers, ids, dates, texts. It makes the shape of a
// segment, in which such words are one byte. It looks at one segment, and not at what other keys have there.
package class

import (
	"bytes"
	"math/bits"
	"unicode/utf8"
)

// Class describes what a word of a key looks like. In a shape it is as one byte
// below ' ', which no literal word has.
type Class byte

const (
	Number Class = iota + 1 // digits, no leading zero
	Digits                  // digits with a leading zero
	Seconds
	Millis
	UUID
	ULID
	Hex
	Day     // 2006-01-02
	DayHour // 2006-01-02-15
	Month   // 2006-01
	Compact // 20060102
	Week    // 2006-W01
	Decimal // 12.5
	Address // 10.0.0.1
	Text
	Binary
	Rest
	classes
)

// IsClass reports whether a byte of a shape is a class, and no literal.
func IsClass(b byte) bool { return 0 < b && b < byte(classes) }

// Kinds of bytes, as bits.
const (
	IsDigit = 1 << iota
	IsLower
	IsUpper
	IsHex
	IsDivider
	IsOdd   // control characters and beyond ASCII
	IsOther // the rest of ASCII
)

// divider are the bytes between words of one segment.
const dividers = "_-.,=@#~+ {}[]();&?%"

// Kinds says of each byte what it is.
var Kinds = func() (t [256]byte) {
	for i := range t {
		c := byte(i)
		switch {
		case '0' <= c && c <= '9':
			t[i] = IsDigit | IsHex
		case 'a' <= c && c <= 'f':
			t[i] = IsLower | IsHex
		case 'a' <= c && c <= 'z':
			t[i] = IsLower
		case 'A' <= c && c <= 'Z':
			t[i] = IsUpper
		case c < ' ' || c > '~':
			t[i] = IsOdd
		default:
			t[i] = IsOther
		}
	}
	for _, c := range []byte(dividers + separators) {
		t[c] = IsDivider
	}
	return t
}()

// separators part a key into segments; the first one a key has is its own.
const separators = ":/|"

// SeparatorOf returns the separator of a key, 0 if it has none. A dot is one where
// there is no other, in a name like conf.cdn.opt7 and not in an address.
func SeparatorOf(name []byte) byte {
	best, dots := byte(0), 0
	for i, c := range name {
		switch c {
		case ':':
			return ':'
		case '/':
			best = '/'
		case '|':
			if best == 0 {
				best = '|'
			}
		case '.':
			if dots >= 0 && i > 0 && i < len(name)-1 && Kinds[name[i-1]]&(IsLower|IsUpper) != 0 {
				dots++
				continue
			}
			dots = -1 << 30
		default:
			if Kinds[c]&(IsLower|IsUpper|IsDigit) == 0 && c != '_' && c != '-' {
				dots = -1 << 30
			}
		}
	}
	if best == 0 && dots >= 2 {
		return '.'
	}
	return best
}

// Bounds of what is taken for words: a longer segment is a text, and so is what
// follows the last segment that makes a difference.
const (
	MaxSegment = 72
	MaxDepth   = 14
)

// Scratch is space for the shape of a segment.
type Scratch struct {
	Buf  [2*MaxSegment + 8]byte
	Name [4 * MaxSegment]byte
}

// Shape writes the shape of a segment: its words, those that look like data as
// their class. fixed is true if it is all words.
func (s *Scratch) Shape(segment []byte) (shape []byte, fixed bool) {
	all, or := byte(0xff), byte(0)
	for _, c := range segment {
		k := Kinds[c]
		all &= k
		or |= k
	}
	switch {
	case or&IsOdd != 0 && (!utf8.Valid(segment) || hasControl(segment)):
		return s.One(Binary), false
	case len(segment) > MaxSegment:
		return s.One(Text), false
	case or&IsDigit == 0 && len(segment) <= 40:
		return segment, true
	case len(segment) == 0:
		return segment, true
	}
	if c := onlyOf(segment, all); c != 0 {
		return s.One(c), false
	}
	return s.split(segment)
}

// One returns the shape that is one class.
func (s *Scratch) One(c Class) []byte {
	s.Buf[0] = byte(c)
	return s.Buf[:1]
}

func hasControl(p []byte) bool {
	for _, c := range p {
		if c < ' ' || c == 0x7f {
			return true
		}
	}
	return false
}

// onlyOf returns the class of a segment or word as one, 0 if it is several words or
// none.
func onlyOf(p []byte, all byte) Class {
	switch {
	case all&IsDigit != 0:
		return numeric(p)
	case len(p) == 36 && IsUUID(p):
		return UUID
	case len(p) == 10 && IsDate(p):
		return Day
	case len(p) == 13 && p[10] == '-' && IsDate(p[:10]) && AllDigits(p[11:]) && string(p[11:]) < "24":
		return DayHour
	case len(p) == 7 && p[4] == '-' && AllDigits(p[:4]) && AllDigits(p[5:]) && "01" <= string(p[5:]) &&
		string(p[5:]) <= "12" && (p[0] == '1' || p[0] == '2'):
		return Month
	case isWeek(p):
		return Week
	case isDecimal(p):
		return Decimal
	case len(p) >= 7 && len(p) <= 15 && isAddress(p):
		return Address
	case all&IsHex != 0 && len(p) >= 8 && len(p)%2 == 0:
		return Hex
	case len(p) == 26 && IsULID(p):
		return ULID
	}
	return 0
}

func numeric(p []byte) Class {
	switch {
	case len(p) == 8 && isCompactDate(p):
		return Compact
	case len(p) > 1 && p[0] == '0' || len(p) > 18:
		return Digits
	case len(p) == 10 && (p[0] == '1' && p[1] >= '4' && p[1] <= '9'):
		return Seconds
	case len(p) == 13 && (p[0] == '1' && p[1] >= '4' && p[1] <= '9'):
		return Millis
	}
	return Number
}

// AllDigits reports whether a word is a row of digits.
func AllDigits(p []byte) bool {
	for _, c := range p {
		if Kinds[c]&IsDigit == 0 {
			return false
		}
	}
	return true
}

// IsUUID reports whether a word is a UUID.
func IsUUID(p []byte) bool {
	for i, c := range p {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if Kinds[c]&IsHex == 0 {
			return false
		}
	}
	return true
}

// IsDate reports whether a word is a date like 2006-01-02.
func IsDate(p []byte) bool {
	return p[4] == '-' && p[7] == '-' && AllDigits(p[:4]) && AllDigits(p[5:7]) && AllDigits(p[8:]) &&
		(p[0] == '1' || p[0] == '2') && string(p[5:7]) <= "12" && string(p[8:]) <= "31" && string(p[5:7]) > "00" &&
		string(p[8:]) > "00"
}

// isWeek: 2026-W07, 2026W07.
func isWeek(p []byte) bool {
	if len(p) == 8 && p[4] == '-' {
		p = append(append(make([]byte, 0, 7), p[:4]...), p[5:]...)
	}
	return len(p) == 7 && p[4] == 'W' && AllDigits(p[:4]) && AllDigits(p[5:]) && (p[0] == '1' || p[0] == '2') &&
		"01" <= string(p[5:]) && string(p[5:]) <= "53"
}

// isDecimal: digits with one dot within them, and a sign perhaps.
func isDecimal(p []byte) bool {
	if len(p) > 0 && p[0] == '-' {
		p = p[1:]
	}
	dot := bytes.IndexByte(p, '.')
	return dot > 0 && dot < len(p)-1 && AllDigits(p[:dot]) && AllDigits(p[dot+1:])
}

// isAddress: four numbers with dots between them.
func isAddress(p []byte) bool {
	dots, run := 0, 0
	for _, c := range p {
		switch {
		case c == '.' && run > 0:
			dots, run = dots+1, 0
		case Kinds[c]&IsDigit != 0 && run < 3:
			run++
		default:
			return false
		}
	}
	return dots == 3 && run > 0
}

func isCompactDate(p []byte) bool {
	return (string(p[:2]) == "19" || string(p[:2]) == "20") && "01" <= string(p[4:6]) && string(p[4:6]) <= "12" &&
		"01" <= string(p[6:8]) && string(p[6:8]) <= "31"
}

// IsULID reports whether a word is a ULID.
func IsULID(p []byte) bool {
	if p[0] > '7' {
		return false
	}
	for _, c := range p {
		if Kinds[c]&(IsDigit|IsUpper) == 0 || c == 'I' || c == 'L' || c == 'O' || c == 'U' {
			return false
		}
	}
	return true
}

// split looks at the words of a segment one by one.
func (s *Scratch) split(segment []byte) ([]byte, bool) {
	out := s.Buf[:0]
	fixed := true
	for start := 0; start <= len(segment); {
		if c, n := divided(segment[start:]); n > 0 {
			out, fixed = append(out, byte(c)), false
			if start += n; start < len(segment) {
				out = append(out, segment[start])
			}
			start++
			continue
		}
		end, all, or := start, byte(0xff), byte(0)
		for end < len(segment) && Kinds[segment[end]] != IsDivider {
			all &= Kinds[segment[end]]
			or |= Kinds[segment[end]]
			end++
		}
		word := segment[start:end]
		switch {
		case or&IsDigit == 0 && len(word) <= 40:
			out = append(out, word...)
		default:
			var varies bool
			out, varies = appendWord(out, word, all)
			fixed = fixed && !varies
		}
		if end < len(segment) {
			out = append(out, segment[end])
		}
		start = end + 1
	}
	return out, fixed
}

// divided returns the class of data at the beginning of p that has dividers in it: a
// UUID, a day, an address. n is its length, 0 if there is none.
func divided(p []byte) (c Class, n int) {
	end := func(n int) bool { return len(p) == n || len(p) > n && Kinds[p[n]] == IsDivider }
	switch {
	case len(p) < 3 || Kinds[p[0]]&IsHex == 0 && p[0] != '-':
	case end(36) && IsUUID(p[:36]):
		return UUID, 36
	case end(10) && IsDate(p[:10]):
		return Day, 10
	case end(8) && isWeek(p[:8]):
		return Week, 8
	case p[0] == '-' || Kinds[p[0]]&IsDigit != 0:
		n := 1
		for n < len(p) && (p[n] == '.' || Kinds[p[n]]&IsDigit != 0) {
			n++
		}
		if n >= 7 && n <= 15 && end(n) && isAddress(p[:n]) {
			return Address, n
		}
		if end(n) && isDecimal(p[:n]) {
			return Decimal, n
		}
	}
	return 0, 0
}

// appendWord writes the shape of a word with digits in it: a class, letters and
// a number after them, or the word itself if it is one like v2 or utf8.
func appendWord(out, word []byte, all byte) ([]byte, bool) {
	if c := onlyOf(word, all); c != 0 {
		return append(out, byte(c)), true
	}
	letters := 0
	for letters < len(word) && Kinds[word[letters]]&(IsLower|IsUpper) != 0 {
		letters++
	}
	if n := len(word) - letters; letters > 0 && n > 0 && AllDigits(word[letters:]) {
		if n <= 2 && letters < 3 || IsTechnical(word) {
			return append(out, word...), false
		}
		if letters >= 3 {
			return append(append(out, word[:letters]...), byte(Number)), true
		}
	}
	return append(out, byte(Text)), true
}

// IsTechnical reports whether a word with a number in it is a name all the same.
func IsTechnical(word []byte) bool {
	switch string(word) {
	case "sha256", "sha512", "sha1", "utf8", "h264", "mp3", "md5", "oauth2", "base64", "s3", "ipv4", "ipv6":
		return true
	}
	return false
}

// OneBit returns the place of the only bit that is set; 0 if there are several, or it is the last.
func OneBit(lens uint64) int {
	if bits.OnesCount64(lens) != 1 || lens == 1<<63 {
		return 0
	}
	return bits.TrailingZeros64(lens)
}
