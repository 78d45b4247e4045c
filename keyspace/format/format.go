// Package format lays a declaration out in the canonical way: two spaces of
// indentation per level, one space after a colon, no trailing blanks, at most
// one empty line in a row, LF line ends and one at the end of the file.
//
// Mappings and lists on one line have no blanks inside of their brackets, words no
// quotes, and other quoted texts double ones.
//
// It edits lines by the positions of the YAML nodes instead of printing a tree
// again, so comments, empty lines and the order of things stay as their author wrote
// them. What a file means never changes: the result is parsed
// again and compared, and an edit that would change anything is not made.
//
// API: may change until 1.0.
package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// Format returns the canonical layout of src. It fails for text that is not one
// YAML document.
func Format(src []byte) ([]byte, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), "\r\n", "\n")
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	if i := strings.IndexAny(text, invisible); i >= 0 {
		c, _ := utf8.DecodeRuneInString(text[i:])
		return nil, fmt.Errorf(
			"the text holds the character %U, which some programs take for a line end or skip; remove it", c)
	}
	before, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	text, before = tidied(text, before)
	lines := strings.Split(text, "\n")
	l := layout{lines: lines, scalar: make([]bool, len(lines)), depth: map[int]int{}}
	l.walk(before, 0, false)
	for _, out := range []string{l.render(true), l.render(false), text} {
		if after, err := parseYAML(out); err == nil && same(before, after) {
			return []byte(out), nil
		}
	}
	return nil, errors.New("this cannot happen, please report it: the text does not parse like itself")
}

// invisible characters make it unsure where a line ends; the loader refuses them
// too.
const invisible = "\r\u0085\u2028\u2029\ufeff"

func parseYAML(text string) (node *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML parser failed: %v", p)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	var doc, more yaml.Node
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one document in the file")
	}
	return &doc, nil
}

// same compares what two trees mean, and that no comment was lost: to which node
// the parser hands a comment depends on empty lines, so they are compared all
// together.
func same(a, b *yaml.Node) bool {
	return equal(a, b) && slices.Equal(comments(a), comments(b))
}

func equal(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.Tag == b.Tag && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, equal)
}

// comments returns the words of all comments, sorted.
func comments(n *yaml.Node) []string {
	var out []string
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		out = append(out, strings.Fields(n.HeadComment+"\n"+n.LineComment+"\n"+n.FootComment)...)
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(n)
	slices.Sort(out)
	return out
}

// layout describes what is known of the lines of a file.
type layout struct {
	lines  []string
	scalar []bool      // inside a block scalar: blanks mean something
	depth  map[int]int // line → depth of the block mapping whose key begins there
	gaps   []gap
	places places
}

// gap represents the blank between a key and its value on one line.
type gap struct {
	line, from, to int // bytes
}

// walk notes where the keys of block mappings stand. Inside a sequence depths
// are left alone: its lines move with the key above them.
func (l *layout) walk(n *yaml.Node, depth int, inSequence bool) {
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			l.walk(c, depth, inSequence)
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			l.walk(c, depth, true)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			flow := n.Style&yaml.FlowStyle != 0
			if !flow && !inSequence {
				l.depth[k.Line-1] = depth
			}
			if !flow {
				l.gap(k, v)
			}
			l.walk(v, depth+1, inSequence || flow)
		}
	case yaml.ScalarNode:
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			l.block(n)
		}
	}
}

// block marks the lines of a block scalar.
func (l *layout) block(n *yaml.Node) {
	header := indent(l.lines[n.Line-1])
	for i := n.Line; i < len(l.lines); i++ {
		if strings.TrimSpace(l.lines[i]) != "" && indent(l.lines[i]) <= header {
			return
		}
		l.scalar[i] = true
	}
}

// gap notes a wide blank between a key and its value.
func (l *layout) gap(k, v *yaml.Node) {
	if k.Line != v.Line || v.Kind == yaml.AliasNode || v.Value == "" && v.Kind == yaml.ScalarNode && v.Style == 0 ||
		v.Anchor != "" || v.Style&yaml.TaggedStyle != 0 {
		return
	}
	line := l.lines[k.Line-1]
	to := l.places.of(line, v)
	from := to
	for from > 0 && line[from-1] == ' ' {
		from--
	}
	if from > 0 && line[from-1] == ':' && to-from > 1 {
		l.gaps = append(l.gaps, gap{k.Line - 1, from, to})
	}
}

// places finds the byte that a node begins at, in a line that is asked from left to right: of a long line
// with many nodes each character is looked at once.
type places struct{ line, column, at int }

// of returns the byte offset of a node in its line.
func (p *places) of(line string, n *yaml.Node) int {
	if n.Line != p.line || n.Column-1 < p.column {
		*p = places{line: n.Line}
	}
	for ; p.column < n.Column-1 && p.at < len(line); p.column++ {
		_, size := utf8.DecodeRuneInString(line[p.at:])
		p.at += size
	}
	return p.at
}

// render writes the lines again, with or without touching the indentation.
func (l *layout) render(reindent bool) string {
	lines := append([]string(nil), l.lines...)
	for _, g := range slices.Backward(l.gaps) { // of two on one line the right one first
		lines[g.line] = lines[g.line][:g.from] + " " + lines[g.line][g.to:]
	}
	shift := 0
	below := l.below(lines)
	var out []string
	for i, line := range lines {
		if depth, ok := l.depth[i]; ok {
			shift = 2*depth - indent(line)
		}
		if reindent {
			line = move(line, l.shiftOf(line, i, shift, below[i]))
		}
		if !l.scalar[i] {
			line = strings.TrimRight(line, " \t")
		}
		if line == "" && !l.scalar[i] && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, line)
	}
	for len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
		out = out[:len(out)-1]
	}
	return strings.Join(out, "\n") + "\n"
}

// What is below a comment, if it is not a key of some depth.
const (
	nothing = -1 - iota
	something
)

// below returns for each line the depth of the key that is next below it, after empty lines and comments
// only; else nothing or something.
func (l *layout) below(lines []string) []int {
	out, next := make([]int, len(lines)), nothing
	for i := len(lines) - 1; i >= 0; i-- {
		out[i] = next
		if depth, ok := l.depth[i]; ok {
			next = depth
		} else if text := strings.TrimSpace(lines[i]); text != "" && !strings.HasPrefix(text, "#") {
			next = something
		}
	}
	return out
}

// shiftOf: a comment moves with the key below it, everything else with the key
// above.
func (l *layout) shiftOf(line string, i, above, below int) int {
	switch {
	case l.scalar[i] || below == something || !strings.HasPrefix(strings.TrimSpace(line), "#"):
		return above
	case below == nothing:
		return -indent(line)
	}
	return 2*below - indent(line)
}

func move(line string, by int) string {
	switch {
	case strings.TrimSpace(line) == "" || by == 0:
		return line
	case by > 0:
		return strings.Repeat(" ", by) + line
	}
	return line[min(-by, indent(line)):]
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
