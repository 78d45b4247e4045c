package page

import (
	"strings"
)

// block represents a piece of a page: a table, a code block, or lines of text.
type block struct {
	title   bool // a heading alone
	section string
	line    int // of its first line
	lang    string
	code    []string
	rows    []row
	text    []string
}

type row struct {
	line  int
	cells []string
}

var (
	heading   = lazy(`^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	fence     = lazy("^\\s*(?:[-*>]\\s+)?(```+|~~~+)\\s*([\\w+#.-]*)")
	tableRow  = lazy(`^\s*\|.*\|?\s*$`)
	dashes    = lazy(`^[\s|:+=-]*-[\s|:+=-]*$`)
	htmlRow   = lazy(`(?is)<tr[^>]*>(.*?)</tr>`)
	htmlCell  = lazy(`(?is)<t[dh][^>]*>(.*?)</t[dh]>`)
	htmlTag   = lazy(`(?i)</?(?:code|b|i|em|strong|p|br|span|a|tt|pre|td|th|tr|table|div)\b[^>]*>`)
	htmlTable = lazy(`(?i)<table|<tr`)
)

// blocks takes a page apart.
func blocks(text string) []block {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var out []block
	section := ""
	prose := block{}
	flush := func() {
		if len(prose.text) > 0 {
			out = append(out, prose)
		}
		prose = block{}
	}
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if m := heading.FindStringSubmatch(l); m != nil {
			flush()
			section = plainText(m[1])
			out = append(out, block{section: section, line: i + 1, text: []string{m[1]}, title: true})
			continue
		}
		if m := fence.FindStringSubmatch(l); m != nil {
			flush()
			end := i + 1
			for end < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[end]), m[1]) {
				end++
			}
			out = append(out, block{section: section, line: i + 2, lang: strings.ToLower(m[2]), code: lines[i+1 : min(end,
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
			var b block
			b, i = tableBlock(lines, i)
			b.section = section
			out = append(out, b)
			continue
		}
		if strings.HasPrefix(l, "    ") || strings.HasPrefix(l, "\t") { // an indented block, or a nested list
			if t := strings.TrimSpace(l); t != "" && !strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "*") &&
				!strings.Contains(t, "`") && len(prose.text) == 0 {
				out = append(out, block{section: section, line: i + 1, code: []string{l}})
				continue
			}
		}
		if len(prose.text) == 0 {
			prose.line, prose.section = i+1, section
		}
		prose.text = append(prose.text, l)
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
func tableBlock(lines []string, i int) (block, int) {
	b := block{line: i + 1}
	last := i
	for ; i < len(lines); i++ {
		l := strings.TrimSpace(lines[i])
		switch {
		case l == "" && i-last < 2:
			continue
		case !strings.Contains(l, "|"), last < i-1 && isTableRow(lines, i) && len(b.rows) > 1 &&
			dashes.MatchString(strings.TrimSpace(lines[min(i+1, len(lines)-1)])):
			return b, last // the end, or the head of another table
		}
		last = i
		if !dashes.MatchString(l) {
			b.rows = append(b.rows, row{i + 1, cellsOf(l)})
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

func htmlBlock(section string, line int, text string) block {
	b := block{section: section, line: line}
	for _, m := range htmlRow.FindAllStringSubmatchIndex(text, -1) {
		r := row{line: line + strings.Count(text[:m[0]], "\n")}
		for _, c := range htmlCell.FindAllStringSubmatch(text[m[2]:m[3]], -1) {
			r.cells = append(r.cells, unescape(strings.TrimSpace(htmlTag.ReplaceAllString(c[1], " "))))
		}
		if len(r.cells) > 0 {
			b.rows = append(b.rows, r)
		}
	}
	return b
}

var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&#39;", "'", "&nbsp;", " ")

func unescape(s string) string { return entities.Replace(s) }

var (
	codeSpan = lazy("``\\s*(.+?)\\s*``|`([^`]+)`")
)

// spans returns the pieces of code in a line of text.
func spans(l string) []string {
	var out []string
	for _, m := range codeSpan.FindAllStringSubmatch(l, -1) {
		out = append(out, strings.TrimSpace(m[1]+m[2]))
	}
	return out
}

var marks = strings.NewReplacer("**", "", "`", "", "__", "")

// plainText returns a text without its markup, in one line.
func plainText(s string) string {
	s = htmlTag.ReplaceAllString(s, " ")
	s = marks.Replace(s)
	return strings.Join(strings.Fields(s), " ")
}

// lastLine returns the last line of a piece of text that says anything, or what was before it.
func (b *block) lastLine(before string) string {
	if b.code != nil || b.rows != nil {
		return ""
	}
	for i := len(b.text) - 1; i >= 0; i-- {
		if strings.TrimSpace(b.text[i]) != "" {
			return b.text[i]
		}
	}
	return before
}

// cell returns a cell, "" where the row has none.
func (r *row) cell(i int) string {
	if i < 0 || i >= len(r.cells) {
		return ""
	}
	return r.cells[i]
}
