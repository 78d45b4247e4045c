package infer

import (
	"bytes"
	"math/bits"
	"unicode/utf8"
)

// class describes what a word of a key looks like. In a shape it is as one byte
// below ' ', which no literal word has.
type class byte

const (
	number class = iota + 1 // digits, no leading zero
	digits                  // digits with a leading zero
	seconds
	millis
	uuid
	ulid
	hex
	day     // 2006-01-02
	dayHour // 2006-01-02-15
	month   // 2006-01
	compact // 20060102
	week    // 2006-W01
	decimal // 12.5
	address // 10.0.0.1
	text
	binary
	rest
	classes
)

func isClass(b byte) bool { return 0 < b && b < byte(classes) }

// kinds of bytes, as bits.
const (
	isDigit = 1 << iota
	isLower
	isUpper
	isHex
	isDivider
	isOdd   // control characters and beyond ASCII
	isOther // the rest of ASCII
)

// divider are the bytes between words of one segment.
const dividers = "_-.,=@#~+ {}[]();&?%"

var kinds = func() (t [256]byte) {
	for i := range t {
		c := byte(i)
		switch {
		case '0' <= c && c <= '9':
			t[i] = isDigit | isHex
		case 'a' <= c && c <= 'f':
			t[i] = isLower | isHex
		case 'a' <= c && c <= 'z':
			t[i] = isLower
		case 'A' <= c && c <= 'Z':
			t[i] = isUpper
		case c < ' ' || c > '~':
			t[i] = isOdd
		default:
			t[i] = isOther
		}
	}
	for _, c := range []byte(dividers + separators) {
		t[c] = isDivider
	}
	return t
}()

// separators part a key into segments; the first one a key has is its own.
const separators = ":/|"

// separatorOf returns the separator of a key, 0 if it has none. A dot is one where
// there is no other, in a name like conf.cdn.opt7 and not in an address.
func separatorOf(name []byte) byte {
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
			if dots >= 0 && i > 0 && i < len(name)-1 && kinds[name[i-1]]&(isLower|isUpper) != 0 {
				dots++
				continue
			}
			dots = -1 << 30
		default:
			if kinds[c]&(isLower|isUpper|isDigit) == 0 && c != '_' && c != '-' {
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
	maxSegment = 72
	maxDepth   = 14
)

// scratch is space for the shape of a segment.
type scratch struct {
	buf  [2*maxSegment + 8]byte
	name [4 * maxSegment]byte
}

// shape writes the shape of a segment: its words, those that look like data as
// their class. fixed is true if it is all words.
func (s *scratch) shape(segment []byte) (shape []byte, fixed bool) {
	all, or := byte(0xff), byte(0)
	for _, c := range segment {
		k := kinds[c]
		all &= k
		or |= k
	}
	switch {
	case or&isOdd != 0 && (!utf8.Valid(segment) || hasControl(segment)):
		return s.one(binary), false
	case len(segment) > maxSegment:
		return s.one(text), false
	case or&isDigit == 0 && len(segment) <= 40:
		return segment, true
	case len(segment) == 0:
		return segment, true
	}
	if c := whole(segment, all); c != 0 {
		return s.one(c), false
	}
	return s.split(segment)
}

func (s *scratch) one(c class) []byte {
	s.buf[0] = byte(c)
	return s.buf[:1]
}

func hasControl(p []byte) bool {
	for _, c := range p {
		if c < ' ' || c == 0x7f {
			return true
		}
	}
	return false
}

// whole returns the class of a segment or word as one, 0 if it is several words or
// none.
func whole(p []byte, all byte) class {
	switch {
	case all&isDigit != 0:
		return numeric(p)
	case len(p) == 36 && isUUID(p):
		return uuid
	case len(p) == 10 && isDate(p):
		return day
	case len(p) == 13 && p[10] == '-' && isDate(p[:10]) && allDigits(p[11:]) && string(p[11:]) < "24":
		return dayHour
	case len(p) == 7 && p[4] == '-' && allDigits(p[:4]) && allDigits(p[5:]) && "01" <= string(p[5:]) &&
		string(p[5:]) <= "12" && (p[0] == '1' || p[0] == '2'):
		return month
	case isWeek(p):
		return week
	case isDecimal(p):
		return decimal
	case len(p) >= 7 && len(p) <= 15 && isAddress(p):
		return address
	case all&isHex != 0 && len(p) >= 8 && len(p)%2 == 0:
		return hex
	case len(p) == 26 && isULID(p):
		return ulid
	}
	return 0
}

func numeric(p []byte) class {
	switch {
	case len(p) == 8 && isCompactDate(p):
		return compact
	case len(p) > 1 && p[0] == '0' || len(p) > 18:
		return digits
	case len(p) == 10 && (p[0] == '1' && p[1] >= '4' && p[1] <= '9'):
		return seconds
	case len(p) == 13 && (p[0] == '1' && p[1] >= '4' && p[1] <= '9'):
		return millis
	}
	return number
}

func allDigits(p []byte) bool {
	for _, c := range p {
		if kinds[c]&isDigit == 0 {
			return false
		}
	}
	return true
}

func isUUID(p []byte) bool {
	for i, c := range p {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if kinds[c]&isHex == 0 {
			return false
		}
	}
	return true
}

func isDate(p []byte) bool {
	return p[4] == '-' && p[7] == '-' && allDigits(p[:4]) && allDigits(p[5:7]) && allDigits(p[8:]) &&
		(p[0] == '1' || p[0] == '2') && string(p[5:7]) <= "12" && string(p[8:]) <= "31" && string(p[5:7]) > "00" &&
		string(p[8:]) > "00"
}

// isWeek: 2026-W07, 2026W07.
func isWeek(p []byte) bool {
	if len(p) == 8 && p[4] == '-' {
		p = append(append(make([]byte, 0, 7), p[:4]...), p[5:]...)
	}
	return len(p) == 7 && p[4] == 'W' && allDigits(p[:4]) && allDigits(p[5:]) && (p[0] == '1' || p[0] == '2') &&
		"01" <= string(p[5:]) && string(p[5:]) <= "53"
}

// isDecimal: digits with one dot within them, and a sign perhaps.
func isDecimal(p []byte) bool {
	if len(p) > 0 && p[0] == '-' {
		p = p[1:]
	}
	dot := bytes.IndexByte(p, '.')
	return dot > 0 && dot < len(p)-1 && allDigits(p[:dot]) && allDigits(p[dot+1:])
}

// isAddress: four numbers with dots between them.
func isAddress(p []byte) bool {
	dots, run := 0, 0
	for _, c := range p {
		switch {
		case c == '.' && run > 0:
			dots, run = dots+1, 0
		case kinds[c]&isDigit != 0 && run < 3:
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

func isULID(p []byte) bool {
	if p[0] > '7' {
		return false
	}
	for _, c := range p {
		if kinds[c]&(isDigit|isUpper) == 0 || c == 'I' || c == 'L' || c == 'O' || c == 'U' {
			return false
		}
	}
	return true
}

// split looks at the words of a segment one by one.
func (s *scratch) split(segment []byte) ([]byte, bool) {
	out := s.buf[:0]
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
		for end < len(segment) && kinds[segment[end]] != isDivider {
			all &= kinds[segment[end]]
			or |= kinds[segment[end]]
			end++
		}
		word := segment[start:end]
		switch {
		case or&isDigit == 0 && len(word) <= 40:
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
func divided(p []byte) (c class, n int) {
	end := func(n int) bool { return len(p) == n || len(p) > n && kinds[p[n]] == isDivider }
	switch {
	case len(p) < 3 || kinds[p[0]]&isHex == 0 && p[0] != '-':
	case end(36) && isUUID(p[:36]):
		return uuid, 36
	case end(10) && isDate(p[:10]):
		return day, 10
	case end(8) && isWeek(p[:8]):
		return week, 8
	case p[0] == '-' || kinds[p[0]]&isDigit != 0:
		n := 1
		for n < len(p) && (p[n] == '.' || kinds[p[n]]&isDigit != 0) {
			n++
		}
		if n >= 7 && n <= 15 && end(n) && isAddress(p[:n]) {
			return address, n
		}
		if end(n) && isDecimal(p[:n]) {
			return decimal, n
		}
	}
	return 0, 0
}

// appendWord writes the shape of a word with digits in it: a class, letters and
// a number after them, or the word itself if it is one like v2 or utf8.
func appendWord(out, word []byte, all byte) ([]byte, bool) {
	if c := whole(word, all); c != 0 {
		return append(out, byte(c)), true
	}
	letters := 0
	for letters < len(word) && kinds[word[letters]]&(isLower|isUpper) != 0 {
		letters++
	}
	if n := len(word) - letters; letters > 0 && n > 0 && allDigits(word[letters:]) {
		if n <= 2 && letters < 3 || isTechnical(word) {
			return append(out, word...), false
		}
		if letters >= 3 {
			return append(append(out, word[:letters]...), byte(number)), true
		}
	}
	return append(out, byte(text)), true
}

// isTechnical: words with a number that are names all the same.
func isTechnical(word []byte) bool {
	switch string(word) {
	case "sha256", "sha512", "sha1", "utf8", "h264", "mp3", "md5", "oauth2", "base64", "s3", "ipv4", "ipv6":
		return true
	}
	return false
}

func oneBit(lens uint64) int {
	if bits.OnesCount64(lens) != 1 || lens == 1<<63 {
		return 0
	}
	return bits.TrailingZeros64(lens)
}
