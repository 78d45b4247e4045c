package page

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// isExampleTitle reports whether a word of a title is one for examples.
func isExampleTitle(title string) bool {
	for _, w := range wording.WordsIn(title) {
		low := wording.Folded(w)
		for _, e := range wording.ExampleTitles {
			if low == wording.Folded(e) || len(e) > 5 && strings.HasPrefix(low, wording.Folded(e)) {
				return true
			}
		}
	}
	return false
}

// exampleLabel reports whether a line says that what follows are examples: **Example:**.
func exampleLabel(l string) bool {
	text := strings.Trim(markdown.PlainText(l), " *_-:：#>")
	return text != "" && utf8.RuneCountInString(text) < 24 && isExampleTitle(text)
}

// illustrates reports whether a key that is mentioned as an example, or in a command below the
// key that it is one of, says nothing of its own.
func (g *merged) illustrates(h *merged) bool {
	if g.Type != "" && h.Type != "" && g.Type != h.Type && betterType(h.Type, g.Type) != h.Type {
		return false
	}
	return (g.shown || g.commands && g.Section != "" && g.Section == h.Section && g.Line > h.Line) &&
		g.Shape.InstanceOfKey(&h.Shape)
}

// dropExamples drops what the page names only as an example, in a sentence.
func (c *collector) dropExamples(list []*merged) []*merged {
	return slices.DeleteFunc(list, func(g *merged) bool {
		if g.Quoted {
			c.Pass(g.Line, g.Shape.Raw, "it is given as an example")
		}
		return g.Quoted
	})
}

// onlyExamples notes that what was found is given as an example, and is dropped if it is one of
// nothing.
func (c *collector) onlyExamples(from int) {
	for i := from; i < len(c.Found); i++ {
		one := &c.Found[i]
		one.Shows = one.Holes() == 0 || one.Concrete()
		one.Quoted = one.Shows
	}
}

// withoutFields drops what is written like a key and is a field of a hash: of user:{id}:name,
// where the page has the hash user:{id} and names the field, and says no more of it.
func (c *collector) withoutFields(keys []Key) []Key {
	hashes, named := map[string]bool{}, map[string]bool{}
	for _, k := range keys {
		if k.Type == "hash" {
			hashes[nameless.ReplaceAllString(k.Pattern, "{}")] = true
		}
	}
	if len(hashes) == 0 {
		return keys
	}
	for _, l := range c.lines {
		for _, s := range markdown.Spans(l[:min(len(l), maxLine)]) {
			named[s] = true
		}
	}
	return slices.DeleteFunc(keys, func(k Key) bool {
		at := strings.LastIndexByte(k.Pattern, ':')
		if at < 0 || k.Type+k.TTL != "" || !named[k.Pattern[at+1:]] ||
			!hashes[nameless.ReplaceAllString(k.Pattern[:at], "{}")] {
			return false
		}
		c.Pass(k.Line, k.Pattern, "it may be a field of a hash")
		return true
	})
}

// nameless are placeholders, whose names say nothing here.
var nameless = regex.Lazy(`\{[^{}#]*\}`)
