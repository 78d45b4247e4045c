// Package page reads a Markdown page that documents Redis keys, as teams keep
// them on a wiki, and tells which keys it names: in tables, code, lists and
// prose, in any of a dozen ways to write a placeholder and in several languages.
//
// It is no Markdown renderer and understands no prose: it collects what looks
// like a key where keys are written, weighs it by where it stood, and merges the
// ways in which one key is written. What is not plainly a key is left out; a
// page that documents none gives none.
//
// API: may change until 1.0.
package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/program"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// Key represents a key that a page documents.
type Key struct {
	Pattern string            // as keyspace files write it: user:{user_id}:posts
	Types   map[string]string // placeholder → scalar type, where the page tells one
	Type    string            // string hash list set zset stream lock channel; "" unknown
	TTL     string            // 15m, 7d, none; "" when the page does not say
	Doc     string            // the page's line about it
	Section string            // the heading that it is under
	Example string            // a concrete key on the page
	Doubt   string            // what the page contradicts itself in
	Line    int               // where it is named first
}

// Passed describes what looks like a key and was not taken for one.
type Passed struct {
	Line int
	Text string
	Why  string
}

// Page describes what a page documents.
type Page struct {
	Keys   []Key
	Passed []Passed // in the order of the page; at most so many
}

// maxPage bounds what is read of a page.
const maxPage = 4 << 20

// Read finds the keys that a page documents, and what it passed over.
func Read(text []byte) Page {
	text = text[:min(len(text), maxPage)]
	all := &mention.List{}
	c := &collector{List: all, code: &program.Reader{List: all}}
	label := ""
	c.lines = strings.Split(string(text), "\n")
	for _, b := range markdown.Blocks(string(text)) {
		if c.Cut > 0 {
			break
		}
		c.Showing = b.Code != nil && (exampleLabel(label) || isExampleTitle(b.Section))
		label = b.LastLine(label)
		if what := wording.Gone.FindString(b.Section); what != "" {
			c.Pass(b.Line, b.Section, "the section says "+what)
			c.skip(b)
			continue
		}
		c.block(b)
	}
	keys := c.keys()
	c.missed(c.lines, keys)
	return Page{keys, c.unread(keys)}
}

// collector gathers candidates of a page.
type collector struct {
	*mention.List
	code     *program.Reader
	ttls     []labelled        // TTLs that tables give by a label
	byLabel  map[string]string // of ttls: the first TTL of each; nil until it is asked
	ahead    mention.Statement // what labels tell before the key is named
	common   string            // what all keys begin with, as a sentence says
	prefix   sectionPrefix     // what a label says that the keys of a section begin with
	prefixes int               // how many labels said so
	heading  headword          // a word that a heading names, in code
	compared int               // how often what was missed was compared
	lines    []string          // of the page
	hint     string            // the type that a label above a list tells
	inCode   bool              // what is read is a block of code
	coded    bool              // what is read is a program
	skipped  map[int]bool      // lines of sections that are not read
	taken    []mention.Mention // of found, before any was dropped
}

// headword represents a word in a line.
type headword struct {
	text string
	line int
}

// labelled represents a TTL of something that a table names in words.
type labelled struct{ label, ttl string }

// maxKeys bounds the different keys of a page, which are compared with each other. No page that people read comes
// near.
const maxKeys = 1_500

// keys merges the mentions.
func (c *collector) keys() []Key {
	c.taken = slices.Clone(c.Found)
	c.putCommonPrefix()
	c.dropPrefixes()
	c.dropStrays()
	groups := map[string]*merged{}
	var order []string
	for _, m := range c.Found {
		name := m.Shape.Signature()
		g := groups[name]
		if g == nil {
			if len(order) == maxKeys {
				c.Pass(m.Line, m.Shape.Raw, fmt.Sprintf("only %d different keys of a page are drafted", maxKeys))
				continue
			}
			g = &merged{}
			groups[name] = g
			order = append(order, name)
		}
		g.add(m)
	}
	var list []*merged
	for _, name := range order {
		list = append(list, groups[name])
	}
	list = withoutSchemes(enumerate(c.dropExamples(absorb(list))))
	var out []Key
	for _, g := range list {
		k, ok := g.key()
		if !ok {
			c.Pass(g.Line, g.Shape.Raw, "no pattern of the language says it")
			continue
		}
		if k.TTL == "" && k.Type != "channel" && k.Doubt == "" {
			k.TTL = c.labelledTTL(k.Doc)
		}
		out = append(out, k)
	}
	slices.SortStableFunc(out, func(a, b Key) int { return cmp.Compare(a.Line, b.Line) })
	return c.dropOverlaps(c.withoutFields(out))
}

// dropPrefixes drops what keys begin with where the page says how they go on.
func (c *collector) dropPrefixes() {
	whole := map[string]bool{}
	for _, m := range c.Found {
		for i := range m.Raw {
			if !m.Prefix && m.Raw[i] == ':' {
				whole[m.Raw[:i+1]] = true
			}
		}
	}
	c.Found = slices.DeleteFunc(c.Found,
		func(m mention.Mention) bool { return m.Prefix && whole[strings.TrimSuffix(m.Raw, "{}")] })
}

// dropStrays drops mentions in prose and code that share their first word with
// nothing that is surely a key: on a page that has such keys they are something
// else.
func (c *collector) dropStrays() {
	roots, sure := map[string]bool{}, false
	for _, m := range c.Found {
		if m.Place > mention.InProse {
			roots[m.Shape.Root()], sure = true, true
		}
	}
	for _, m := range c.Found {
		if m.Place == mention.InProse && m.Shape.Holes() > 0 && (!m.Shape.Concrete() || m.Type != "" || m.TTL != "") {
			roots[m.Shape.Root()] = true
		}
	}
	stray := func(m mention.Mention) bool {
		return !roots[m.Shape.Root()] &&
			(m.Place == mention.Maybe || sure && m.Place == mention.InProse && m.Shape.Holes() == 0)
	}
	for _, m := range c.Found {
		if stray(m) {
			c.Pass(m.Line, m.Shape.Raw, "nothing else on the page begins like it")
		}
	}
	c.Found = slices.DeleteFunc(c.Found, stray)
}

// maxLabel bounds the bytes of a label: longer ones are sentences.
const maxLabel = 200

// labelledTTL returns the TTL that a table gives to a label which the line about a
// key begins with: the longest such label, and its first row. It takes a look-up for
// each length, however many labels there are.
func (c *collector) labelledTTL(doc string) string {
	if c.byLabel == nil {
		c.byLabel = map[string]string{}
		for _, l := range c.ttls {
			if _, known := c.byLabel[l.label]; !known && len(l.label) <= maxLabel {
				c.byLabel[l.label] = l.ttl
			}
		}
	}
	if len(c.byLabel) == 0 {
		return ""
	}
	text := markdown.PlainText(doc)
	for n := min(len(text), maxLabel); n > 0; n-- {
		if ttl, known := c.byLabel[text[:n]]; known {
			return ttl
		}
	}
	return ""
}
