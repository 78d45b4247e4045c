package page

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
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
