package infer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// Merge adds the draft to a declaration: its vars, entries and globs of foreign
// software after those that are there. What is there stays as it is, byte by
// byte; with nothing to add so does all of it.
func (d *Draft) Merge(original []byte) ([]byte, error) {
	if len(d.Entries)+len(d.Foreign) == 0 {
		return original, nil
	}
	text, marked := strings.CutPrefix(string(original), byteOrderMark)
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	keys, channels := d.entryLines()
	var err error
	for _, part := range []struct {
		section string
		added   []string
	}{{"foreign", d.foreignLines()}, {"vars", d.varLines()}, {"keys", keys}, {"channels", channels}} {
		if len(part.added) == 0 {
			continue
		}
		if lines, err = insert(lines, part.section, part.added); err != nil {
			return nil, err
		}
	}
	end := "\n"
	if strings.Contains(string(original), "\r\n") {
		end = "\r\n"
	}
	merged := strings.Join(lines, end) + end
	if !extends([]byte(text), []byte(merged)) {
		return nil, ErrPlaces
	}
	if marked {
		merged = byteOrderMark + merged
	}
	return []byte(merged), nil
}

const byteOrderMark = "\ufeff"

func (d *Draft) foreignLines() []string {
	var out []string
	for _, f := range d.Foreign {
		out = append(out, fmt.Sprintf("  - %s  # %s", quoted(f.Glob), f.Software))
	}
	return out
}

func (d *Draft) varLines() []string {
	var out []string
	for _, v := range d.Vars {
		out = append(out, fmt.Sprintf("  %s: %s", v.Name, scalarText(v.Type)))
	}
	return out
}

// entryLines returns the entries under keys, and those under channels.
func (d *Draft) entryLines() (keys, channels []string) {
	w := &writer{}
	d.entries(w)
	lines := strings.Split(strings.TrimSuffix(w.String(), "\n"), "\n")
	if len(d.Entries) == 0 {
		return nil, nil
	}
	if i := slices.Index(lines, "channels:"); i >= 0 {
		return lines[:max(i-1, 0)], lines[i+1:]
	}
	return lines, nil
}

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

// insert adds lines at the end of a section, which is made if there is none.
func insert(lines []string, section string, added []string) ([]string, error) {
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
				typ = quoted(typ)
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
