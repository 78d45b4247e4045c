package markdown_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/page/internal/markdown"
)

// written writes the blocks of a page: the line, the section, and what each has.
func written(text string) []string {
	var out []string
	for _, b := range markdown.Blocks(text) {
		line := fmt.Sprintf("%d[%s] ", b.Line, b.Section)
		switch {
		case b.Rows != nil:
			for _, r := range b.Rows {
				line += fmt.Sprintf("%d:%s;", r.Line, strings.Join(r.Cells, "|"))
			}
		case b.Code != nil:
			line += b.Lang + "`" + strings.Join(b.Code, "/") + "`"
		case b.Title:
			line += "#" + strings.Join(b.Text, "/")
		default:
			line += strings.Join(b.Text, "/")
		}
		out = append(out, line)
	}
	return out
}

// TestBlocks: a page is cut into headings, code, tables and text, each with its first line and the heading above it;
// a piece that does not end goes to the end of the page.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{"1[] "}}, {"a\nb", []string{"1[] a/b"}}, {"a\r\nb\r\n", []string{"1[] a/b/"}},
		{"# A **b** `c` #\nd\n####### e", []string{"1[A b c] #A **b** `c`", "2[A b c] d/####### e"}},
		{"#a", []string{"1[] #a"}},
		{"   ## a", []string{"1[a] #a"}}, {"a\n```Go\nb\n\nc\n```\nd", []string{"1[] a", "3[] go`b//c`", "7[] d"}},
		{"```\na", []string{"2[] `a`"}}, {"~~~\na\n```\n~~~\nb", []string{"2[] `a/````", "5[] b"}},
		{"- ```js\n  a\n  ```", []string{"2[] js`  a`"}},
		{"````\n```\n````\na", []string{"2[] `````", "4[] a"}},
		{"    a: b", []string{"1[] `    a: b`"}}, {"\ta", []string{"1[] `\ta`"}}, {"    - a", []string{"1[]     - a"}},
		{"    `a`", []string{"1[]     `a`"}},
		{"x\n    a", []string{"1[] x/    a"}}, {"    ", []string{"1[]     "}},
		{"| a | b |\n|---|---|\n| 1 | 2 |\nx", []string{"1[] 1:a|b;3:1|2;", "4[] x"}},
		{"a | b\n--|--\n1 | 2", []string{"1[] 1:a|b;3:1|2;"}},
		{"| a |\n|---|\n\n| 1 |\n\n\n| 2 |", []string{"1[] 1:a;4:1;", "5[] //| 2 |"}},
		{"| a |\n|---|\n| 1 |\n\n| b |\n|---|\n| 2 |", []string{"1[] 1:a;3:1;", "4[] ", "5[] 5:b;7:2;"}},
		{"| a |", []string{"1[] | a |"}}, {"a | b\n\nc", []string{"1[] a | b//c"}}, {"|---|\n|---|", []string{"1[] "}},
		{"<table>\n<tr><th>A</th>\n<th>B</th></tr>\n<TR><td class=x>&lt;1&gt;</td><td><b>2</b></td></TR>\n</table>\nx",
			[]string{"1[] 2:A|B;4:<1>|2;", "6[] x"}},
		{"<table>\n<tr><td>1</td></tr>", []string{"1[] 2:1;"}}, {"<table>", []string{"1[] "}},
	} {
		if got := written(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q:\n%q, and not\n%q", c.text, got, c.want)
		}
	}
}

// TestCells: bars part the cells of a row, but not those in code or after a backslash.
func TestCells(t *testing.T) {
	for row, want := range map[string]string{
		"| a | b |": "a;b", "a | b": "a;b", "| a || b |": "a;;b", "| `a|b` | c |": "`a|b`;c", `| a \| b | c |`: "a | b;c",
		`| a \\ b |`: `a \\ b`,
		"| `a | b |": "`a | b", "||": "", "|a|\\": "a;\\",
	} {
		blocks := markdown.Blocks("| x | y |\n|---|---|\n" + row)
		rows := blocks[0].Rows
		if got := strings.Join(rows[len(rows)-1].Cells, ";"); got != want {
			t.Errorf("%q: %q, and not %q", row, got, want)
		}
	}
	r := markdown.Row{Cells: []string{"a", "b"}}
	if r.Cell(-1) != "" || r.Cell(0) != "a" || r.Cell(1) != "b" || r.Cell(2) != "" {
		t.Error("a cell that a row does not have")
	}
}

// TestSpans: the pieces of code in a line, also between two marks; one that does not end is none.
func TestSpans(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "", "`a`": "a", "a `b` c ` d ` e": "b;d", "``a`b``": "a`b", "`` ` ``": "`", "`a": "", "``": "",
		"`a``b`": "a;b", "`\xff`": "\xff",
	} {
		if got := strings.Join(markdown.Spans(text), ";"); got != want {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
	}
}

// TestPlainText: a text without its markup, in one line; what is no tag of HTML stays, such as a placeholder.
func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  a \n\t b ": "a b", "**a** `b` __c__ *d* _e_": "a b c *d* _e_", "<b>a</b><br/>c": "a c",
		"a:<id>:b": "a:<id>:b", "<Span class='x'>a": "a",
		"\xffa": "\xffa",
	} {
		if got := markdown.PlainText(text); got != want {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
	}
	if got := markdown.Unescape("&lt;a&gt; &amp;lt; &quot;&#39;&nbsp;&x;"); got != `<a> &lt; "' &x;` {
		t.Errorf("%q", got)
	}
}

// TestLastLine: the last line of a text that says something; a table or code has none, and an empty text has that
// before.
func TestLastLine(t *testing.T) {
	for _, c := range []struct {
		block markdown.Block
		want  string
	}{
		{markdown.Block{}, "before"}, {markdown.Block{Text: []string{"a", "b", " "}}, "b"},
		{markdown.Block{Text: []string{"", " "}}, "before"},
		{markdown.Block{Code: []string{"a"}}, ""}, {markdown.Block{Rows: []markdown.Row{{}}}, ""},
	} {
		if got := c.block.LastLine("before"); got != c.want {
			t.Errorf("%+v: %q, and not %q", c.block, got, c.want)
		}
	}
}

// TestLinesOfBlocks: each line of a page is in at most one block, at its place, whatever the page is.
func TestLinesOfBlocks(t *testing.T) {
	pieces := []string{"a", "", "# h", "```", "| a | b |", "|---|---|", "    x", "- y", "<table>",
		"<tr><td>1</td></tr>", "</table>", "~~~"}
	for n := range 20_000 {
		var lines []string
		for k := n + 1; k > 0; k /= len(pieces) {
			lines = append(lines, pieces[k%len(pieces)])
		}
		last := 0
		for _, b := range markdown.Blocks(strings.Join(lines, "\n")) {
			at := b.Line
			for _, l := range slices.Concat(b.Text, b.Code) {
				if at <= last || at > len(lines) || !strings.Contains(lines[at-1], l) {
					t.Fatalf("%q: %q is not in line %d", lines, l, at)
				}
				last, at = at, at+1
			}
			for _, r := range b.Rows {
				if r.Line <= last || r.Line > len(lines) {
					t.Fatalf("%q: a row in line %d", lines, r.Line)
				}
				last = r.Line
			}
		}
	}
}
