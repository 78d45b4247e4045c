package page

import (
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/program"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// What an item of a list names need not be code: the first word is a key if it has a
// placeholder and the item tells its type or its TTL, or if it is one word among such items.
var (
	bareItem = regex.Lazy("^(\\s*(?:[-*+•]|\\d+[.)])\\s+)((?:<[^<>\\n]{1,40}>|\\{[^{}\\n]{1,40}\\}|" +
		"[^\\s*`])+?)[:,;]?(?:\\s+(.*))?$")
	wordItem = regex.Lazy("^(\\s*(?:[-*+•]|\\d+[.)])\\s+)`?([A-Za-z][\\w.-]*)`?(?:\\s+[-–—(]|\\s*[:：]\\s|：)\\s*(.*)$")
	emphasis = regex.Lazy("(^|[\\s(])(?:\\*\\*|__|\\*)([^\\s*`]+?)(?:\\*\\*|__|\\*)")
)

// marked returns a line in which keys that are not code are: bold ones, and one that begins an
// item that tells its type or its TTL.
func (c *collector) marked(l string, line int) string {
	l = emphasis.ReplaceAllStringFunc(l, func(text string) string {
		if m := emphasis.FindStringSubmatch(text); hasHole(m[2]) {
			return m[1] + "`" + m[2] + "`"
		}
		return text
	})
	m := bareItem.FindStringSubmatch(l)
	switch {
	case m == nil || !hasHole(m[2]) && !isParted(m[2]):
	case wording.TypeIn(m[3]) == "" && wording.TTLOfRemark(m[3]) == "":
		c.Pass(line, m[2], "nothing says that it is a key")
	default:
		l = m[1] + "`" + m[2] + "` " + m[3]
	}
	return l
}

// hasHole reports whether a word is a key with a placeholder.
func hasHole(word string) bool {
	s, ok := shape.Parse(word)
	return ok && s.Colons() > 0 && s.Holes() > 0 && s.Rooted() && !s.Glob && !s.NotAKey() && !s.Meta()
}

// isParted reports whether a word is a name with a placeholder and no colon: session-<token>.
func isParted(word string) bool {
	s, ok := shape.Parse(word)
	return ok && s.Colons() == 0 && s.Holes() > 0 && !s.Concrete() && s.Rooted() && s.HasWord() && !s.Glob &&
		!s.NotAKey() && strings.ContainsAny(s.Parts[0].Text(), "-_.")
}

// item reads a list item that begins with a key in code, and reports whether it does.
func (c *collector) item(key, rest string, line int, section string, shares map[string]share) bool {
	doc := strings.TrimLeft(markdown.PlainText(rest), "-–—:→> ")
	at := mention.Mention{Place: mention.InListing, Line: line, Section: section, Doc: doc,
		TTL: wording.TTLOfRemark(c.ofKey(doc, key, line))}
	if of := shares[key]; slices.ContainsFunc(slices.Collect(maps.Values(shares)), share.hasTTL) {
		at.TTL = of.ttl
	} else if shares != nil && at.TTL == "" && wording.LongestIn(doc) != "" {
		c.Pass(line, doc, "it gives several times to several keys")
	}
	at.MaxLen, at.Type = wording.MaxLen(doc), wording.TypeIn(markdown.CodeSpan.ReplaceAllString(rest, ""))
	s, ok := shape.Parse(key)
	told := at.Type != "" || at.TTL != ""
	if !ok || s.Colons()+s.Holes() == 0 || s.Glob && !(at.Type != "" && at.TTL != "" && s.EndsInGlob()) {
		return false
	}
	if s.Colons() == 0 || !s.Rooted() {
		if !told || !s.HasName() || s.Concrete() {
			return false
		}
		at.Place = mention.InColumn // what it is in text, and no key without that
	}
	if at.Hint = c.hint; at.Type != "" {
		at.Place = mention.InColumn
	}
	c.Add(key, at)
	return true
}

// amongKeys says how items are indented that name keys, in lines of text; false if none does.
func amongKeys(lines []string) (indent int, ok bool) {
	for _, l := range lines {
		word := ""
		if m := listItem.FindStringSubmatch(l); m != nil {
			word = m[1]
		} else if m := bareItem.FindStringSubmatch(l); m != nil {
			word = m[2]
		}
		if word != "" && (hasHole(word) || isParted(word)) {
			return program.Depth(l), true
		}
	}
	return 0, false
}

// single reads an item that begins with one word and tells its type, among items that name
// keys. A word that is said to be a string may as well be a field.
func (c *collector) single(l string, line int, section string) bool {
	m := wordItem.FindStringSubmatch(l)
	if m == nil {
		return false
	}
	first := strings.Fields(m[3])
	typ := wording.TypeIn(strings.Join(first[:min(2, len(first))], " "))
	if typ == "" || typ == "string" || typ == "channel" || mention.IsSyntax[strings.ToLower(m[2])] {
		return false
	}
	c.Add(m[2], mention.Mention{Place: mention.InColumn, Line: line, Section: section, Type: typ,
		TTL: wording.TTLOfRemark(m[3]),
		Doc: markdown.PlainText(m[3])})
	return true
}

// typedLabel is a line that names a key after its type: Stream: orders, MAXLEN 50000.
var typedLabel = regex.Lazy("^\\W*([A-Za-z][A-Za-z -]{1,12}?)[*_]*\\s*[:：]\\s*[*_]*\\s*[\"'`]?([^\\s\"'`,;]+)[\"'`]?(.*)$")

// typedLine reads a line that names a key after its type.
func (c *collector) typedLine(l string, line int, section string) bool {
	m := typedLabel.FindStringSubmatch(l)
	if m == nil || !isType[strings.ToLower(strings.TrimSpace(m[1]))] || !mayBeKey(m[2]) {
		return false
	}
	before := len(c.Found)
	c.Add(m[2], mention.Mention{Place: mention.InListing, Line: line, Section: section, Type: wording.TypeIn(m[1]),
		TTL: wording.TTLOfRemark(m[3]),
		Doc: strings.Trim(markdown.PlainText(m[3]), ",;–— "), MaxLen: wording.MaxLen(l)})
	return len(c.Found) > before
}

// isType: words that are a type and nothing else.
var isType = func() map[string]bool {
	m := shape.Set("hash list set zset stream string hashes lists sets streams channel")
	m["sorted set"] = true
	return m
}()
