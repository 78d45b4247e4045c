package page

import (
	"slices"
	"strings"
)

// upright returns a table with a row for each key. Some pages give a key a table of its
// own, or a column, and name in the first column what a cell is: Key, Type, TTL.
func upright(rows []row) []row {
	at := -1
	told := false
	for i, r := range rows {
		title := strings.ToLower(plainText(r.cells[0]))
		switch {
		case at < 0 && slices.Contains(keyTitles, strings.TrimPrefix(title, "redis ")):
			at = i
		case len(r.cells) > 1 && keysIn(rows[i:i+1], 1) > 0:
			return rows // another row has keys, too
		case saysAny(title, ttlTitles), saysAny(title, typeTitles):
			told = true
		}
	}
	if at < 0 || !told || len(rows) > maxAttributes || len(rows[at].cells) < 2 || keysIn(rows[at:at+1], 1) == 0 {
		return rows
	}
	head := row{line: rows[at].line}
	for _, r := range rows {
		head.cells = append(head.cells, r.cells[0])
	}
	out := []row{head}
	for i := 1; i < len(rows[at].cells); i++ {
		one := row{line: rows[at].line}
		for _, r := range rows {
			one.cells = append(one.cells, r.cell(i))
		}
		out = append(out, one)
	}
	return out
}

// maxAttributes says how many rows a table has that tells of a key in each column.
const maxAttributes = 40

// about takes what a table without a key tells of the key that the heading above it is.
func (c *collector) about(rows []row) bool {
	n := len(c.found)
	if n == 0 || c.heading.line == 0 || c.found[n-1].line != c.heading.line || len(rows) > maxAttributes {
		return false
	}
	last, told := &c.found[n-1], false
	for _, r := range rows {
		if len(r.cells) != 2 {
			return false
		}
		switch title := strings.ToLower(plainText(r.cells[0])); {
		case last.ttl == "" && saysAny(title, ttlTitles):
			by := scaleOf(r.cells[0], nil)
			if last.ttl, told = ttlIn(r.cells[1], true, by), true; last.ttl == "" {
				c.unscaled(r.line, r.cells[0], r.cells[1])
			}
		case last.typ == "" && saysAny(title, typeTitles):
			last.typ, told = typeIn(r.cells[1]), true
		}
	}
	return told
}

// scale returns that of the column of TTLs, with its title.
func (col columns) scale(head row) (by scale, title string) {
	if col.ttl < 0 {
		return 0, ""
	}
	title = head.cells[col.ttl]
	return scaleOf(title, head.cells), plainText(title)
}

// unscaled notes a number of which it is not certain what time it is.
func (c *collector) unscaled(line int, title, cell string) {
	text := plainText(cell)
	if anyNumber.MatchString(text) {
		c.pass(line, title+" "+text, "the time that the number means is not certain, or below a second")
	}
}
