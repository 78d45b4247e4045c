package page

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// upright returns a table with a row for each key. Some pages give a key a table of its
// own, or a column, and name in the first column what a cell is: Key, Type, TTL.
func upright(rows []markdown.Row) []markdown.Row {
	at := -1
	told := false
	for i, r := range rows {
		title := strings.ToLower(markdown.PlainText(r.Cells[0]))
		switch {
		case at < 0 && slices.Contains(wording.KeyTitles, strings.TrimPrefix(title, "redis ")):
			at = i
		case len(r.Cells) > 1 && keysIn(rows[i:i+1], 1) > 0:
			return rows // another row has keys, too
		case wording.SaysAny(title, wording.TTLTitles), wording.SaysAny(title, wording.TypeTitles):
			told = true
		}
	}
	if at < 0 || !told || len(rows) > maxAttributes || len(rows[at].Cells) < 2 || keysIn(rows[at:at+1], 1) == 0 {
		return rows
	}
	head := markdown.Row{Line: rows[at].Line}
	for _, r := range rows {
		head.Cells = append(head.Cells, r.Cells[0])
	}
	out := []markdown.Row{head}
	for i := 1; i < len(rows[at].Cells); i++ {
		one := markdown.Row{Line: rows[at].Line}
		for _, r := range rows {
			one.Cells = append(one.Cells, r.Cell(i))
		}
		out = append(out, one)
	}
	return out
}

// maxAttributes says how many rows a table has that tells of a key in each column.
const maxAttributes = 40

// about takes what a table without a key tells of the key that the heading above it is.
func (c *collector) about(rows []markdown.Row) bool {
	n := len(c.Found)
	if n == 0 || c.heading.line == 0 || c.Found[n-1].Line != c.heading.line || len(rows) > maxAttributes {
		return false
	}
	last, told := &c.Found[n-1], false
	for _, r := range rows {
		if len(r.Cells) != 2 {
			return false
		}
		switch title := strings.ToLower(markdown.PlainText(r.Cells[0])); {
		case last.TTL == "" && wording.SaysAny(title, wording.TTLTitles):
			by := wording.ScaleOf(r.Cells[0], nil)
			if last.TTL, told = wording.TTLIn(r.Cells[1], true, by), true; last.TTL == "" {
				c.unscaled(r.Line, r.Cells[0], r.Cells[1])
				c.untimed(r.Line, r.Cells[0], r.Cells[1])
			}
		case last.Type == "" && wording.SaysAny(title, wording.TypeTitles):
			last.Type, told = wording.TypeIn(r.Cells[1]), true
		}
	}
	return told
}

// scale returns that of the column of TTLs, with its title.
func (col columns) scale(head markdown.Row) (by wording.Scale, title string) {
	if col.ttl < 0 {
		return 0, ""
	}
	title = head.Cells[col.ttl]
	return wording.ScaleOf(title, head.Cells), markdown.PlainText(title)
}

// unscaled notes a number of which it is not certain what time it is.
func (c *collector) unscaled(line int, title, cell string) {
	text := markdown.PlainText(cell)
	if wording.AnyNumber.MatchString(text) {
		c.Pass(line, title+" "+text, "the time that the number means is not certain, or below a second")
	}
}

// untimed notes a text for a TTL that is none that is read.
func (c *collector) untimed(line int, title, cell string) {
	text := markdown.PlainText(cell)
	if strings.ContainsFunc(text, unicode.IsLetter) && !wording.AnyNumber.MatchString(text) &&
		wording.MaxLen(text) == "" {
		c.Pass(line, strings.Trim(markdown.PlainText(title), " -*")+" "+text, "no TTL is read of it")
	}
}

// columns of a table, by what is in them; -1: there is none.
type columns struct{ key, typ, ttl, doc, label int }

// table reads a table.
func (c *collector) table(b markdown.Block) {
	c.narrow(b.Rows)
	if len(b.Rows) < 2 {
		c.cells(b)
		return
	}
	b.Rows = upright(b.Rows)
	col := columnsOf(b.Rows)
	title := markdown.PlainText(b.Rows[0].Cells[0])
	if wording.SaysAny(title, wording.FieldTitles) && !wording.SaysAny(title,
		wording.KeyTitles) && col.key <= 0 || col.key < 0 && c.about(b.Rows) {
		return // of what is in a key
	}
	if col.key < 0 {
		c.labels(b, col)
		c.cells(b)
		return
	}
	by, title := col.scale(b.Rows[0])
	for _, r := range b.Rows[1:] {
		if c.Cut > 0 {
			return
		}
		if row := strings.Join(r.Cells, " | "); c.present(row, r.Line) != row {
			continue
		}
		at := mention.Mention{Place: mention.InColumn, Line: r.Line, Section: b.Section}
		if t := r.Cell(col.typ); t != "" {
			at.Type = wording.TypeIn(t)
		}
		if t := r.Cell(col.ttl); t != "" {
			if at.TTL = wording.TTLIn(t, true, by); at.TTL == "" {
				c.unscaled(r.Line, title, t)
			}
		}
		at.Doc, at.MaxLen = markdown.PlainText(r.Cell(col.doc)), wording.MaxLen(strings.Join(r.Cells, " | "))
		if at.TTL == "" {
			for i, cell := range r.Cells {
				if i != col.key && at.TTL == "" {
					at.TTL = wording.TTLIn(c.ofKey(cell, markdown.PlainText(r.Cell(col.key)), r.Line), false, 0)
				}
			}
		}
		if at.TTL == "" && col.ttl >= 0 {
			c.untimed(r.Line, title, r.Cell(col.ttl))
		}
		key := r.Cell(col.key)
		if at.Type == "" {
			at.Type = wording.TypeIn(markdown.CodeSpan.ReplaceAllString(key, ""))
		}
		if at.Type == "" && col.typ < 0 {
			at.Type = wording.TypeIn(at.Doc)
		}
		list := markdown.Spans(key)
		if len(list) == 0 {
			list = between.Split(plainKey(key), -1)
		}
		if len(list) > 1 && col.ttl >= 0 && isOfEach(r.Cell(col.ttl)) && !strings.ContainsAny(r.Cell(col.ttl), "(（") {
			c.Pass(r.Line, title+" "+markdown.PlainText(r.Cell(col.ttl)), "it gives several times to several keys")
			at.TTL = ""
		}
		for _, raw := range list {
			if whole := wholeKey(&r, raw, col.key); whole != "" {
				raw = whole
			}
			c.Add(c.prefix.of(b.Section)+raw, at)
		}
		for i, cell := range r.Cells { // examples, and keys that are named beside it
			if i != col.key {
				before := len(c.Found)
				c.inline(cell, r.Line, b.Section)
				if i < len(b.Rows[0].Cells) && isExampleTitle(markdown.PlainText(b.Rows[0].Cells[i])) {
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
func (c *collector) narrow(rows []markdown.Row) {
	told := false
	for i := range rows {
		r := &rows[i]
		if len(r.Cells) <= maxColumns {
			continue
		}
		if !told {
			c.Pass(r.Line, r.Cells[maxColumns], fmt.Sprintf("only %d columns of a table are read", maxColumns))
			told = true
		}
		r.Cells = r.Cells[:maxColumns]
	}
}

// between is between several keys in one cell.
var between = regex.Lazy(`\s*(?:,|、|\s/\s|\s)\s*`)

// wholeKey returns the key of a row that gives a prefix (login:) and, in another
// column, an example: the example, or the prefix and a placeholder where the
// example does not show what varies. Without an example a prefix is no key.
func wholeKey(r *markdown.Row, prefix string, at int) string {
	if !strings.HasSuffix(prefix, ":") || len(prefix) < 3 {
		return ""
	}
	for i, cell := range r.Cells {
		for _, t := range append(markdown.Spans(cell), plainKey(cell)) {
			if i == at || !strings.HasPrefix(t, prefix) || len(t) == len(prefix) || strings.ContainsAny(t, " *") {
				continue
			}
			if s, ok := shape.Parse(t); ok && s.Holes() > 0 {
				return t
			}
			return prefix + "{}"
		}
	}
	return ""
}

func plainKey(cell string) string { return strings.Trim(markdown.Unescape(cell), " *_\"'") }

// maxTold says how many rows tell which column is which.
const maxTold = 300

// columnsOf finds the columns: the key's by what is in it, the others by their
// titles first.
func columnsOf(rows []markdown.Row) columns {
	rows = rows[:min(len(rows), maxTold)]
	col := columns{-1, -1, -1, -1, -1}
	best := 0
	for i := range rows[0].Cells {
		title := strings.ToLower(markdown.PlainText(rows[0].Cells[i]))
		score := 2 * keysIn(rows[1:], i)
		if score > 0 && wording.SaysAny(title, wording.KeyTitles) {
			score += len(rows)
		}
		if wording.SaysAny(title, wording.ExampleTitles) {
			score = min(score, 1)
		}
		if score > best && score >= len(rows)-1 {
			best, col.key = score, i
		}
	}
	for i := range rows[0].Cells {
		title := strings.ToLower(markdown.PlainText(rows[0].Cells[i]))
		switch {
		case i == col.key:
		case col.ttl < 0 && wording.SaysAny(title, wording.TTLTitles):
			col.ttl = i
		case col.typ < 0 && wording.SaysAny(title, wording.TypeTitles):
			col.typ = i
		case col.doc < 0 && wording.SaysAny(title, wording.DocTitles):
			col.doc = i
		}
	}
	for i := range rows[0].Cells {
		if col.typ < 0 && i != col.key && i != col.ttl && typesOnly(rows[1:], i) {
			col.typ = i
		}
	}
	return col
}

// typesOnly reports whether a column has types and nothing else, whatever its title says.
func typesOnly(rows []markdown.Row, i int) bool {
	n := 0
	for _, r := range rows {
		cell := markdown.PlainText(r.Cell(i))
		if cell == "" {
			continue
		}
		if wording.TypeIn(cell) == "" || len(strings.Fields(cell)) > 2 {
			return false
		}
		n++
	}
	return n > 0 && 2*n >= len(rows)
}

// keysIn counts the rows whose cell is a key and nothing else.
func keysIn(rows []markdown.Row, i int) int {
	n := 0
	for _, r := range rows {
		cell := r.Cell(i)
		list := markdown.Spans(cell)
		if len(list) == 0 {
			list = []string{plainKey(cell)}
		}
		if whole := wholeKey(&r, list[0], i); whole != "" {
			list[0] = whole
		}
		s, ok := shape.Parse(list[0])
		if ok && s.HasName() && !s.NotAKey() && !s.Meta() && (s.Colons() > 0 || s.Holes() > 0 && strings.ContainsAny(s.Raw,
			"_-/.")) && !strings.Contains(list[0], "://") {
			n++
		}
	}
	return n
}

// labels are TTLs of things that a table names in words.
func (c *collector) labels(b markdown.Block, col columns) {
	if col.ttl < 0 {
		return
	}
	by, _ := col.scale(b.Rows[0])
	for _, r := range b.Rows[1:] {
		if ttl := wording.TTLIn(r.Cell(col.ttl), true, by); ttl != "" && col.ttl > 0 {
			c.ttls = append(c.ttls, labelled{markdown.PlainText(r.Cells[0]), ttl})
		}
	}
}

func (c *collector) cells(b markdown.Block) {
	for _, r := range b.Rows {
		if c.Cut > 0 {
			return
		}
		for _, cell := range r.Cells {
			c.inline(cell, r.Line, b.Section)
		}
	}
}
