package lint

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// decompositions reads the table: words of a character and what it is made of.
func decompositions(table string) map[rune]string {
	out := map[rune]string{}
	for _, word := range strings.Fields(table) {
		r, size := utf8.DecodeRuneInString(word)
		out[r] = word[size:]
	}
	return out
}

// alike are letters of other scripts that look as Latin ones do, each with what it
// looks like after it.
const alike = "АAВBЕEКKМMНHОOРPСCТTУYХXЅSІIЈJҮYԌGԀDЗ3" +
	"аaеeоoрpсcуyхxѕsіiјjһhԁdԛqԝwүyӏlкkтtмmпnгr" +
	"ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧX" +
	"αaοoνvρpυuκkιiγyχxτtηn" +
	"ıiɑaɡgɩiʋuѵvᴏoᴄcᴠvᴡwᴢzꞌ'՝'ʼ'’'‘'‐-‑-‒-–-—-−-ー-٭*∗*∶:։:：:꞉:ː:܃:⁄/∕/․.。.‚,"

var looksLike = func() map[rune]rune {
	letters, out := []rune(alike), map[rune]rune{}
	for i := 0; i+1 < len(letters); i += 2 {
		out[letters[i]] = letters[i+1]
	}
	return out
}()

// Hangul syllables are made of two or three letters.
const (
	hangulFirst, hangulLast       = 0xac00, 0xd7a3
	hangulL, hangulV, hangulT     = 0x1100, 0x1161, 0x11a7
	hangulPerVowel, hangulPerLead = 28, 21 * 28
)

// appearance returns what a reader sees of a text: letters without their case, of one
// script where several look the same, in one form, without what cannot be seen.
func appearance(text string) string {
	var b strings.Builder
	for _, r := range text {
		if invisible(r) {
			continue
		}
		if r >= 0xff01 && r <= 0xff5e { // full width
			r -= 0xfee0
		}
		if l, ok := looksLike[r]; ok {
			r = l
		}
		switch {
		case r >= hangulFirst && r <= hangulLast:
			s := r - hangulFirst
			b.WriteRune(hangulL + s/hangulPerLead)
			b.WriteRune(hangulV + s%hangulPerLead/hangulPerVowel)
			if t := s % hangulPerVowel; t > 0 {
				b.WriteRune(hangulT + t)
			}
		case decomposed[r] != "":
			b.WriteString(strings.ToLower(decomposed[r]))
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// invisible are characters that show nothing, or change how others are shown.
func invisible(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	case r == 0x34f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0, r == 0x2800:
		return true
	}
	return false
}

func (c *context) lookalikes() {
	seen := map[string]*keyspace.Key{}
	for _, k := range c.Keys {
		text := literals(k.Pattern)
		shown := appearance(text)
		other, ok := seen[shown]
		if ok && literals(other.Pattern) != text {
			how := "look alike, but have other characters in them"
			if strings.EqualFold(literals(other.Pattern), text) {
				how = "differ in upper and lower case only"
			}
			c.report(k.Pos, k.Name, "", "%s and %s %s", visible(k.Pattern), visible(other.Pattern), how).Related = here(other)
		}
		seen[shown] = k
	}
}

// visible returns a pattern with what is not plain text escaped, so that twins can be shown
// apart where they are reported.
func visible(p *pattern.Pattern) string {
	text := p.String()
	if strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }) < 0 {
		return text
	}
	var codes []string
	for _, r := range text {
		if _, twin := looksLike[r]; twin || invisible(r) || unicode.Is(unicode.Mn, r) || decomposed[r] != "" {
			codes = append(codes, fmt.Sprintf("U+%04X", r))
		}
	}
	if len(codes) == 0 {
		return text
	}
	return hide(text) + " (with " + strings.Join(codes[:min(len(codes), 4)], ", ") + ")"
}

// hide leaves out of a text what would change how the rest is shown.
func hide(text string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, text)
}

func (c *context) oddLiterals() {
	for _, k := range c.Keys {
		if k.Derived {
			continue
		}
		if what := odd(strings.ReplaceAll(literals(k.Pattern), "\x00", "")); what != "" {
			c.report(k.Pos, k.Name, "", "%s has %s in it", visible(k.Pattern), what)
		}
		for _, p := range k.Pattern.Placeholders() {
			c.oddWords(k, p.Type)
		}
	}
	for _, ch := range c.Channels {
		if ch.Pattern == nil || ch.Durable != nil {
			continue
		}
		if what := odd(strings.ReplaceAll(literals(ch.Pattern), "\x00", "")); what != "" {
			c.report(ch.Pos, ch.Name, "", "%s has %s in it", visible(ch.Pattern), what)
		}
	}
}

// oddWords looks at the words that a placeholder accepts, once for each type.
func (c *context) oddWords(k *keyspace.Key, t scalar.Type) {
	for _, word := range t.Values {
		if what := odd(word); what != "" {
			c.report(k.Pos, k.Name, "", "a value of a placeholder of %s has %s in it", visible(k.Pattern), what)
			return
		}
	}
}

// odd says what in a text is hard to see or to type, "" if nothing is.
func odd(text string) string {
	for _, r := range text {
		switch {
		case r <= ' ' || r == 0x7f || r == '\ufffd':
			return "a space, a control character or a byte that is not text"
		case invisible(r):
			return fmt.Sprintf("a character that cannot be seen (U+%04X)", r)
		case unicode.IsSpace(r) || unicode.Is(unicode.Zs, r) || unicode.IsControl(r):
			return fmt.Sprintf("a space or control character that looks like another (U+%04X)", r)
		}
	}
	for _, word := range strings.FieldsFunc(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		latin := strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
		other := strings.ContainsFunc(word, func(r rune) bool {
			return unicode.Is(unicode.Cyrillic, r) || unicode.Is(unicode.Greek, r)
		})
		if latin && other {
			return "a word of letters of two scripts that look alike"
		}
	}
	return ""
}
