package page

import (
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
		at.doc = plainText(r.cell(col.doc))
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
			if whole := r.prefixed(raw, col.key); whole != "" {
				raw = whole
			}
			c.add(raw, at)
		}
		for i, cell := range r.cells { // examples, and keys that are named beside it
			if i != col.key {
				c.inline(cell, r.line, b.section)
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

// prefixed returns the key of a row that gives a prefix (login:) and, in another
// column, an example: the example, or the prefix and a placeholder where the
// example does not show what varies. Without an example a prefix is no key.
func (r *row) prefixed(prefix string, at int) string {
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

func (r *row) cell(i int) string {
	if i < 0 || i >= len(r.cells) {
		return ""
	}
	return r.cells[i]
}

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
		if whole := r.prefixed(list[0], i); whole != "" {
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
		at := candidate{line: line, section: section}
		before, behind, _ := strings.Cut(rest, s)
		if rest = behind; saysAny(before[max(0, len(before)-24):], channelTitles) {
			at.typ, at.place = "channel", maybe
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

var (
	emphasis = lazy("(^|[\\s(])(?:\\*\\*|__|\\*)([^\\s*`]+?)(?:\\*\\*|__|\\*)")
	bareItem = lazy("^(\\s*(?:[-*+]|\\d+[.)])\\s+)([^\\s*`]+?)[:,;]?(?:\\s+(.*))?$")
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
	case m == nil || !hasHole(m[2]):
	case typeIn(m[3]) == "" && ttlOfRemark(plainText(m[3])) == "":
		c.pass(line, m[2], "nothing says that it is a key")
	default:
		l = m[1] + "`" + m[2] + "` " + m[3]
	}
	return l
}

// hasHole reports whether a word is a key with a placeholder.
func hasHole(word string) bool {
	s, ok := parse(word)
	return ok && s.colons() > 0 && s.holes() > 0 && s.rooted() && !s.glob && !s.notAKey() && !s.meta()
}

// prose reads lines of text. A list item that begins with a key and explains it
// is as good as a row of a table.
func (c *collector) prose(b block) {
	for i, l := range b.text {
		line := b.line + i
		if c.cut > 0 {
			return
		}
		if b.title {
			c.heading = mention{line: line}
			if list := spans(l); len(list) == 1 && headingKey.MatchString(list[0]) {
				c.heading.text = list[0]
			} else if len(list) == 0 && c.alone(l, line, b.section) {
				continue
			}
		}
		if l = c.present(l, line); l == "" || c.attribute(l, line) || c.labelled(l, line, b.section) ||
			c.alone(l, line, b.section) {
			continue
		}
		l = c.marked(l, line)
		if item := numberedItem.MatchString(l); item && len(spans(l)) == 0 {
			c.heading = mention{line: line}
		}
		c.bracketed(l, line, b.section)
		c.says(l)
		if m := listItem.FindStringSubmatch(l); m != nil {
			doc := strings.TrimLeft(plainText(m[2]), "-–—:→> ")
			typ, ttl := typeIn(codeSpan.ReplaceAllString(m[2], "")), ttlOfRemark(doc)
			if s, ok := parse(m[1]); ok && s.rooted() && s.colons()+s.holes() > 0 &&
				(!s.glob || typ != "" && ttl != "" && s.endsInGlob()) {
				c.add(m[1], candidate{place: inListing, line: line, section: b.section, doc: doc, typ: typ, ttl: ttl})
				l = m[2]
			}
		} else {
			for _, sentence := range sentences(l) {
				c.sentence(sentence, line, b.section)
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

// before is the word for a type right before a key: a hash named, the set.
var before = lazy(
	`(?i)((?:sorted[ -]?set|hash|stream|list|set|string|counter|integer|bitmap|geo(?:set)?|hash-?tabelle|liste|menge|lista|conjunto|ensemble)s?)` +
		`(?:\s+(?:named|called|under|at|in|key|keyed by|namens|unter|llamad[oa]|en|nommé[e]?|sous|chamad[oa]|em))?\s*[,(:]?\s*$`)

// typeBefore returns the type that the words right before a key tell.
func typeBefore(text string) string {
	if m := before.FindStringSubmatch(strings.TrimRight(text, "*_ ")); m != nil {
		return typeIn(m[1])
	}
	return ""
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
			c.add(list[0], candidate{place: maybe, line: line, section: section, typ: typ, ttl: ttl})
		}
		return
	}
	at := candidate{line: line, section: section, ttl: ttlIn(about, false, 0)}
	for i, m := range codeSpan.FindAllStringIndex(l, -1) {
		if list[i] == s { // up to the next code: it may name fields, or what else is there
			behind, _, _ := strings.Cut(l[m[1]:], "`")
			at.typ = orElse(typeNear(behind), typeBefore(l[:m[0]]))
		}
	}
	if bullet.MatchString(l) {
		at.place, at.typ, at.ttl = inListing, typeIn(about), ttlOfRemark(about)
		at.doc = strings.Trim(plainText(bullet.ReplaceAllString(about, "")), "-–—:→> ")
	}
	c.add(s, at)
}
