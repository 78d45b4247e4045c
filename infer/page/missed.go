package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/program"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
)

// tokenForm is what may be a key in a line: a word with a placeholder, in code or not.
var tokenForm = regex.Lazy("(?:<[^<>\\s|]{1,40}>|\\{[^{}\\n|]{1,60}\\}|\\[[A-Za-z][\\w-]*\\]|%[0-9]*[sd]|" +
	"[\\p{L}\\p{N}_:./#$@*-])+")

// missed lists what looks like a key and was neither taken for one nor passed over: a word
// with a placeholder, or one in code with a colon.
func (c *collector) missed(lines []string, keys []Key) {
	known := map[string]bool{strings.TrimRight(c.common, ":"): true}
	taken := map[int][]string{} // by line
	for _, m := range c.taken {
		known[m.Signature()] = true
		known[m.Raw] = true
		taken[m.Line] = append(taken[m.Line], m.Raw)
	}
	for _, p := range c.Passed {
		known[p.Text] = true
	}
	for _, k := range keys {
		known[k.Pattern] = true
	}
	passed := map[int]string{}
	for _, p := range c.Passed {
		passed[p.Line] += p.Text + "\n"
	}
	for i, l := range lines {
		if c.skipped[i+1] {
			continue
		}
		if c.Cut > 0 && i+1 >= c.Cut || len(c.Passed) >= mention.MaxPassed {
			return
		}
		if !strings.ContainsAny(l, "<{[%`") {
			continue
		}
		if len(l) > maxLine {
			c.Pass(i+1, l, fmt.Sprintf("a line of more than %d bytes is not looked through for what was missed", maxLine))
			continue
		}
		code := map[string]bool{}
		for _, s := range markdown.Spans(l) {
			code[s] = true
		}
		for _, raw := range tokenForm.FindAllString(l, -1) {
			raw = strings.Trim(raw, ".:*/-#")
			if known[raw] || program.HasWord(passed[i+1], raw) ||
				endsOne(taken[i+1], raw, l) || !looksLikeKey(raw, code[raw]) {
				continue
			}
			known[raw] = true
			if s, _ := shape.Parse(raw); !known[s.Signature()] && !c.isTaken(&s) {
				c.Pass(i+1, raw, "nothing says that it is a key")
			}
		}
	}
}

// endsOne reports whether a word of a line is the end of a key that what is above it begins: in a tree, or below a
// prefix.
func endsOne(keys []string, word, line string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		return strings.HasSuffix(key, ":"+strings.TrimPrefix(word, ":")) && !strings.Contains(line, key)
	})
}

// isTaken reports whether a word is one of a key that was taken.
func (c *collector) isTaken(s *shape.Shape) bool {
	c.compared += len(c.taken)
	return c.compared > maxCompared || slices.ContainsFunc(c.taken, func(m mention.Mention) bool {
		return m.Covers(s) ||
			s.InstanceOfKey(&m.Shape)
	})
}

// maxCompared bounds the comparisons of what was missed with what was taken.
const maxCompared = 2_000_000

// maxLine bounds the bytes of a line that is looked through for what was missed.
const maxLine = 2000

// looksLikeKey reports whether a word has a placeholder and a separator, or is code with a
// colon in it.
func looksLikeKey(raw string, code bool) bool {
	s, ok := shape.Parse(raw)
	if !ok || s.NotAKey() || s.Glob || !s.HasName() || strings.Contains(raw, "/") || strings.HasPrefix(raw, "$") {
		return false
	}
	if s.Holes() > 0 && !s.Concrete() {
		return s.Colons() > 0 && (code || s.HasWord()) || s.Rooted() && strings.ContainsAny(s.Parts[0].Text(), "-_")
	}
	return code && s.Colons() > 0 && s.Rooted()
}

// skip notes the lines of a block that is not read.
func (c *collector) skip(b markdown.Block) {
	if c.skipped == nil {
		c.skipped = map[int]bool{}
	}
	for i := range max(len(b.Code), len(b.Text)) {
		c.skipped[b.Line+i] = true
	}
	for _, r := range b.Rows {
		c.skipped[r.Line] = true
	}
}
