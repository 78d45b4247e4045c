package patternset

import (
	"regexp"
	"strings"
)

// Regexps returns the patterns as regular expressions, unanchored, with a group
// around each placeholder: what a team writes that does without keywright.
func (s *Set) Regexps() []string {
	texts := make([]string, len(s.templates))
	for i, t := range s.templates {
		texts[i] = asRegexp(t.Text)
	}
	return texts
}

func asRegexp(text string) string {
	var b strings.Builder
	for text != "" {
		name, after, ok := cutPlaceholder(text)
		if ok {
			b.WriteString("(" + placeholders[name].regexp + ")")
			text = after
			continue
		}
		literal, after := cutLiteral(text)
		b.WriteString(regexp.QuoteMeta(literal))
		text = after
	}
	return b.String()
}

func cutPlaceholder(text string) (name, after string, ok bool) {
	if !strings.HasPrefix(text, "{") || strings.HasPrefix(text, "{#") {
		return "", text, false
	}
	return strings.Cut(text[1:], "}")
}

// cutLiteral also takes the opening of a hash tag, of which only the brace is
// in the key.
func cutLiteral(text string) (literal, after string) {
	if after, ok := strings.CutPrefix(text, "{#"); ok {
		return "{", after
	}
	if n := strings.IndexByte(text, '{'); n >= 0 {
		return text[:n], text[n:]
	}
	return text, ""
}
