package format

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"
)

// edit replaces bytes of one line.
type edit struct {
	line, from, to int
	with           string
}

// apply makes edits of a text, if they change nothing of what it means.
func apply(text string, before *yaml.Node, edits []edit) string {
	if len(edits) == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.line-b.line, a.from-b.from) })
	for i := 0; i < len(edits); {
		var b strings.Builder
		n, at, line := edits[i].line, 0, lines[edits[i].line]
		for ; i < len(edits) && edits[i].line == n; i++ {
			b.WriteString(line[at:edits[i].from])
			b.WriteString(edits[i].with)
			at = edits[i].to
		}
		lines[n] = b.String() + line[at:]
	}
	out := strings.Join(lines, "\n")
	if after, err := parseYAML(out); err != nil || !same(before, after) {
		return text
	}
	return out
}

// flows returns the edits that give mappings and lists on one line one form: no blank
// inside of the brackets, one after a comma and a colon, none before a comma.
func flows(text string, n *yaml.Node) []edit {
	var out []edit
	lines, places := strings.Split(text, "\n"), places{}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		flow := n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode
		if flow && n.Style&yaml.FlowStyle != 0 {
			line := lines[n.Line-1]
			if from := places.of(line, n); from < len(line) && (line[from] == '{' || line[from] == '[') {
				if to, with, ok := oneFlow(line[from:]); ok && with != line[from:from+to] {
					out = append(out, edit{n.Line - 1, from, from + to, with})
				}
				return // what is in it was taken along
			}
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(n)
	return out
}

// oneFlow returns the form of the mapping or list that text begins with, and its length;
// false if it does not end on the line.
func oneFlow(text string) (size int, with string, ok bool) {
	var b []byte
	depth := 0
	blanks := func(i int) int {
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		return i
	}
	for i := 0; i < len(text); {
		c := text[i]
		switch c {
		case '\'', '"':
			if !begins(b) { // a quote inside of a word
				break
			}
			end := quotedEnd(text[i:])
			if end == 0 {
				return 0, "", false
			}
			b = append(b, text[i:i+end]...)
			i += end
			continue
		case '#':
			if i > 0 && text[i-1] == ' ' {
				return 0, "", false
			}
		case '{', '[':
			depth++
			b = append(b, c)
			i = blanks(i + 1)
			continue
		case '}', ']', ',':
			b = append(bytes.TrimRight(b, " \t"), c)
			if c != ',' {
				if depth--; depth == 0 {
					return i + 1, string(b), true
				}
				i++
				continue
			}
			if i = blanks(i + 1); i < len(text) && text[i] != '}' && text[i] != ']' {
				b = append(b, ' ')
			}
			continue
		case ':':
			if next := blanks(i + 1); next > i+1 {
				b = append(b, ": "...)
				i = next
				continue
			}
		}
		b = append(b, c)
		i++
	}
	return 0, "", false
}

// begins says whether a scalar may begin after the text.
func begins(text []byte) bool {
	text = bytes.TrimRight(text, " ")
	return len(text) == 0 || bytes.IndexByte([]byte("{[,:"), text[len(text)-1]) >= 0
}

// quotedEnd returns the length of the quoted scalar that text begins with, 0 if it does not
// end on the line.
func quotedEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[0] == '"' && text[i] == '\\':
			i++
		case text[i] != text[0]:
		case text[0] == '\'' && i+1 < len(text) && text[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// word is what needs no quotes anywhere; notWords are those that other versions of
// YAML take for something else.
var (
	word     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	notWords = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)

// quotes returns the edits that give scalars one form: a word needs no quotes, and what
// needs some has double ones, but where these would need escapes.
func quotes(text string, n *yaml.Node) []edit {
	var out []edit
	lines, places := strings.Split(text, "\n"), places{}
	var walk func(n *yaml.Node, listed bool)
	walk = func(n *yaml.Node, listed bool) {
		if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 &&
			n.Style&yaml.TaggedStyle == 0 && n.Anchor == "" {
			line := lines[n.Line-1]
			from := places.of(line, n)
			if from < len(line) && (line[from] == '\'' || line[from] == '"') {
				if size := quotedEnd(line[from:]); size > 0 {
					if with := requoted(line[from:from+size], n.Value, listed); with != line[from:from+size] {
						out = append(out, edit{n.Line - 1, from, from + size, with})
					}
				}
			}
		}
		for _, c := range n.Content {
			walk(c, n.Kind == yaml.SequenceNode)
		}
	}
	walk(n, false)
	return out
}

// requoted returns a quoted scalar in its form. A word of a list keeps its quotes, as its
// neighbours may need some.
func requoted(text, value string, listed bool) string {
	switch {
	case !listed && word.MatchString(value) && !notWords.MatchString(value):
		return value
	case text[0] == '\'' && !strings.ContainsAny(value, "\\\"\t"):
		return `"` + value + `"`
	}
	return text
}

// tidied returns the text with flows and scalars in one form.
func tidied(text string, doc *yaml.Node) (string, *yaml.Node) {
	for _, edits := range []func(string, *yaml.Node) []edit{flows, quotes} {
		out := apply(text, doc, edits(text, doc))
		if out == text {
			continue
		}
		after, err := parseYAML(out)
		if err != nil {
			return text, doc
		}
		text, doc = out, after
	}
	return text, doc
}
