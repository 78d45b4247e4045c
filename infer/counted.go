package infer

import "strings"

// leastCounted says how many numbers must come after the same letter or two, below the same
// names, to be data (w01, w02 … w52): fewer are versions and the like (v1, v2).
const leastCounted = 6

// counted takes the numbers in short words for data where there are many of them.
func counted(paths []*path) {
	numbers := map[string]map[string]bool{}
	for _, count := range []bool{true, false} {
		for _, p := range paths {
			above := p.kind().String() + p.sep
			for i := range p.segments {
				s := &p.segments[i]
				form := shortForm(s.shape)
				if letters, n := shortWord(s.shape); n != "" {
					below := above + "\x00" + s.open + letters
					switch {
					case count && numbers[below] == nil:
						numbers[below] = map[string]bool{n: true}
					case count:
						numbers[below][n] = true
					case len(numbers[below]) >= leastCounted:
						s.seen.add([]byte(s.shape))
						s.counted = true
						s.shape = letters + string(rune(classOf(numbers[below])))
					}
				}
				above += "\x00" + s.open + form
			}
		}
	}
}

// shortForm returns a shape in which a number after a letter or two is any number.
func shortForm(shape string) string {
	if letters, n := shortWord(shape); n != "" {
		return letters + "#"
	}
	return shape
}

// shortWord parts a word such as w04 into a letter or two and the digits after them; none
// if it is another word.
func shortWord(shape string) (letters, digits string) {
	n := strings.IndexFunc(shape, func(c rune) bool { return c < 0x80 && kinds[byte(c)]&isDigit != 0 })
	if n < 1 || n > 2 || !isLiteral(shape) || !allDigits([]byte(shape[n:])) || isTechnical([]byte(shape)) {
		return "", ""
	}
	return shape[:n], shape[n:]
}

// classOf returns the class of some numbers.
func classOf(numbers map[string]bool) class {
	for n := range numbers {
		if len(n) > 1 && n[0] == '0' {
			return digits
		}
	}
	return number
}

// inFull are words for the letters before a number.
var inFull = map[string]string{"w": "week", "kw": "week", "q": "quarter", "y": "year", "v": "version"}

// lettersBefore returns the letters right before a number, in lower case: w of top:w04.
func lettersBefore(tokens []token, at int) string {
	if at < 1 || at >= len(tokens) || tokens[at].class != number && tokens[at].class != digits || tokens[at-1].class != 0 {
		return ""
	}
	before := tokens[at-1].literal
	n := len(before)
	for n > 0 && kinds[before[n-1]]&(isLower|isUpper) != 0 {
		n--
	}
	return strings.ToLower(before[n:])
}

// leastCodes says how many words in capitals are codes.
const leastCodes = 3

// codes: words in capitals, below names in small letters, that lead to the same things are
// codes of airports, currencies or shares, and no names.
func codes(family []*path, at int) merge {
	if at == 0 {
		return merge{}
	}
	m := pick(family, at, func(s segment) bool { return isCode(s.shape) }, enumeration(""))
	if len(m.segment.words) < leastCodes || !sameContent(m.members) || !m.members[0].small() {
		return merge{}
	}
	if len(m.segment.words) > maxEnum || !canEnumerate(m.segment.words) {
		m.segment.anyText()
	}
	return m
}

// isCode: capitals, two at least, and what is between words.
func isCode(shape string) bool {
	capitals := 0
	for i := range len(shape) {
		switch k := kinds[shape[i]]; {
		case isClass(shape[i]) || k&(isLower|isOdd) != 0:
			return false
		case k&isUpper != 0:
			capitals++
		}
	}
	return capitals > 1
}

// small reports whether a name in small letters comes first.
func (p *path) small() bool {
	s := p.segments[0].shape
	return strings.ToLower(s) == s && strings.ContainsFunc(s, func(c rune) bool { return c >= 'a' && c <= 'z' })
}
