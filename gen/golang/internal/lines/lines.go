// Package lines breaks the lines of generated Go that are too long. It knows of Go only what it needs for that:
// brackets, texts and comments. It lays nothing out; gofmt does that afterwards.
package lines

import (
	"strings"
	"unicode/utf8"
)

// columns says how long a line may be before gofmt adds its blanks, so that few are above 120 after it.
const columns = 112

// Break breaks lines that are longer than columns: code after the comma that is inside the fewest brackets, comments
// between words. Go ends no statement after a comma, so the code means the same. Texts are never broken.
func Break(text string) string {
	var out strings.Builder
	out.Grow(len(text) + len(text)/32)
	raw := false // inside a text of several lines
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		from := raw
		raw = staysOpen(line, raw)
		if !from && !raw && utf8.RuneCountInString(line) > columns {
			line = shorter(line)
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.String()
}

// staysOpen reports whether a text of several lines is open after a line; raw: it is before it.
func staysOpen(line string, raw bool) bool {
	var quote byte
	if raw {
		quote = '`'
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`' || c == '\'':
			quote = c
		case c == '/' && strings.HasPrefix(line[i:], "//"):
			return false
		}
	}
	return quote == '`'
}

// shorter breaks one line.
func shorter(line string) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, "\t"))]
	if rest, ok := strings.CutPrefix(line[len(indent):], "// "); ok {
		return paragraph(rest, indent+"// ")
	}
	var out strings.Builder
	for first := true; ; first = false {
		at := lastComma(line, len(indent))
		if at < 0 {
			out.WriteString(line)
			return out.String()
		}
		out.WriteString(line[:at])
		out.WriteByte('\n')
		if first {
			indent += "\t"
		}
		line = indent + strings.TrimLeft(line[at:], " ")
	}
}

// lastComma returns the index after the last comma inside the fewest brackets, of those within columns; -1 if the line
// is short enough or has none.
func lastComma(line string, indent int) int {
	if utf8.RuneCountInString(line) <= columns {
		return -1
	}
	best, fewest, depth := -1, 0, 0
	var quote byte
	for i, n := 0, 0; i < len(line) && n < columns; i++ {
		c := line[i]
		if utf8.RuneStart(c) {
			n++
		}
		switch {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`' || c == '\'':
			quote = c
		case c == '/' && strings.HasPrefix(line[i:], "//"):
			return best
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && i > indent && i+1 < len(line) && (best < 0 || depth <= fewest):
			best, fewest = i+1, depth
		}
	}
	return best
}

// paragraph breaks the words of a comment into lines.
func paragraph(text, prefix string) string {
	var out strings.Builder
	out.WriteString(prefix)
	width := utf8.RuneCountInString(prefix)
	room := columns - width
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case n+1 > room && !strings.HasPrefix(word, "+"): // a line "// +build" would be a constraint
			out.WriteString("\n" + prefix)
			room = columns - width
		default:
			out.WriteByte(' ')
			room--
		}
		out.WriteString(word)
		room -= n
	}
	return out.String()
}
