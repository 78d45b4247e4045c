package page

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// block reads one piece of the page.
func (c *collector) block(b block) {
	switch {
	case b.rows != nil:
		c.table(b)
	case b.code != nil:
		c.codeBlock(b)
	default:
		c.prose(b)
	}
}

// columns of a table, by what is in them; -1: there is none.
type columns struct{ key, typ, ttl, doc, label int }

// table reads a table.
func (c *collector) table(b block) {
	c.narrow(b.rows)
	if len(b.rows) < 2 {
		c.cells(b)
		return
	}
	b.rows = upright(b.rows)
	col := columnsOf(b.rows)
	title := plainText(b.rows[0].cells[0])
	if saysAny(title, fieldTitles) && !saysAny(title, keyTitles) && col.key <= 0 || col.key < 0 && c.about(b.rows) {
		return // of what is in a key
	}
	if col.key < 0 {
		c.labels(b, col)
		c.cells(b)
		return
	}
	by, title := col.scale(b.rows[0])
	for _, r := range b.rows[1:] {
		if c.cut > 0 {
			return
		}
		if row := strings.Join(r.cells, " | "); c.present(row, r.line) != row {
			continue
		}
		at := candidate{place: inColumn, line: r.line, section: b.section}
		if t := r.cell(col.typ); t != "" {
			at.typ = typeIn(t)
		}
		if t := r.cell(col.ttl); t != "" {
			if at.ttl = ttlIn(t, true, by); at.ttl == "" {
				c.unscaled(r.line, title, t)
			}
		}
		at.doc, at.maxlen = plainText(r.cell(col.doc)), maxLen(strings.Join(r.cells, " | "))
		if at.ttl == "" {
			for i, cell := range r.cells {
				if i != col.key && at.ttl == "" {
					at.ttl = ttlIn(cell, false, 0)
				}
			}
		}
		key := r.cell(col.key)
		if at.typ == "" {
			at.typ = typeIn(codeSpan.ReplaceAllString(key, ""))
		}
		if at.typ == "" && col.typ < 0 {
			at.typ = typeIn(at.doc)
		}
		list := spans(key)
		if len(list) == 0 {
			list = between.Split(plainKey(key), -1)
		}
		for _, raw := range list {
			if whole := wholeKey(&r, raw, col.key); whole != "" {
				raw = whole
			}
			c.add(raw, at)
		}
		for i, cell := range r.cells { // examples, and keys that are named beside it
			if i != col.key {
				before := len(c.found)
				c.inline(cell, r.line, b.section)
				if i < len(b.rows[0].cells) && isExampleTitle(plainText(b.rows[0].cells[i])) {
					c.onlyExamples(before)
				}
			}
		}
	}
}

// maxColumns bounds the columns of a table that are read: cells are held against each
// other.
const maxColumns = 100

// narrow passes over the columns that are too many.
func (c *collector) narrow(rows []row) {
	told := false
	for i := range rows {
		r := &rows[i]
		if len(r.cells) <= maxColumns {
			continue
		}
		if !told {
			c.pass(r.line, r.cells[maxColumns], fmt.Sprintf("only %d columns of a table are read", maxColumns))
			told = true
		}
		r.cells = r.cells[:maxColumns]
	}
}

// between is between several keys in one cell.
var between = lazy(`\s*(?:,|、|\s/\s|\s)\s*`)

// wholeKey returns the key of a row that gives a prefix (login:) and, in another
// column, an example: the example, or the prefix and a placeholder where the
// example does not show what varies. Without an example a prefix is no key.
func wholeKey(r *row, prefix string, at int) string {
	if !strings.HasSuffix(prefix, ":") || len(prefix) < 3 {
		return ""
	}
	for i, cell := range r.cells {
		for _, t := range append(spans(cell), plainKey(cell)) {
			if i == at || !strings.HasPrefix(t, prefix) || len(t) == len(prefix) || strings.ContainsAny(t, " *") {
				continue
			}
			if s, ok := parse(t); ok && s.holes() > 0 {
				return t
			}
			return prefix + "{}"
		}
	}
	return ""
}

func plainKey(cell string) string { return strings.Trim(unescape(cell), " *_\"'") }

// maxTold says how many rows tell which column is which.
const maxTold = 300

// columnsOf finds the columns: the key's by what is in it, the others by their
// titles first.
func columnsOf(rows []row) columns {
	rows = rows[:min(len(rows), maxTold)]
	col := columns{-1, -1, -1, -1, -1}
	best := 0
	for i := range rows[0].cells {
		title := strings.ToLower(plainText(rows[0].cells[i]))
		score := 2 * keysIn(rows[1:], i)
		if score > 0 && saysAny(title, keyTitles) {
			score += len(rows)
		}
		if saysAny(title, exampleTitles) {
			score = min(score, 1)
		}
		if score > best && score >= len(rows)-1 {
			best, col.key = score, i
		}
	}
	for i := range rows[0].cells {
		title := strings.ToLower(plainText(rows[0].cells[i]))
		switch {
		case i == col.key:
		case col.ttl < 0 && saysAny(title, ttlTitles):
			col.ttl = i
		case col.typ < 0 && saysAny(title, typeTitles):
			col.typ = i
		case col.doc < 0 && saysAny(title, docTitles):
			col.doc = i
		}
	}
	for i := range rows[0].cells {
		if col.typ < 0 && i != col.key && i != col.ttl && typesOnly(rows[1:], i) {
			col.typ = i
		}
	}
	return col
}

// typesOnly reports whether a column has types and nothing else, whatever its title says.
func typesOnly(rows []row, i int) bool {
	n := 0
	for _, r := range rows {
		cell := plainText(r.cell(i))
		if cell == "" {
			continue
		}
		if typeIn(cell) == "" || len(strings.Fields(cell)) > 2 {
			return false
		}
		n++
	}
	return n > 0 && 2*n >= len(rows)
}

// keysIn counts the rows whose cell is a key and nothing else.
func keysIn(rows []row, i int) int {
	n := 0
	for _, r := range rows {
		cell := r.cell(i)
		list := spans(cell)
		if len(list) == 0 {
			list = []string{plainKey(cell)}
		}
		if whole := wholeKey(&r, list[0], i); whole != "" {
			list[0] = whole
		}
		s, ok := parse(list[0])
		if ok && s.hasWord() && !s.notAKey() && !s.meta() && (s.colons() > 0 || s.holes() > 0 && strings.ContainsAny(s.raw,
			"_-/.")) && !strings.Contains(list[0], "://") {
			n++
		}
	}
	return n
}

// labels are TTLs of things that a table names in words.
func (c *collector) labels(b block, col columns) {
	if col.ttl < 0 {
		return
	}
	by, _ := col.scale(b.rows[0])
	for _, r := range b.rows[1:] {
		if ttl := ttlIn(r.cell(col.ttl), true, by); ttl != "" && col.ttl > 0 {
			c.ttls = append(c.ttls, labelled{plainText(r.cells[0]), ttl})
		}
	}
}

func (c *collector) cells(b block) {
	for _, r := range b.rows {
		if c.cut > 0 {
			return
		}
		for _, cell := range r.cells {
			c.inline(cell, r.line, b.section)
		}
	}
}

// inline reads the code in a line of text.
func (c *collector) inline(l string, line int, section string) {
	rest := l
	for _, s := range spans(l) {
		before, behind, _ := strings.Cut(rest, s)
		at := candidate{line: line, section: section, quoted: isExample(before)}
		if rest = behind; saysAny(before[max(0, len(before)-24):], channelTitles) {
			at.typ, at.place = "channel", maybe
			if typeBefore(before) == "channel" && mayBeKey(s) {
				at.place = inListing
			}
		}
		if name, args := command(s); name != "" {
			c.command(name, args, candidate{line: line, section: section})
			continue
		}
		c.add(s, at)
	}
}

var listItem = lazy("^\\s*(?:[-*+]|\\d+[.)])\\s+(?:\\*\\*)?`([^`]+)`(?:\\*\\*)?\\s*(.*)$")

var bullet = lazy(`^\s*(?:[-*+]|\d+[.)])\s+`)

// only returns the one key in a line of text, "" if there is none or more.
func only(l string) string {
	found := ""
	for _, t := range spans(l) {
		if s, ok := parse(t); ok && s.colons() > 0 && s.rooted() && s.holes() > 0 && !s.glob && !s.notAKey() {
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
	if struck.MatchString(l) {
		for _, s := range struck.FindAllString(l, -1) {
			c.pass(line, s, "it is struck out")
		}
		l = struck.ReplaceAllString(l, " ")
	}
	var kept strings.Builder
	for _, part := range sentences(l) {
		what := goneLine.FindString(plainText(part))
		if what == "" {
			kept.WriteString(part)
		} else if len(spans(part)) > 0 || strings.Contains(part, ":") {
			c.pass(line, part, "the line says "+strings.Trim(what, " ([（【:：–—-*"))
		}
	}
	return kept.String()
}

// prose reads lines of text. A list item that begins with a key and explains it
// is as good as a row of a table.
func (c *collector) prose(b block) {
	indent, among := amongKeys(b.text)
	c.hint = ""
	for i, l := range b.text {
		line := b.line + i
		if c.cut > 0 {
			return
		}
		if b.title {
			c.heading = mention{line: line}
			if list := spans(l); len(list) == 1 && headingKey.MatchString(list[0]) {
				c.heading.text = list[0]
				if c.titled(l, list[0], line, b.section) {
					continue
				}
			} else if len(list) == 0 && c.alone(l, line, b.section) {
				continue
			}
		}
		if l = c.present(l, line); l == "" || c.attribute(l, line) || c.saidBelow(l, line) ||
			c.labelled(l, line, b.section) || c.typedLine(l, line, b.section) || c.alone(l, line, b.section) {
			continue
		}
		c.hinted(l)
		if among && depth(l) == indent && c.single(l, line, b.section) {
			continue
		}
		l = c.marked(l, line)
		if item := numberedItem.MatchString(l); item && len(spans(l)) == 0 {
			c.heading = mention{line: line}
		}
		c.bracketed(l, line, b.section)
		c.says(l)
		if m := listItem.FindStringSubmatch(l); m != nil {
			if c.item(m[1], m[2], line, b.section) {
				l = m[2]
			}
		} else {
			for _, sentence := range sentences(wholeSentences(b.text, i, l)) {
				c.sentence(withoutCommands(sentence), line, b.section)
			}
		}
		c.inline(l, line, b.section)
	}
}

var sentenceEnd = lazy(`[.;!?]\s+|[。；！？]`)

// sentences returns those of a line, if it names more than one key; a stop within code
// is none.
func sentences(l string) []string {
	if len(spans(l)) < 2 {
		return []string{l}
	}
	masked := codeSpan.ReplaceAllStringFunc(l, func(m string) string { return strings.Repeat("x", len(m)) })
	var out []string
	start := 0
	for _, at := range sentenceEnd.FindAllStringIndex(masked, -1) {
		out = append(out, l[start:at[1]])
		start = at[1]
	}
	return append(out, l[start:])
}

// mayBeKey: two words with a colon, or more.
func mayBeKey(raw string) bool {
	s, ok := parse(raw)
	return ok && s.colons() > 0 && s.rooted()
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
	return typeIn(behind)
}

// naming is between the word for a type and the key: a hash named, the set.
var naming = lazy(`(?i)(?:\s+(?:named|called|under|at|in|key|keyed by|namens|unter|llamad[oa]|en|nommé[e]?` +
	`|sous|chamad[oa]|em))?` +
	`\s*[,(:]?\s*$`)

// typeBefore returns the type that the words right before a key tell.
func typeBefore(text string) string {
	text = strings.TrimRight(text, "*_` ")
	text = folded(text[:len(text)-len(naming.FindString(text))])
	for len(text) > near {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	best, at := "", len(text)+1
	for _, t := range typeWords {
		for _, f := range []form{t.common, t.spoken} {
			all := f.FindAllStringIndex(text, -1)
			if n := len(all); n > 0 && all[n-1][1] == len(text) && all[n-1][0] < at {
				best, at = t.typ, all[n-1][0]
			}
		}
	}
	return best
}

// typed reads the keys without placeholders right after a word for their type: takes jobs
// from the list x:jobs, and puts others into y:failed.
func (c *collector) typed(l, but string, line int, section string) {
	last := 0
	for i, m := range codeSpan.FindAllStringIndex(l, -1) {
		if i >= maxTyped {
			return
		}
		before := l[last:m[0]]
		last = m[1]
		text := strings.Trim(l[m[0]:m[1]], "`")
		if typ := typeBefore(before); typ != "" && text != but && mayBeKey(text) {
			c.add(text, candidate{place: maybe, line: line, section: section, typ: typ})
		}
	}
}

// maxTyped bounds the keys of a sentence.
const maxTyped = 20

// bracketBehind is a remark in brackets right after a key.
var bracketBehind = lazy("^`\\s*[(（]([^()（）]*)[)）]")

// headingKey says what a heading names in code that may be a key.
var headingKey = lazy(`^[A-Za-z][\w:{}<>.-]*$`)

// sentence reads what is said of the one key in it.
func (c *collector) sentence(l string, line int, section string) {
	s := only(l)
	list := spans(l)
	c.typed(l, s, line, section)
	if s == "" && (len(list) != 1 || !mayBeKey(list[0])) {
		return
	}
	about := codeSpan.ReplaceAllString(l, "")
	if s == "" {
		m := codeSpan.FindStringIndex(l)
		if typ, ttl := typeNear(l[m[1]:]), ttlIn(about, false, 0); typ != "" || ttl != "" {
			c.add(list[0], candidate{place: maybe, line: line, section: section, typ: typ, ttl: ttl,
				quoted: isExample(l[:m[0]])})
		}
		return
	}
	at := candidate{line: line, section: section, maxlen: maxLen(about)}
	at.ttl = ttlIn(codeSpan.ReplaceAllString(sentenceOf(l, s), ""), false, 0)
	if at.ttl == "" {
		at.ttl, at.weak = ttlIn(about, false, 0), true
	}
	at.quoted = isExample(l[:strings.Index(l, s)])
	for i, m := range codeSpan.FindAllStringIndex(l, -1) {
		if list[i] == s { // up to the next code: it may name fields, or what else is there
			behind, _, _ := strings.Cut(l[m[1]:], "`")
			at.typ = cmp.Or(typeNear(behind), typeBefore(l[:m[0]]))
		}
	}
	if m := bracketBehind.FindStringSubmatch(l[strings.Index(l, s)+len(s):]); m != nil && at.ttl == "" {
		at.ttl, at.weak = ttlOfRemark(m[1]), false
	}
	if bullet.MatchString(l) {
		at.place, at.typ, at.ttl = inListing, typeIn(about), ttlOfRemark(about)
		at.doc = strings.Trim(plainText(bullet.ReplaceAllString(about, "")), "-–—:→> ")
	}
	c.add(s, at)
}
