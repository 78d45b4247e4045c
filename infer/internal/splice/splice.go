// Package splice adds lines to the sections of a declaration. What is there stays as it is, byte by byte, and YAML
// reads it as before. It knows no keys: the lines are made by package infer.
package splice

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/finding"
	yaml "go.yaml.in/yaml/v4"
)

// ErrFlow reports a declaration that cannot be added to: all of it, or its keys, are written
// in braces, or the name of a section is in quotes.
var ErrFlow = errors.New(
	"a section is written in braces ({…}), or its name in quotes; write it as a block, one entry " +
		"below the other, so that entries can be added")

// ErrPlaces reports a declaration in which no places for entries were found that leave what is
// there as it is.
var ErrPlaces = errors.New(
	"entries cannot be added without a change of others; indent the lines of texts that go over " +
		"several, so that none begins like a section or a comment")

// sectionLines names the section that begins at each line, "" where none does. Only YAML
// tells: a comment, or a text of several lines, may look like one.
func sectionLines(lines []string) ([]string, error) {
	out := make([]string, len(lines))
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(strings.Join(lines, "\n")), &doc); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrPlaces, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return out, nil
	}
	root := doc.Content[0]
	if root.Style&yaml.FlowStyle != 0 {
		return nil, ErrFlow
	}
	for i := 0; i < len(root.Content); i += 2 {
		key := root.Content[i]
		at := key.Line - 1
		if out[at] = key.Value; !strings.HasPrefix(lines[at], key.Value+":") {
			out[at] = quotedSection + key.Value
		}
	}
	return out, nil
}

// quotedSection says what comes before the name of a section that is not written plainly.
const quotedSection = "\""

// later lists the sections that a new one is put before.
var later = map[string][]string{"foreign": {"vars", "ttls", "keys"}, "vars": {"ttls", "keys"}}

// Insert adds lines at the end of a section, which is made if there is none.
func Insert(lines []string, section string, added []string) ([]string, error) {
	names, err := sectionLines(lines)
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, quotedSection+section) {
		return nil, ErrFlow
	}
	start := slices.Index(names, section)
	if start < 0 {
		at := len(lines)
		for _, next := range later[section] {
			if i := slices.Index(names, next); i >= 0 {
				at = min(at, i)
			}
		}
		for at < len(lines) && at > 0 && strings.HasPrefix(lines[at-1], "#") { // a comment belongs to what follows it
			at--
		}
		head := []string{"", section + ":"}
		if at < len(lines) {
			if at > 0 && lines[at-1] == "" {
				head = head[1:]
			}
			added = append(slices.Clone(added), "")
		}
		return slices.Insert(lines, at, append(head, added...)...), nil
	}
	head := lines[start][len(section)+1:]
	switch value := strings.TrimSpace(strings.SplitN(head+" ", " #", 2)[0]); value {
	case "{}", "[]":
		lines[start] = strings.TrimRight(section+":"+strings.Replace(head, " "+value, "", 1), " ")
	case "":
	default:
		if section == "keys" || section == "channels" {
			return nil, ErrFlow
		}
		return insertFlow(lines, start, added)
	}
	end := start + 1
	for end < len(lines) && names[end] == "" {
		end++
	}
	// comments and blanks of what follows
	for end > start+1 && !strings.HasPrefix(lines[end-1], " ") && !strings.HasPrefix(lines[end-1], "-") {
		end--
	}
	by := indentOf(lines[start+1 : end])
	for len(added) > 0 && added[0] == "" && end == start+1 {
		added = added[1:]
	}
	return slices.Insert(lines, end, indented(added, by)...), nil
}

// insertFlow adds to a list in brackets or a mapping in braces, on one line or
// several.
func insertFlow(lines []string, start int, added []string) ([]string, error) {
	line, column, last, ok := flowEnd(lines, start)
	if !ok {
		return nil, ErrFlow
	}
	var items []string
	for _, a := range added {
		a, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(a), "- "), "  # ")
		if name, typ, isVar := strings.Cut(a, ": "); isVar && a[0] != '"' {
			if !strings.HasPrefix(typ, `"`) {
				typ = Quoted(typ)
			}
			a = name + ": " + typ
		}
		items = append(items, a)
	}
	between := ", "
	switch last {
	case ',':
		between = " "
	case '[', '{':
		between = ""
	}
	lines[line] = lines[line][:column] + between + strings.Join(items, ", ") + lines[line][column:]
	return lines, nil
}

// flowEnd returns the place after the last item of the list or mapping in brackets that begins
// on a line, and the byte before it: a comma, the opening bracket, or the item's.
func flowEnd(lines []string, start int) (line, column int, last byte, ok bool) {
	depth, quote := 0, byte(0)
	line, column = start, strings.IndexByte(lines[start], ':')+1
	for at := start; at < len(lines); at++ {
		from := 0
		if at == start {
			from = column
		}
		for i := from; i < len(lines[at]); i++ {
			b := lines[at][i]
			switch {
			case quote == '"' && b == '\\':
				i++
				continue
			case quote == '\'' && strings.HasPrefix(lines[at][i:], "''"):
				i++
				continue
			case quote != 0:
				if b == quote {
					quote = 0
				}
			case b == '#' && (i == 0 || lines[at][i-1] == ' ' || lines[at][i-1] == '\t'):
				i = len(lines[at])
				continue
			case (b == '"' || b == '\'') && strings.IndexByte("[{,: ", last) >= 0:
				quote = b
			case b == '[' || b == '{':
				depth++
			case b == ']' || b == '}':
				if depth--; depth == 0 {
					return line, column, last, true
				}
			case depth == 0 && b != ' ':
				return 0, 0, 0, false // no bracket
			}
			if b != ' ' && b != '\t' && b != '\r' {
				line, column, last = at, i+1, b
			}
		}
	}
	return 0, 0, 0, false
}

// indentOf returns how far the entries of a section are indented.
func indentOf(lines []string) int {
	for _, l := range lines {
		if trimmed := strings.TrimLeft(l, " "); trimmed != "" && trimmed[0] != '#' && trimmed[0] != '\r' {
			return len(l) - len(trimmed)
		}
	}
	return 2
}

func indented(lines []string, by int) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if out[i] = l; strings.HasPrefix(l, "  ") {
			out[i] = strings.Repeat(" ", by) + l[2:]
		}
	}
	return out
}

// added lists the sections that Insert adds to.
var added = []string{"foreign", "vars", "keys", "channels"}

// Extends reports whether a declaration has all of another, and only more entries of the
// sections that Insert adds to.
func Extends(old, merged []byte) bool {
	var before, after yaml.Node
	if yaml.Unmarshal(old, &before) != nil || yaml.Unmarshal(merged, &after) != nil || len(after.Content) == 0 {
		return false
	}
	if len(before.Content) == 0 {
		return true
	}
	sections := map[string]*yaml.Node{}
	for list := after.Content[0].Content; len(list) > 1; list = list[2:] {
		sections[list[0].Value] = list[1]
	}
	for list := before.Content[0].Content; len(list) > 1; list = list[2:] {
		was, is := list[1], sections[list[0].Value]
		if is == nil {
			return false
		}
		if slices.Contains(added, list[0].Value) {
			if was.Tag == "!!null" {
				continue
			}
			first := *is
			first.Content = is.Content[:min(len(was.Content), len(is.Content))]
			is = &first
		}
		if !sameNode(was, is) {
			return false
		}
	}
	return true
}

// sameNode reports whether two nodes say the same.
func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, sameNode)
}

// Quoted returns a text between double quotes. The second "#" of two is escaped: a CI
// system takes "##[" and what follows for a command.
func Quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '#' && i > 0 && s[i-1] == '#':
			b.WriteString(`\u0023`)
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f || r >= 0x80 && finding.Printable(string(r)) != string(r):
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
