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

var (
	// parentItem is an item that is what the keys of the items below it begin with: `rank:`.
	parentItem = regex.Lazy("^\\s*(?:[-*+•]|\\d+[.)])\\s+(`?)([a-z][\\w.-]*(?::[\\w.{}<>-]+)*:)`?\\s*(?:[-–—(].*)?$")
	// childItem is an item with its first word: a part of a key.
	childItem = regex.Lazy("^(\\s*(?:[-*+•]|\\d+[.)])\\s+)`?([^\\s`]+)`?(.*)$")
	// prefixLabel is a line that says what the keys of its section begin with: Key prefix: `cart:`.
	prefixLabel = regex.Lazy("(?i)^\\W*(?:redis[ -]?|cache[ -]?)?(?:key[ -]?|schlüssel-?)?" +
		"(?:prefix|präfix|préfixe|prefijo|" +
		"prefixo|prefisso|前缀|接頭辞|プレフィックス|접두사)[*_]*\\s*[:：]\\s*[*_]*\\s*`([^`\\s*]+:)`\\W*$")
)

// sectionPrefix represents what the keys of a section begin with.
type sectionPrefix struct{ text, section string }

// of returns what the keys of a section begin with, "" if nothing says so.
func (p sectionPrefix) of(section string) string {
	if p.section != section {
		return ""
	}
	return p.text
}

// Bounds of what is looked through for a prefix.
const (
	maxBelow    = 200 // lines of a list below an item
	maxPrefixes = 50  // labels of a page
)

// above represents what the items of a list begin with that are so far in.
type above struct {
	prefix    string
	at, items int // how far in the item that says it is, and those below it
}

// writtenOut returns the lines of a text with what their keys begin with, where an item above, or a label of the
// section, says it. Where a key is written with it, all are meant to be.
func (c *collector) writtenOut(b markdown.Block) []string {
	out := slices.Clone(b.Text)
	var stack []above
	if text := c.prefix.of(b.Section); text != "" && !b.Title {
		stack = append(stack, above{text, -1, depthOfItems(b.Text)})
	}
	for i, l := range b.Text {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if m := prefixLabel.FindStringSubmatch(l); m != nil && c.prefixes < maxPrefixes {
			c.prefix, stack = sectionPrefix{}, nil
			if c.prefixes++; !holdsKeyOf(c.lines, m[1]) {
				c.prefix = sectionPrefix{m[1], b.Section}
				stack = []above{{m[1], -1, depthOfItems(b.Text[i+1:])}}
			}
			continue
		}
		at := program.Depth(l)
		for len(stack) > 0 && stack[len(stack)-1].at >= at {
			stack = stack[:len(stack)-1]
		}
		over := above{}
		if n := len(stack); n > 0 {
			over = stack[n-1]
		}
		if prefix := parentOf(l, b.Text[i+1:min(i+1+maxBelow, len(b.Text))]); prefix != "" {
			stack = append(stack, above{over.prefix + prefix, at, depthOfItems(b.Text[i+1:])})
		} else if over.prefix != "" && over.items == at {
			out[i] = withPrefix(l, over.prefix)
			if m := listItem.FindStringSubmatch(l); m != nil && out[i] == l && program.PlainWord.MatchString(m[1]) {
				c.Pass(b.Line+i, over.prefix+m[1], "nothing says that it is a key")
			}
		}
	}
	return out
}

// attributeTitles are words for what is said of a key; isSyntaxOfLists are titles of lists that no key begins with.
var (
	attributeTitles = slices.Concat(wording.TTLTitles, wording.TypeTitles, wording.DocTitles, wording.KeyTitles)
	isSyntaxOfLists = shape.Set("redis: valkey: keys: key: prefix: prefixes: patterns: types: hash: hashes: " +
		"list: lists: set: sets: zset: zsets: string: strings: stream: streams: channels: fields: examples: notes:")
)

// parentOf returns what an item says that those below it begin with, "" if it says nothing.
func parentOf(l string, below []string) string {
	m := parentItem.FindStringSubmatch(l)
	if m == nil {
		return ""
	}
	if end := slices.IndexFunc(below, func(k string) bool { return program.Depth(k) <= program.Depth(l) }); end >= 0 {
		below = below[:end]
	}
	if len(below) == 0 || holdsKeyOf(below, m[2]) ||
		m[1] == "" && (!slices.ContainsFunc(below, isTail) || isSyntaxOfLists[m[2]]) {
		return ""
	}
	return m[2]
}

// depthOfItems returns how far in the first item of some lines is.
func depthOfItems(lines []string) int {
	if i := slices.IndexFunc(lines[:min(len(lines), maxBelow)], bullet.MatchString); i >= 0 {
		return program.Depth(lines[i])
	}
	return 0
}

// isTail reports whether an item begins with one word that is not a key by itself.
func isTail(l string) bool {
	m := wordItem.FindStringSubmatch(l)
	return m != nil && !strings.Contains(m[2], ":")
}

// holdsKeyOf reports whether a key in some lines begins with a prefix and goes on.
func holdsKeyOf(lines []string, prefix string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		_, rest, ok := strings.Cut(l, prefix)
		return ok && rest != "" && !strings.ContainsAny(rest[:1], "` \t\"'*)")
	})
}

// withPrefix returns an item that begins with a prefix, where it names a placeholder, or tells a type or a TTL.
func withPrefix(l, prefix string) string {
	m := childItem.FindStringSubmatch(l)
	if m == nil {
		return l
	}
	s, ok := shape.Parse(m[2])
	if !ok || s.Holes() == 0 && (!isTail(l) || beginsWord(wording.Folded(m[2]), attributeTitles) ||
		wording.TypeIn(m[3]) == "" && wording.TTLOfRemark(m[3]) == "") {
		return l
	}
	return m[1] + "`" + prefix + strings.TrimRight(m[2], ":,;") + "`" + m[3]
}
