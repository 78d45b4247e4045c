package page

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/program"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

var (
	// parentItem is an item that is what the keys of the items below it begin with: `rank:`.
	parentItem = regex.Lazy("^\\s*(?:[-*+•]|\\d+[.)])\\s+(`?)([a-z][\\w.-]*(?::[\\w.{}<>-]+)*:)`?\\s*(?:[-–—(].*)?$")
	// childItem is an item with its first word: a part of a key.
	childItem = regex.Lazy("^(\\s*(?:[-*+•]|\\d+[.)])\\s+)`?([^\\s`]+)`?(.*)$")
	// prefixLabel is a line that says what the keys of its section begin with: Key prefix: `cart:`.
	prefixLabel = regex.Lazy("(?i)^\\W*(?:redis[ -]?|cache[ -]?)?(?:key[ -]?|schlüssel-?)?(?:prefix|präfix|préfixe|prefijo|" +
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

// writtenOut returns the lines of a text with what their keys begin with, where an item above, or a label of the
// section, says it. Where a key is written with it, all are meant to be.
func (c *collector) writtenOut(b markdown.Block) []string {
	out, from := b.Text, 0
	for i, l := range b.Text {
		if m := prefixLabel.FindStringSubmatch(l); m != nil {
			c.prefix = sectionPrefix{}
			if !holdsKeyOf(c.lines, m[1]) {
				c.prefix, from = sectionPrefix{m[1], b.Section}, i+1
			}
			continue
		}
		m := parentItem.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		below := b.Text[i+1:]
		if end := slices.IndexFunc(below, func(k string) bool { return program.Depth(k) <= program.Depth(l) }); end >= 0 {
			below = below[:end]
		}
		if holdsKeyOf(below, m[2]) || m[1] == "" && !slices.ContainsFunc(below, isTail) {
			continue
		}
		out = withPrefix(out, i+1, i+1+len(below), m[2])
	}
	if text := c.prefix.of(b.Section); text != "" && !b.Title {
		out = withPrefix(out, from, len(out), text)
	}
	return out
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

// withPrefix returns lines of which the items from one to another begin with a prefix, where they name a placeholder,
// or tell a type or a TTL.
func withPrefix(lines []string, from, to int, prefix string) []string {
	out := slices.Clone(lines)
	for i := from; i < to; i++ {
		m := childItem.FindStringSubmatch(out[i])
		if m == nil {
			continue
		}
		s, ok := shape.Parse(m[2])
		if ok && (s.Holes() > 0 || wording.TypeIn(m[3]) != "" || wording.TTLOfRemark(m[3]) != "") {
			out[i] = m[1] + "`" + prefix + strings.TrimRight(m[2], ":,;") + "`" + m[3]
		}
	}
	return out
}
