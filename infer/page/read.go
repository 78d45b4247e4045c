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

// block reads one piece of the page.
func (c *collector) block(b markdown.Block) {
	switch {
	case b.Rows != nil:
		c.table(b)
	case b.Code != nil:
		c.codeBlock(b)
	default:
		c.prose(b)
	}
}

// inline reads the code in a line of text.
func (c *collector) inline(l string, line int, section string) {
	rest := l
	for _, s := range markdown.Spans(l) {
		before, behind, _ := strings.Cut(rest, s)
		at := mention.Mention{Line: line, Section: section, Quoted: wording.IsExample(before)}
		if rest = behind; wording.SaysAny(before[max(0, len(before)-24):], wording.ChannelTitles) {
			at.Type, at.Place = "channel", mention.Maybe
			if typeBefore(before) == "channel" && mayBeKey(s) {
				at.Place = mention.InListing
			}
		}
		if name, args := program.ParseCommand(s); name != "" {
			c.code.Command(name, args, mention.Mention{Line: line, Section: section})
			continue
		}
		c.Add(s, at)
	}
}

var listItem = regex.Lazy("^\\s*(?:[-*+]|\\d+[.)])\\s+(?:\\*\\*)?`([^`]+)`(?:\\*\\*)?\\s*(.*)$")

var bullet = regex.Lazy(`^\s*(?:[-*+]|\d+[.)])\s+`)

// only returns the one key in a line of text, "" if there is none or more.
func only(l string) string {
	found := ""
	for _, t := range markdown.Spans(l) {
		if s, ok := shape.Parse(t); ok && s.Colons() > 0 && s.Rooted() && s.Holes() > 0 && !s.Glob && !s.NotAKey() {
			if found != "" {
				return ""
			}
			found = t
		}
	}
	return found
}

// present returns a line without what it strikes out, "" if it names what is not there
// any more or not yet.
func (c *collector) present(l string, line int) string {
	if wording.Struck.MatchString(l) {
		for _, s := range wording.Struck.FindAllString(l, -1) {
			c.Pass(line, s, "it is struck out")
		}
		l = wording.Struck.ReplaceAllString(l, " ")
	}
	var kept strings.Builder
	for _, part := range sentences(l) {
		what := wording.GoneIn(markdown.PlainText(part))
		if what == "" {
			kept.WriteString(part)
		} else if len(markdown.Spans(part)) > 0 || strings.Contains(part, ":") {
			c.Pass(line, part, "the line says "+strings.Trim(what, " ([（【:：–—-*"))
		}
	}
	return kept.String()
}

// prose reads lines of text. A list item that begins with a key and explains it
// is as good as a row of a table.
func (c *collector) prose(b markdown.Block) {
	b.Text = c.writtenOut(b)
	indent, among := amongKeys(b.Text)
	c.hint = ""
	for i, l := range b.Text {
		line := b.Line + i
		if c.Cut > 0 {
			return
		}
		if b.Title {
			c.heading = headword{line: line}
			if list := markdown.Spans(l); len(list) == 1 && headingKey.MatchString(list[0]) {
				c.heading.text = list[0]
				if c.titled(l, list[0], line, b.Section) {
					continue
				}
			} else if len(list) == 0 && c.readBareLine(l, line, b.Section) {
				continue
			}
		}
		if l = c.present(l, line); l == "" || c.attribute(l, line) || c.saidBelow(l, line) ||
			c.labelled(l, line, b.Section) || c.typedLine(l, line, b.Section) || c.readBareLine(l, line, b.Section) {
			continue
		}
		c.underHeading(l, line)
		c.hinted(l)
		if among && program.Depth(l) == indent && c.single(l, line, b.Section) {
			continue
		}
		l = c.marked(l, line)
		if item := numberedItem.MatchString(l); item && len(markdown.Spans(l)) == 0 {
			c.heading = headword{line: line}
		}
		c.bracketed(l, line, b.Section)
		c.says(l)
		if m := listItem.FindStringSubmatch(l); m != nil {
			if c.item(m[1], m[2], line, b.Section, c.shared(l, line, b.Section)) {
				l = m[2]
			}
		} else {
			for _, sentence := range withoutKeyless(sentences(wholeSentences(b.Text, i, l))) {
				c.sentence(withoutCommands(sentence), line, b.Section)
			}
		}
		c.inline(l, line, b.Section)
	}
}

var sentenceEnd = regex.Lazy(`[.;!?]\s+|[。；！？]`)

// sentences returns those of a line, if it names more than one key; a stop within code
// is none.
func sentences(l string) []string {
	if len(markdown.Spans(l)) < 2 {
		return []string{l}
	}
	masked := markdown.CodeSpan.ReplaceAllStringFunc(l, func(m string) string { return strings.Repeat("x", len(m)) })
	var out []string
	start := 0
	for _, at := range sentenceEnd.FindAllStringIndex(masked, -1) {
		out = append(out, l[start:at[1]])
		start = at[1]
	}
	return append(out, l[start:])
}

// withoutKeyless adds sentences that name nothing to the one before: they may go on about its key.
func withoutKeyless(list []string) []string {
	var out []string
	for _, s := range list {
		if n := len(out); n > 0 && !strings.Contains(s, "`") {
			out[n-1] += s
			continue
		}
		out = append(out, s)
	}
	return out
}

// mayBeKey: two words with a colon, or more.
func mayBeKey(raw string) bool {
	s, ok := shape.Parse(raw)
	return ok && s.Colons() > 0 && s.Rooted()
}

// near says how far after a key the word for its type is.
const near = 40

// typeNear returns the type that the words right after a key tell.
func typeNear(behind string) string {
	behind, _, _ = strings.Cut(strings.TrimLeft(behind, " ,"), ",")
	for len(behind) > near {
		_, size := utf8.DecodeLastRuneInString(behind)
		behind = behind[:len(behind)-size]
	}
	return wording.TypeIn(behind)
}

// naming is between the word for a type and the key: a hash named, the set.
var naming = regex.Lazy(`(?i)(?:\s+(?:named|called|under|at|in|key|keyed by|namens|unter|llamad[oa]|en|nommé[e]?` +
	`|sous|chamad[oa]|em))?` +
	`\s*[,(:]?\s*$`)

// typeBefore returns the type that the words right before a key tell.
func typeBefore(text string) string {
	text = strings.TrimRight(text, "*_` ")
	text = wording.Folded(text[:len(text)-len(naming.FindString(text))])
	for len(text) > near {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	best, at := "", len(text)+1
	for _, t := range wording.TypeWords {
		for _, f := range []regex.Form{t.Common, t.Spoken} {
			all := f.FindAllStringIndex(text, -1)
			if n := len(all); n > 0 && all[n-1][1] == len(text) && all[n-1][0] < at {
				best, at = t.Type, all[n-1][0]
			}
		}
	}
	return best
}

// typed reads the keys without placeholders right after a word for their type: takes jobs
// from the list x:jobs, and puts others into y:failed.
func (c *collector) typed(l, but string, line int, section string) {
	last := 0
	for i, m := range markdown.CodeSpan.FindAllStringIndex(l, -1) {
		if i >= maxTyped {
			return
		}
		before := l[last:m[0]]
		last = m[1]
		text := strings.Trim(l[m[0]:m[1]], "`")
		if typ := typeBefore(before); typ != "" && text != but && mayBeKey(text) {
			c.Add(text, mention.Mention{Place: mention.Maybe, Line: line, Section: section, Type: typ})
		}
	}
}

// maxTyped bounds the keys of a sentence.
const maxTyped = 20

// bracketBehind is a remark in brackets right after a key.
var bracketBehind = regex.Lazy("^`\\s*[(（]([^()（）]*)[)）]")

// remarkBehind is what is said of a key right after it: a:{b}: hash, 2 days.
var remarkBehind = regex.Lazy("^`\\s*(?:[:：–—]|-\\s)([^`.;。；]*)")

// headingKey says what a heading names in code that may be a key.
var headingKey = regex.Lazy(`^[A-Za-z][\w:{}<>.-]*$`)

// sentence reads what is said of the one key in it.
func (c *collector) sentence(l string, line int, section string) {
	s := only(l)
	list := markdown.Spans(l)
	c.typed(l, s, line, section)
	shares := c.shared(l, line, section)
	if s == "" && (len(list) != 1 || !mayBeKey(list[0])) {
		if i := slices.IndexFunc(list, hasHole); shares == nil && i >= 0 {
			c.ofSeveral(l, list[i], line, section)
		}
		return
	}
	about := markdown.CodeSpan.ReplaceAllString(l, "")
	if s == "" {
		m := markdown.CodeSpan.FindStringIndex(l)
		ttl, _ := c.lifeOf(l, list[0], line, section)
		if typ := typeNear(l[m[1]:]); typ != "" || ttl != "" {
			c.Add(list[0], mention.Mention{Place: mention.Maybe, Line: line, Section: section, Type: typ, TTL: ttl,
				Quoted: wording.IsExample(l[:m[0]])})
		}
		return
	}
	at := mention.Mention{Line: line, Section: section, MaxLen: wording.MaxLen(about)}
	if shares == nil && !bullet.MatchString(l) {
		at.TTL, at.Weak = c.lifeOf(l, s, line, section)
		if nearer := beforeNext(l, s); nearer != "" {
			at.TTL, at.Weak = nearer, false
		}
	}
	at.Quoted = wording.IsExample(l[:strings.Index(l, s)])
	for i, m := range markdown.CodeSpan.FindAllStringIndex(l, -1) {
		if list[i] == s { // up to the next code: it may name fields, or what else is there
			behind, _, _ := strings.Cut(l[m[1]:], "`")
			at.Type = cmp.Or(typeNear(behind), typeBefore(l[:m[0]]))
		}
	}
	if m := bracketBehind.FindStringSubmatch(l[strings.Index(l, s)+len(s):]); m != nil && at.TTL == "" {
		at.TTL, at.Weak = wording.TTLOfRemark(m[1]), false
	}
	if m := remarkBehind.FindStringSubmatch(l[strings.Index(l, s)+len(s):]); m != nil && at.TTL == "" {
		at.TTL, at.Weak = wording.TTLOfRemark(m[1]), false
	}
	if bullet.MatchString(l) {
		at.Place, at.Type = mention.InListing, wording.TypeIn(about)
		at.TTL = wording.TTLOfRemark(c.ofKey(about, s, line))
		at.Doc = strings.Trim(markdown.PlainText(bullet.ReplaceAllString(about, "")), "-–—:→> ")
	}
	if share, ok := shares[s]; ok {
		at.TTL, at.Type, at.Weak = share.ttl, cmp.Or(share.typ, at.Type), false
	}
	c.Add(s, at)
}

// ofKey returns what an item or a cell says of a key: without the sentences that give a time of something else, which
// are passed over.
func (c *collector) ofKey(about, key string, line int) string {
	from := 0
	var out strings.Builder
	for _, m := range append(sentenceEnd.FindAllStringIndex(about, -1), []int{len(about), len(about)}) {
		part := about[from:m[1]]
		if from > 0 && wording.TTLOfRemark(part) != "" && wording.HasOtherSubject(part, key) {
			c.Pass(line, part, "the time may be of something else than "+key)
		} else {
			out.WriteString(part)
		}
		from = m[1]
	}
	return out.String()
}

// lifeOf returns the TTL that a text with one key gives, and whether another sentence than that with the key does. One
// that goes on about the key and says another TTL contradicts it; a time of something else is passed over.
func (c *collector) lifeOf(l, key string, line int, section string) (ttl string, weak bool) {
	at := strings.Index(l, key)
	ttl = wording.TTLIn(markdown.CodeSpan.ReplaceAllString(sentenceOf(l, key), ""), false, 0)
	from, joined := 0, false   // joined: a semicolon is before it
	stretch, open := "", false // what semicolons join with the key, and whether it goes on
	for _, m := range append(sentenceEnd.FindAllStringIndex(l, -1), []int{len(l), len(l)}) {
		part, elsewhere := l[from:m[1]], at < from || at >= m[1]
		if other := wording.TTLIn(part, false, 0); elsewhere && other != "" {
			switch {
			case wording.HasOtherSubject(part, key), !joined && wording.IsOfAnother(part, key):
				c.Pass(line, part, "the time may be of something else than "+key)
			case ttl == "":
				ttl, weak = other, true
			case ttl != other && wording.GoesOn(part):
				for _, t := range []string{ttl, other} {
					c.Add(key, mention.Mention{Place: mention.Maybe, Line: line, Section: section, TTL: t})
				}
			}
		}
		open = !elsewhere || joined && open
		if !elsewhere || open && len(stretch) < maxLine && !wording.HasOtherSubject(part, key) {
			stretch += part
		}
		from, joined = m[1], strings.HasPrefix(l[m[0]:], ";") || strings.HasPrefix(l[m[0]:], "；")
	}
	if ttl == "" {
		ttl, weak = wording.TTLIn(markdown.CodeSpan.ReplaceAllString(stretch, ""), false, 0), true
	}
	return ttl, weak
}
