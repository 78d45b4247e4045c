package terminal

import (
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/keywright/keywright/keyspace/finding"
)

// Column represents a column of a table, and how it gives way on a narrow screen.
type Column struct {
	Title string
	Right bool  // align to the right
	Least int   // it may be made this narrow; 0: it may not
	Wrap  bool  // made narrow it wraps at blanks; else it loses its middle
	Drop  int   // where making narrow is not enough, it is left out, 1 first; 0: never
	Style Style // of its cells
}

// gap says how many blanks are between two columns.
const gap = 2

// Table prints aligned columns with a header; East Asian text is as wide as it
// looks. Only a screen that is too narrow makes it leave something out.
func Table(s *Screen, columns []Column, rows [][]string) error {
	rows = printable(rows, len(columns))
	columns, rows, widths := fit(s.Width, columns, rows)
	t := table.NewWriter()
	t.SetStyle(plainStyle())
	t.AppendHeader(header(s, columns))
	for _, r := range rows {
		t.AppendRow(row(s, columns, widths, r))
	}
	t.SetColumnConfigs(configs(columns))
	for i, line := range strings.Split(t.Render(), "\n") {
		if i == 1 { // the line under the header is as wide as the rows under it
			line = strings.TrimSuffix(line, strings.Repeat("─", gap))
		}
		if _, err := io.WriteString(s, strings.TrimRight(line, " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// plainStyle returns a style with a line under the header and nothing else. A character of
// ambiguous width is narrow, also where the locale is East Asian: the terminals
// of today draw it so.
func plainStyle() table.Style {
	text.OverrideRuneWidthEastAsianWidth(false)
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	style.Format.Header = text.FormatDefault
	return style
}

func header(s *Screen, columns []Column) table.Row {
	var out table.Row
	for _, c := range columns {
		out = append(out, s.Paint(Bold, c.Title))
	}
	return out
}

func row(s *Screen, columns []Column, widths []int, cells []string) table.Row {
	var out table.Row
	for i, c := range columns {
		lines := []string{cells[i]}
		switch {
		case finding.Width(cells[i]) <= widths[i]:
		case c.Wrap:
			lines = Wrap(cells[i], widths[i])
		default:
			lines[0] = Shorten(cells[i], widths[i])
		}
		for j := range lines {
			lines[j] = s.Paint(c.Style, lines[j])
		}
		out = append(out, strings.Join(lines, "\n"))
	}
	return out
}

func configs(columns []Column) []table.ColumnConfig {
	var out []table.ColumnConfig
	for i, c := range columns {
		if c.Right {
			out = append(out, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	return out
}

// printable makes cells harmless, and every row as long as the header.
func printable(rows [][]string, n int) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = make([]string, n)
		for j, cell := range r {
			out[i][j] = finding.Printable(cell)
		}
	}
	return out
}

// fit decides how wide each column is on a screen of limit columns, and which
// columns have no place.
func fit(limit int, columns []Column, rows [][]string) ([]Column, [][]string, []int) {
	for {
		widths := natural(columns, rows)
		for i, c := range columns { // also where there is no limit: a key may have 512 MiB
			if c.Least > 0 && !c.Wrap {
				widths[i] = min(widths[i], max(widest, finding.Width(c.Title)))
			}
		}
		if limit == 0 || shrink(limit, columns, widths) {
			return columns, rows, widths
		}
		next := -1
		for i, c := range columns {
			if c.Drop > 0 && (next < 0 || c.Drop < columns[next].Drop) {
				next = i
			}
		}
		if next < 0 {
			return columns, rows, widths
		}
		columns = slices.Delete(slices.Clone(columns), next, next+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], next, next+1)
		}
	}
}

// widest is the most that a cell shows which may be made narrower.
const widest = 120

func natural(columns []Column, rows [][]string) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = finding.Width(c.Title)
		for _, r := range rows {
			widths[i] = max(widths[i], finding.Width(r[i]))
		}
	}
	return widths
}

// shrink takes from the column with the most to give until all fit.
func shrink(limit int, columns []Column, widths []int) bool {
	over := gap*(len(widths)-1) - limit
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		most := -1
		for i, c := range columns {
			if c.Least > 0 && widths[i] > max(c.Least, finding.Width(c.Title)) &&
				(most < 0 || widths[i]-c.Least > widths[most]-columns[most].Least) {
				most = i
			}
		}
		if most < 0 {
			return false
		}
		widths[most]--
	}
	return true
}

// Shorten cuts a long text in the middle; its ends tell most.
func Shorten(s string, width int) string {
	if finding.Width(s) <= width {
		return s
	}
	left, right := (width-1)/2, width-1-(width-1)/2
	r := []rune(s)
	i, j := 0, len(r)
	for i < j && finding.Width(string(r[i])) <= left {
		left -= finding.Width(string(r[i]))
		i++
	}
	for i < j && finding.Width(string(r[j-1])) <= right {
		right -= finding.Width(string(r[j-1]))
		j--
	}
	return string(r[:i]) + "…" + string(r[j:])
}

// Wrap breaks text into lines of at most width, at blanks only.
func Wrap(text string, width int) []string {
	var lines []string
	used := 0
	for _, word := range strings.Fields(text) {
		n := finding.Width(word)
		if len(lines) == 0 || used+1+n > width {
			lines, used = append(lines, word), n
			continue
		}
		lines[len(lines)-1] += " " + word
		used += 1 + n
	}
	return lines
}

// Pad makes a text at least so wide on a screen.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-finding.Width(s), 0))
}
