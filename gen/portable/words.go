package portable

import (
	"strings"
	"unicode"

	"github.com/keywright/keywright/gen"
)

// Camel returns a name as in productDetail.
func Camel(name string) string {
	words := ascii(name)
	return words[0] + gen.Camel(words[1:], gen.Title)
}

// Pascal returns a name as in ProductDetail.
func Pascal(name string) string { return gen.Camel(ascii(name), gen.Title) }

// Snake returns a name as in product_detail.
func Snake(name string) string { return strings.Join(ascii(name), "_") }

// ascii returns the words of a name in letters and digits that begin an identifier
// in any language; a name that has none of them is a key.
func ascii(name string) []string {
	words := gen.Words(strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name))
	if len(words) == 0 {
		return []string{"key"}
	}
	if unicode.IsDigit(rune(words[0][0])) {
		words[0] = "n" + words[0]
	}
	return words
}

// Lines returns the lines of a text by the author, fit to be in a comment once
// its end is guarded: no control characters, nothing that other programs take
// for the end of a line, and nothing that turns the direction of writing, which
// could make code look like comment.
func Lines(text string) []string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control), r == '\ufeff':
			return ' '
		}
		return r
	}, text)
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines
}

// Printable reports whether a rune may stand for itself in a string literal:
// a reader of the code sees what it is.
func Printable(r rune) bool {
	return r != unicode.ReplacementChar && unicode.IsPrint(r)
}
