package node

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace"
	yaml "go.yaml.in/yaml/v4"
)

// At returns the position of a node. A scalar whose text is on one line also has
// an end; the quotes belong to it.
func (r *Reader) At(n *yaml.Node) keyspace.Pos {
	p := keyspace.Pos{File: r.File, Line: n.Line, Column: n.Column}
	if n.Kind != yaml.ScalarNode {
		return p
	}
	if end, ok := r.column(n, len(n.Value)); ok && end+quotes(n) > p.Column {
		p.EndColumn = end + quotes(n)
	}
	return p
}

// Within returns the position of some bytes of a scalar's value, at least one
// character wide. Where the value is spread over several lines it is the place
// of the whole scalar.
func (r *Reader) Within(n *yaml.Node, offset, length int) keyspace.Pos {
	from, ok := r.column(n, offset)
	if !ok {
		return r.inBlock(n, offset, length)
	}
	to, _ := r.column(n, min(offset+length, len(n.Value)))
	return keyspace.Pos{File: r.File, Line: n.Line, Column: from, EndColumn: max(to, from+1)}
}

// inBlock returns within for a block scalar (`>-`, `|`) of one line.
func (r *Reader) inBlock(n *yaml.Node, offset, length int) keyspace.Pos {
	line := r.line(n.Line + 1)
	value := strings.TrimRight(n.Value, "\n")
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 || strings.TrimSpace(line) != value ||
		offset+length > len(value) {
		return r.At(n)
	}
	column := 1 + strings.Index(line, value) + utf8.RuneCountInString(value[:offset])
	return keyspace.Pos{File: r.File, Line: n.Line + 1, Column: column,
		EndColumn: column + max(1, utf8.RuneCountInString(value[offset:offset+length]))}
}

// maxLine bounds the lines in which ends of values are looked for: no one looks
// at a caret in a longer one.
const maxLine = 4096

// column returns where the byte at offset of a scalar's value is in the file. It
// reads the source beside the value, escapes included, and gives up (false)
// where they part: a block scalar, a value over several lines, a tag.
func (r *Reader) column(n *yaml.Node, offset int) (int, bool) {
	source := r.line(n.Line)
	if len(source) > maxLine {
		return 0, false
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(source)
		source = source[size:]
	}
	column := n.Column + quotes(n)
	if column > n.Column && source != "" {
		source = source[1:]
	}
	for rest := n.Value; len(n.Value)-len(rest) < offset; column++ {
		text, size := unquote(source, n.Style)
		if size == 0 || !strings.HasPrefix(rest, text) {
			return 0, false
		}
		column += utf8.RuneCountInString(source[:size]) - 1
		rest, source = rest[len(text):], source[size:]
	}
	return column, true
}

// escapes are the double-quoted escapes of one letter that stand for one
// character, and the lengths of those with hexadecimal digits.
var (
	escapes = map[byte]string{'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f",
		'r': "\r", 'e': "\x1b", ' ': " ", '"': `"`, '/': "/", '\\': `\`, 'N': "\u0085", '_': "\u00a0", 'L': "\u2028",
		'P': "\u2029"}
	hexLength = map[byte]int{'x': 2, 'u': 4, 'U': 8}
)

// unquote reads one character of a scalar's source: the text that it means and
// the bytes it takes, 0 at the end of the line.
func unquote(source string, style yaml.Style) (text string, size int) {
	switch {
	case style&yaml.SingleQuotedStyle != 0 && strings.HasPrefix(source, "''"):
		return "'", 2
	case style&yaml.DoubleQuotedStyle != 0 && len(source) > 1 && source[0] == '\\':
		n := hexLength[source[1]]
		if n == 0 || len(source) < 2+n {
			return escapes[source[1]], 2
		}
		code, err := strconv.ParseUint(source[2:2+n], 16, 32)
		if err != nil {
			return "", 0
		}
		return string(rune(code)), 2 + n
	}
	_, size = utf8.DecodeRuneInString(source)
	return source[:size], size
}

func quotes(n *yaml.Node) int {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return 1
	}
	return 0
}

// line returns the text of a line, "" if there is none.
func (r *Reader) line(n int) string {
	if n < 1 || n > len(r.Lines) {
		return ""
	}
	return r.Lines[n-1]
}
