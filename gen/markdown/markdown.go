// Package markdown writes the documents that replace a team's wiki page about its
// keys: one in Markdown and one as a self-contained HTML page. Both are filled
// from the same model of a page, so that they say the same.
//
// It invents nothing: what is there is what the declaration says, and commands
// to look at a key without harm. Whatever is in the declaration is escaped
// for the place it gets to; no text can leave it.
//
// API: may change until 1.0.
package markdown

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/internal/layout"
	"github.com/keywright/keywright/keyspace"
)

//go:embed page.md.tmpl
var markdownText string

//go:embed page.html.tmpl
var htmlText string

var (
	markdownLayout = layout.New("page.md", markdownText, strings.Clone,
		map[string]layout.Func{"prose": layout.Of(prose), "cell": layout.Of(cell),
			"code": layout.Of(code), "fenced": layout.Of(fenced), "marker": marker})
	htmlLayout = layout.New("page.html", htmlText, layout.HTML,
		map[string]layout.Func{"marker": marker, "paragraphs": layout.Of(paragraphs),
			"lines": layout.Of(lines)})
)

// Generate writes keyspace.md and keyspace.html.
func Generate(ks *keyspace.Keyspace) ([]gen.File, error) {
	p := newPage(ks)
	var out []gen.File
	for _, page := range []struct {
		name   string
		layout *layout.Layout
		tidy   func([]byte) []byte
	}{{"keyspace.md", markdownLayout, tidy}, {"keyspace.html", htmlLayout, bytes.Clone}} {
		text, err := page.layout.Fill(p)
		if err != nil {
			return nil, fmt.Errorf("this cannot happen, please report it: %w", err)
		}
		out = append(out, gen.File{Name: page.name, Text: page.tidy([]byte(text))})
	}
	return out, nil
}

// marker returns the text that tells a generated page, in a comment.
func marker([]any) any { return layout.Raw(gen.Marker) }

func lines(all []string) string { return strings.Join(all, "\n") }

// tidy leaves one blank line where a template left several.
func tidy(b []byte) []byte {
	var out [][]byte
	fenced, blank := false, false
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("```")) {
			fenced = !fenced
		}
		empty := len(bytes.TrimSpace(line)) == 0
		if !fenced && empty && blank {
			continue
		}
		blank = empty
		out = append(out, line)
	}
	return append(bytes.TrimRight(bytes.Join(out, []byte("\n")), "\n"), '\n')
}

// visible replaces what would not be seen or would turn the text around.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfeff, r == 0x2028, r == 0x2029, r >= 0x202a && r <= 0x202e,
			r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// special lists the characters that mean something in Markdown somewhere. A
// backslash before any of them makes it itself
// (https://spec.commonmark.org/0.31.2/#backslash-escapes).
const special = "\\`*_{}[]()#+-.!|<>~&=:\"'/@$^"

// prose is free text as a paragraph: nothing in it is Markdown, and no line can
// begin a heading, a list or a fence.
func prose(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(visible(s)), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(escapeLine(strings.TrimSpace(line)))
	}
	return b.String()
}

// escapeLine escapes what could be syntax within a line, and at its beginning.
func escapeLine(line string) string {
	var b strings.Builder
	for i, r := range line {
		inner := strings.ContainsRune("\\`*_[]<>|~&$^", r)
		first := i == 0 && strings.ContainsRune(special, r)
		if inner || first || r == ':' && strings.HasPrefix(line[i:], "://") || r == '@' ||
			(r == '.' || r == ')') && numbered(line[:i]) || r == '=' || r == '#' || r == '!' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// numbered reports whether a text could be the number of a list item.
func numbered(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// cell is free text in a table, on one line.
func cell(s string) string { return strings.ReplaceAll(prose(s), "\n", " ") }

// code returns a code span. In a table a bar must be escaped even there, which shows
// as the bar alone (https://github.github.com/gfm/#example-200).
func code(s string) string {
	s = strings.NewReplacer("\n", " ", "\t", " ").Replace(visible(s))
	if s == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	pad := ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		pad = " "
	}
	return fence + pad + strings.ReplaceAll(s, "|", `\|`) + pad + fence
}

// fenced returns the lines of a fenced code block; the fence is longer than any run of
// backticks in it.
func fenced(lines []string) string {
	body := visible(strings.Join(lines, "\n"))
	fence := "```"
	for strings.Contains(body, fence) {
		fence += "`"
	}
	return fence + "sh\n" + body + "\n" + fence
}

func paragraphs(s string) []string {
	var out []string
	for p := range strings.SplitSeq(visible(s), "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}
