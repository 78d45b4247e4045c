package infer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ErrFlow is a declaration that cannot be added to: its keys are written in
// braces.
var ErrFlow = errors.New("keys is written in braces ({…}); write it as a block, one entry below the other, so that entries can be added")

// Merge adds the draft to a declaration: its vars and entries behind those that
// are there. What is there stays as it is, byte by byte. Globs of foreign
// software are added as comments, since a list may be written in many ways.
func (d *Draft) Merge(original []byte) ([]byte, error) {
	text := strings.TrimSuffix(strings.ReplaceAll(string(original), "\r\n", "\n"), "\n")
	lines := strings.Split(text, "\n")
	var err error
	if len(d.Vars) > 0 {
		lines, err = insert(lines, "vars", d.varLines(), slices.Index(sectionLines(lines), "keys"))
	}
	if err == nil {
		lines, err = insert(lines, "keys", d.entryLines(), len(lines))
	}
	if err != nil {
		return nil, err
	}
	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

func (d *Draft) varLines() []string {
	var out []string
	for _, v := range d.Vars {
		out = append(out, fmt.Sprintf("  %s: %s", v.Name, scalarText(v.Type)))
	}
	return out
}

func (d *Draft) entryLines() []string {
	w := &writer{}
	d.entries(w)
	for _, f := range d.Foreign {
		w.line("  # foreign: add %s, %s (%s)", quoted(f.Glob), f.Software, plural(f.Keys, "key"))
	}
	return strings.Split(strings.TrimSuffix(w.String(), "\n"), "\n")
}

var sectionLine = regexp.MustCompile(`^([a-z]+):(\s|$)`)

// sectionLines names the section that begins at each line, "" where none does.
func sectionLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if m := sectionLine.FindStringSubmatch(l); m != nil {
			out[i] = m[1]
		}
	}
	return out
}

// insert adds lines at the end of a section, which is made at a line if there is
// none.
func insert(lines []string, section string, added []string, at int) ([]string, error) {
	names := sectionLines(lines)
	start := slices.Index(names, section)
	if start < 0 {
		if at < 0 {
			at = len(lines)
		}
		return slices.Insert(lines, at, append([]string{"", section + ":"}, added...)...), nil
	}
	head := lines[start][len(section)+1:]
	if value := strings.TrimSpace(strings.SplitN(head, " #", 2)[0]); value != "" && value != "{}" {
		if section == "keys" {
			return nil, ErrFlow
		}
		return insertFlow(lines, start, added), nil
	} else if value == "{}" {
		lines[start] = section + ":"
	}
	end := start + 1
	for end < len(lines) && names[end] == "" {
		end++
	}
	for end > start+1 && !strings.HasPrefix(lines[end-1], " ") { // comments and blanks of what follows
		end--
	}
	return slices.Insert(lines, end, indented(added, indentOf(lines[start+1:end]))...), nil
}

// insertFlow adds vars to a list in braces: {a: int, b: text}.
func insertFlow(lines []string, start int, added []string) []string {
	shut := strings.LastIndex(lines[start], "}")
	if shut < 0 {
		return slices.Insert(lines, start, "# vars to add: "+strings.Join(added, ","))
	}
	var pairs []string
	for _, a := range added {
		name, typ, _ := strings.Cut(strings.TrimSpace(a), ": ")
		if !strings.HasPrefix(typ, `"`) {
			typ = quoted(typ)
		}
		pairs = append(pairs, name+": "+typ)
	}
	lines[start] = lines[start][:shut] + ", " + strings.Join(pairs, ", ") + lines[start][shut:]
	return lines
}

// indentOf is how far the entries of a section are indented.
func indentOf(lines []string) int {
	for _, l := range lines {
		if trimmed := strings.TrimLeft(l, " "); trimmed != "" && trimmed[0] != '#' {
			return len(l) - len(trimmed)
		}
	}
	return 2
}

func indented(lines []string, by int) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if out[i] = l; l != "" && l[0] == ' ' {
			out[i] = strings.Repeat(" ", by-min(by, 2)) + l
		}
	}
	return out
}
