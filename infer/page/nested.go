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
		}
	}
	return out
}

// parentOf returns what an item says that those below it begin with, "" if it says nothing.
func parentOf(l string, below []string) string {
	m := parentItem.FindStringSubmatch(l)
	if m == nil {
		return ""
	}
	if end := slices.IndexFunc(below, func(k string) bool { return program.Depth(k) <= program.Depth(l) }); end >= 0 {
		below = below[:end]
	}
	if len(below) == 0 || holdsKeyOf(below, m[2]) || m[1] == "" && !slices.ContainsFunc(below, isTail) {
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
	if !ok || s.Holes() == 0 && wording.TypeIn(m[3]) == "" && wording.TTLOfRemark(m[3]) == "" {
		return l
	}
	return m[1] + "`" + prefix + strings.TrimRight(m[2], ":,;") + "`" + m[3]
}
