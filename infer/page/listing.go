package page

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/program"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// isLog: what is written to a log or thrown is no key, even if it begins like one.
var isLog = regex.Lazy(`(?i)\b(throw|raise)\b|Exception\(|\b(log(ger|ging)?|console|print(f|ln)?|` +
	`panic|error|errorf|warn|debug|info|assert\w*|describe|it|test)\s*[.(]|` +
	`System\.out|^\s*(?:desc|task|namespace)\s+[:"']|\bimport\b|\brequire\(|\bfrom\s+['"]|^\s*(FROM|image:|RUN|COPY|ENV|EXPOSE)\b|ports:`)

// codeBlock reads a code block: keys with comments, Redis commands, or a program.
func (c *collector) codeBlock(b markdown.Block) {
	c.coded, c.inCode = program.IsProgram(b.Lang), true
	defer func() { c.coded, c.inCode = false, false }()
	c.code.Learn(b)
	c.passTree(b)
	b.Code = unfolded(b.Code)
	inside := program.Parents(b.Code)
	docstring := false
	pending, remarked := "", false // a comment above; the comment before it explains a key
	for i, l := range b.Code {
		line := b.Line + i
		if c.Cut > 0 {
			return
		}
		t := strings.TrimSpace(l)
		above := pending
		if !program.IsComment(t) && program.NamesAnother(pending, t) {
			above = ""
		}
		at := mention.Mention{Line: line, Section: b.Section, Doc: above}
		if c.attribute(t, line) || c.labelled(t, line, b.Section) || c.indented(b, i, t) {
			continue
		}
		if quotes := strings.Count(t, `"""`); quotes > 0 {
			docstring = docstring != (quotes%2 > 0)
		}
		if (program.IsComment(t) || !program.IsProgram(b.Lang)) && c.isGone(t, line) {
			pending, remarked = "", false
			continue
		}
		if (docstring && program.IsProgram(b.Lang) || program.IsComment(t)) && c.remarked(t, at) {
			pending, remarked = "", true
			continue
		}
		if program.IsComment(t) {
			if pending = strings.TrimLeft(t, "#/-*; "); remarked { // it goes on about that key
				last := &c.Found[len(c.Found)-1]
				last.Type, last.TTL = cmp.Or(last.Type, program.PartType(pending)), cmp.Or(last.TTL, wording.TTLOfRemark(pending))
				pending = ""
			}
			c.comment(t, at)
			continue
		}
		remarked = false
		if name, args := program.FindCommand(t, b.Lang); name != "" {
			c.code.Command(name, args, at)
			c.code.Reply(name, b.Code[i+1:])
			continue
		}
		if t == "" {
			pending = ""
			continue
		}
		if key, rest, ok := listed(t); ok && !program.IsProgram(b.Lang) {
			at.Place = mention.InListing
			at.Doc = cmp.Or(markdown.PlainText(strings.TrimLeft(rest, "#/-–—>→:|;*= (")), above)
			at.Doc = strings.TrimSuffix(at.Doc, ")")
			at.Type, at.TTL = cmp.Or(wording.TypeIn(rest), program.PartType(above)), cmp.Or(wording.TTLOfRemark(rest),
				wording.TTLOfRemark(above))
			at.MaxLen = cmp.Or(wording.MaxLen(rest), wording.MaxLen(above))
			c.Add(key, at)
			continue
		}
		if isLog.MatchString(t) {
			continue
		}
		c.code.Line(b, i, inside[i], at)
	}
}

// isGone reports whether a line begins with a key and says that it is not there any more, or not yet.
func (c *collector) isGone(t string, line int) bool {
	key, rest, _ := listed(strings.TrimLeft(t, "#/-*;! \t"))
	if !program.IsKey(key) {
		return false
	}
	what := wording.GoneIn(markdown.PlainText(rest))
	if what != "" {
		c.Pass(line, key, "the line says "+strings.Trim(what, " ([（【:：–—-*"))
	}
	return what != ""
}

// remarked reads a line of a comment that begins with a key and explains it.
func (c *collector) remarked(t string, at mention.Mention) bool {
	key, rest, ok := listed(strings.TrimLeft(t, "#/-*;! \t"))
	ok = ok || program.IsKey(key) && wording.TTLOfRemark(rest) != ""
	if program.NamesAnother(rest, key) {
		return false // of which of both is what it says?
	}
	if s, is := shape.Parse(key); !ok || !is || s.Holes() == 0 && program.TypeAbove(rest) == "" {
		return false
	}
	before := len(c.Found)
	at.Place, at.Doc = mention.InListing, markdown.PlainText(strings.TrimLeft(rest, "#/-–—>→:|;*= ("))
	at.Type, at.TTL = wording.TypeIn(rest), wording.TTLOfRemark(rest)
	c.Add(key, at)
	return len(c.Found) > before
}

// indented takes a type that is alone on a line below a key and further in.
func (c *collector) indented(b markdown.Block, i int, t string) bool {
	n := len(c.Found)
	if n == 0 || program.IsProgram(b.Lang) || len(strings.Fields(t)) > 3 || wording.TypeIn(t) == "" {
		return false
	}
	last := &c.Found[n-1]
	above := last.Line - b.Line
	if above < 0 || above >= i || i-above > attributeLines || last.Place != mention.InListing ||
		program.Depth(b.Code[i]) <= program.Depth(b.Code[above]) {
		return false
	}
	if _, _, isKey := listed(t); isKey {
		return false
	}
	last.Type = cmp.Or(last.Type, wording.TypeIn(t))
	return true
}

var inComment = regex.Lazy(
	"(?i)(?:=>|→|->|e\\.g\\.|例[:：]?|예[:：]?|example:?|格式[:：]|形式[:：]|형식[:：]|\\b(?:format|pattern|key):)\\s*[\"'`]?([^\\s\"'`,]+)")

// comment reads a key that a comment gives as the result: // => 'cache:product:1'.
func (c *collector) comment(t string, at mention.Mention) {
	at.Doc = ""
	for _, m := range inComment.FindAllStringSubmatch(t, -1) {
		c.Add(m[1], at)
	}
}

var treeMarks = strings.NewReplacer("├──", "", "└──", "", "│", "", "├─", "", "└─", "")

// unfolded returns a tree of keys with each line written out: below "game:" is
// "match:{id}", which is game:match:{id}.
func unfolded(lines []string) []string {
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.ContainsAny(l, "├└") }) {
		return lines
	}
	var above []level
	out := make([]string, len(lines))
	for i, l := range lines {
		text := strings.TrimLeft(l, " \t│├└─|")
		at := utf8.RuneCountInString(l) - utf8.RuneCountInString(text)
		for len(above) > 0 && above[len(above)-1].at >= at {
			above = above[:len(above)-1]
		}
		name, rest := text, ""
		if end := strings.IndexAny(text, " \t"); end >= 0 {
			name, rest = text[:end], text[end:]
		}
		if n := len(above); n > 0 && name != "" && !strings.HasPrefix(name, above[n-1].name) {
			name = above[n-1].name + name
		}
		if out[i] = name + rest; strings.HasSuffix(name, ":") && len(name) > 1 {
			above = append(above, level{at, name})
			if strings.TrimSpace(rest) == "" || !strings.ContainsAny(name, "{<") {
				out[i] = ""
			}
		}
	}
	return out
}

// level represents a line of a tree, with how far in it is.
type level struct {
	at   int
	name string
}

// passTree passes over the branches of a tree of keys that does not say what is between their words.
func (c *collector) passTree(b markdown.Block) {
	if !slices.ContainsFunc(b.Code, func(l string) bool { return strings.ContainsAny(l, "├└") }) {
		return
	}
	var above []level
	type branch struct {
		line int
		name string
	}
	var found []branch
	for i, l := range b.Code {
		text := strings.TrimLeft(l, " \t│├└─|")
		at := utf8.RuneCountInString(l) - utf8.RuneCountInString(text)
		for len(above) > 0 && above[len(above)-1].at >= at {
			above = above[:len(above)-1]
		}
		name, rest, _ := strings.Cut(text, " ")
		if strings.Contains(name, ":") {
			return
		}
		if n := len(above); n > 0 {
			name = above[n-1].name + "/" + name
		}
		above = append(above, level{at, name})
		if s, ok := shape.Parse(name); ok && at > 0 && (s.Holes() > 0 && !s.Concrete() ||
			wording.TypeIn(rest) != "" && wording.TTLOfRemark(rest) != "") {
			found = append(found, branch{b.Line + i, name})
		}
	}
	for _, f := range found {
		c.Pass(f.line, f.name, "the tree does not say what is between the words of its keys")
	}
}

// listed returns a line that begins with a key and goes on with a comment, or ends.
func listed(t string) (key, rest string, ok bool) {
	t = strings.TrimSpace(treeMarks.Replace(t))
	t = strings.TrimLeft(t, "-*+• ")
	t = strings.Trim(t, "\"'")
	end := 0
	depth := 0
	for end < len(t) {
		switch t[end] {
		case '{', '<':
			depth++
		case '}', '>':
			depth--
		case ' ', '\t', '"', '\'', '`', ',':
			if depth <= 0 {
				key, rest = t[:end], strings.TrimSpace(t[end:])
				rest = strings.TrimLeft(rest, "\"',`")
				return strings.TrimSuffix(key, ":"), rest, keyLine(key, rest)
			}
		}
		end++
	}
	return t, "", keyLine(t, "")
}

// afterKey says what a comment or a description begins with.
var afterKey = regex.Lazy(`^(?:#|//|-|→|=|–|—|\(|;|\||:)`)

// keyLine: a key alone, or with what a comment or a description begins with.
func keyLine(key, rest string) bool {
	rest = strings.TrimSpace(rest)
	return program.IsKey(key) && (rest == "" || wording.TypeIn(rest) != "" || afterKey.MatchString(rest))
}
