package path

import (
	"strings"

	"github.com/keywright/keywright/infer/internal/class"
)

// leastCounted says how many numbers must come after the same letter or two, below the same
// names, to be data (w01, w02 … w52): fewer are versions and the like (v1, v2).
const leastCounted = 6

// Counted takes the numbers in short words for data where there are many of them.
func Counted(paths []*Path) {
	numbers := map[string]map[string]bool{}
	for _, count := range []bool{true, false} {
		for _, p := range paths {
			above := p.Kind().String() + p.Sep
			for i := range p.Segments {
				s := &p.Segments[i]
				form := shortForm(s.Shape)
				if letters, n := shortWord(s.Shape); n != "" {
					below := above + "\x00" + s.open + letters
					switch {
					case count && numbers[below] == nil:
						numbers[below] = map[string]bool{n: true}
					case count:
						numbers[below][n] = true
					case len(numbers[below]) >= leastCounted:
						s.Seen.Add([]byte(s.Shape))
						s.counted = true
						s.Shape = letters + string(rune(classOf(numbers[below])))
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
	n := strings.IndexFunc(shape, func(c rune) bool { return c < 0x80 && class.Kinds[byte(c)]&class.IsDigit != 0 })
	if n < 1 || n > 2 || !IsLiteral(shape) || !class.AllDigits([]byte(shape[n:])) || class.IsTechnical([]byte(shape)) {
		return "", ""
	}
	return shape[:n], shape[n:]
}

// classOf returns the class of some numbers.
func classOf(numbers map[string]bool) class.Class {
	for n := range numbers {
		if len(n) > 1 && n[0] == '0' {
			return class.Digits
		}
	}
	return class.Number
}

// InFull are words for the letters before a number.
var InFull = map[string]string{"w": "week", "kw": "week", "q": "quarter", "y": "year", "v": "version"}

// LettersBefore returns the letters right before a number, in lower case: w of top:w04.
func LettersBefore(tokens []Token, at int) string {
	if at < 1 || at >= len(tokens) || tokens[at].Class != class.Number && tokens[at].Class != class.Digits ||
		tokens[at-1].Class != 0 {
		return ""
	}
	before := tokens[at-1].Literal
	n := len(before)
	for n > 0 && class.Kinds[before[n-1]]&(class.IsLower|class.IsUpper) != 0 {
		n--
	}
	return strings.ToLower(before[n:])
}

// leastCodes says how many words in capitals are codes.
const leastCodes = 3

// codes: words in capitals, below names in small letters, that lead to the same things are
// codes of airports, currencies or shares, and no names.
func codes(family []*Path, at int) merge {
	if at == 0 {
		return merge{}
	}
	m := pick(family, at, func(s Segment) bool { return isCode(s.Shape) }, enumeration(""))
	if len(m.segment.Words) < leastCodes || !sameContent(m.members) || !m.members[0].small() {
		return merge{}
	}
	if len(m.segment.Words) > maxEnum || !canEnumerate(m.segment.Words) {
		m.segment.anyText()
	}
	return m
}

// isCode: capitals, two at least, and what is between words.
func isCode(shape string) bool {
	capitals := 0
	for i := range len(shape) {
		switch k := class.Kinds[shape[i]]; {
		case class.IsClass(shape[i]) || k&(class.IsLower|class.IsOdd) != 0:
			return false
		case k&class.IsUpper != 0:
			capitals++
		}
	}
	return capitals > 1
}

// small reports whether a name in small letters comes first.
func (p *Path) small() bool {
	s := p.Segments[0].Shape
	return strings.ToLower(s) == s && strings.ContainsFunc(s, func(c rune) bool { return c >= 'a' && c <= 'z' })
}
