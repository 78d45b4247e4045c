package finding

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxExcerpt says how many characters of a line are quoted: those around the fault.
const maxExcerpt = 160

// lines represents a file as lines, taken apart once.
type lines struct {
	text   []byte
	starts []int
}

func (o *Options) linesOf(file string) *lines {
	if l, known := o.lines[file]; known {
		return l
	}
	l := &lines{text: o.Source(file)}
	for at := 0; at < len(l.text); {
		l.starts = append(l.starts, at)
		n := bytes.IndexByte(l.text[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	o.lines[file] = l
	return l
}

// line returns a line by its number, from 1.
func (l *lines) line(n int) (string, bool) {
	if n > len(l.starts) {
		return "", false
	}
	line, _, _ := bytes.Cut(l.text[l.starts[n-1]:], []byte("\n"))
	return strings.TrimPrefix(strings.TrimRight(string(line), "\r"), "\ufeff"), true
}

// excerpt prints the line of a position with a caret under the faulty part,
// which is right under wide characters and tabs too. Of a long line it prints
// what is around the fault.
func excerpt(out *bytes.Buffer, p Position, o Options, colour string, c palette) {
	if o.Source == nil || p.Line < 1 {
		return
	}
	line, ok := o.linesOf(p.File).line(p.Line)
	if !ok {
		return
	}
	gutter := strconv.Itoa(p.Line)
	line, from, to := around(line, max(p.Column-1, 0), p.EndColumn-1)
	before, marked := divideLine(line, from, to)
	fmt.Fprintf(out, "  %s | %s\n", gutter, visible(line))
	carets := strings.Repeat("^", max(1, Width(marked)))
	blank, under := strings.Repeat(" ", len(gutter)), strings.Repeat(" ", Width(before))
	fmt.Fprintf(out, "  %s | %s%s%s%s\n", blank, under, colour, carets, c.reset)
}

// around returns the part of a line that is quoted, and the columns in it.
func around(line string, from, to int) (string, int, int) {
	if utf8.RuneCountInString(line) <= maxExcerpt {
		return line, from, to
	}
	runes := []rune(line)
	from = min(from, len(runes))
	first := max(0, min(from-maxExcerpt/4, len(runes)-maxExcerpt))
	last := min(first+maxExcerpt, len(runes))
	out := string(runes[first:last])
	from, to = from-first, min(max(to, from)-first, last-first)
	if first > 0 {
		out, from, to = "…"+out, from+1, to+1
	}
	if last < len(runes) {
		out += "…"
	}
	return out, from, to
}

// divideLine divides a line at character columns.
func divideLine(line string, from, to int) (before, marked string) {
	runes := []rune(visible(line))
	from = min(max(from, 0), len(runes))
	to = min(max(to, from), len(runes))
	return string(runes[:from]), string(runes[from:to])
}
