// Package markdown cuts a page into blocks: headings, tables, code and prose, each with its line and the heading that
// it
// is below. It is no renderer: what a page looks like is not its concern, and it knows no keys.
package markdown

import (
	"strings"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

// Block represents a piece of a page: a table, a code block, or lines of text.
type Block struct {
	Title   bool // a heading alone
	Section string
	Line    int // of its first line
	Lang    string
	Code    []string
	Rows    []Row
	Text    []string
}

// Row represents a line of a table.
type Row struct {
	Line  int
	Cells []string
}

var (
	heading   = regex.Lazy(`^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	fence     = regex.Lazy("^\\s*(?:[-*>]\\s+)?(```+|~~~+)\\s*([\\w+#.-]*)")
	tableRow  = regex.Lazy(`^\s*\|.*\|?\s*$`)
	dashes    = regex.Lazy(`^[\s|:+=-]*-[\s|:+=-]*$`)
	htmlRow   = regex.Lazy(`(?is)<tr[^>]*>(.*?)</tr>`)
	htmlCell  = regex.Lazy(`(?is)<t[dh][^>]*>(.*?)</t[dh]>`)
	htmlTag   = regex.Lazy(`(?i)</?(?:code|b|i|em|strong|p|br|span|a|tt|pre|td|th|tr|table|div)\b[^>]*>`)
	htmlTable = regex.Lazy(`(?i)<table|<tr`)
)

// Blocks takes a page apart.
func Blocks(text string) []Block {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var out []Block
	section := ""
	prose := Block{}
	flush := func() {
		if len(prose.Text) > 0 {
			out = append(out, prose)
		}
		prose = Block{}
	}
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if m := heading.FindStringSubmatch(l); m != nil {
			flush()
			section = PlainText(m[1])
			out = append(out, Block{Section: section, Line: i + 1, Text: []string{m[1]}, Title: true})
			continue
		}
		if m := fence.FindStringSubmatch(l); m != nil {
			flush()
			end := i + 1
			for end < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[end]), m[1]) {
				end++
			}
			out = append(out, Block{Section: section, Line: i + 2, Lang: strings.ToLower(m[2]), Code: lines[i+1 : min(end,
				len(lines))]})
			i = end
			continue
		}
		if htmlTable.MatchString(l) {
			flush()
			end := i
			for end < len(lines)-1 && !strings.Contains(strings.ToLower(lines[end]), "</table") && end-i < 2000 {
				end++
			}
			out = append(out, htmlBlock(section, i+1, strings.Join(lines[i:end+1], "\n")))
			i = end
			continue
		}
		if isTableRow(lines, i) {
			flush()
			var b Block
			b, i = tableBlock(lines, i)
			b.Section = section
			out = append(out, b)
			continue
		}
		if strings.HasPrefix(l, "    ") || strings.HasPrefix(l, "\t") { // an indented block, or a nested list
			if t := strings.TrimSpace(l); t != "" && !strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "*") &&
				!strings.Contains(t, "`") && len(prose.Text) == 0 {
				out = append(out, Block{Section: section, Line: i + 1, Code: []string{l}})
				continue
			}
		}
		if len(prose.Text) == 0 {
			prose.Line, prose.Section = i+1, section
		}
		prose.Text = append(prose.Text, l)
	}
	flush()
	return out
}

// isTableRow: a line with bars, and dashes below or above it somewhere near.
func isTableRow(lines []string, i int) bool {
	if !tableRow.MatchString(lines[i]) && strings.Count(lines[i], "|") < 1 {
		return false
	}
	for j := i + 1; j < min(i+3, len(lines)); j++ {
		if strings.Contains(lines[j], "|") && dashes.MatchString(lines[j]) {
			return true
		}
	}
	return false
}

// tableBlock reads a table; blank lines between its rows are not its end.
func tableBlock(lines []string, i int) (Block, int) {
	b := Block{Line: i + 1}
	last := i
	for ; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		switch {
		case l == "" && i-last < 2:
			continue
		case !strings.Contains(l, "|"), last < i-1 && isTableRow(lines, i) && len(b.Rows) > 1 &&
			dashes.MatchString(strings.TrimSpace(lines[min(i+1, len(lines)-1)])):
			return b, last // the end, or the head of another table
		}
		last = i
		if !dashes.MatchString(l) {
			b.Rows = append(b.Rows, Row{i + 1, cellsOf(l)})
		}
	}
	return b, last
}

// cellsOf splits a row at its bars, but not those in code or after a backslash.
func cellsOf(l string) []string {
	l = strings.TrimSuffix(strings.TrimPrefix(l, "|"), "|")
	var out []string
	var b strings.Builder
	code := false
	for i := 0; i < len(l); i++ {
		switch {
		case l[i] == '`':
			code = !code
			b.WriteByte('`')
		case l[i] == '\\' && i+1 < len(l) && l[i+1] == '|':
			i++
			b.WriteByte('|')
		case l[i] == '|' && !code:
			out = append(out, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(l[i])
		}
	}
	return append(out, strings.TrimSpace(b.String()))
}

func htmlBlock(section string, line int, text string) Block {
	b := Block{Section: section, Line: line}
	for _, m := range htmlRow.FindAllStringSubmatchIndex(text, -1) {
		r := Row{Line: line + strings.Count(text[:m[0]], "\n")}
		for _, c := range htmlCell.FindAllStringSubmatch(text[m[2]:m[3]], -1) {
			r.Cells = append(r.Cells, Unescape(strings.TrimSpace(htmlTag.ReplaceAllString(c[1], " "))))
		}
		if len(r.Cells) > 0 {
			b.Rows = append(b.Rows, r)
		}
	}
	return b
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&#39;", "'", "&nbsp;", " ")

// Unescape returns a text with the characters that entities of HTML are.
func Unescape(s string) string { return entities.Replace(s) }

var (
	CodeSpan = regex.Lazy("``\\s*(.+?)\\s*``|`([^`]+)`")
)

// Spans returns the pieces of code in a line of text.
func Spans(l string) []string {
	var out []string
	for _, m := range CodeSpan.FindAllStringSubmatch(l, -1) {
		out = append(out, strings.TrimSpace(m[1]+m[2]))
	}
	return out
}

var marks = strings.NewReplacer("**", "", "`", "", "__", "")

// PlainText returns a text without its markup, in one line.
func PlainText(s string) string {
	s = htmlTag.ReplaceAllString(s, " ")
	s = marks.Replace(s)
	return strings.Join(strings.Fields(s), " ")
}

// LastLine returns the last line of a piece of text that says anything, or what was before it.
func (b *Block) LastLine(before string) string {
	if b.Code != nil || b.Rows != nil {
		return ""
	}
	for i := len(b.Text) - 1; i >= 0; i-- {
		if strings.TrimSpace(b.Text[i]) != "" {
			return b.Text[i]
		}
	}
	return before
}

// Cell returns a cell, "" where the row has none.
func (r *Row) Cell(i int) string {
	if i < 0 || i >= len(r.Cells) {
		return ""
	}
	return r.Cells[i]
}
