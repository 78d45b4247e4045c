package infer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ErrFlow is a declaration that cannot be added to: its keys, or a list that goes
// over several lines, are written in braces.
var ErrFlow = errors.New("a section is written in braces ({…}); write it as a block, one entry below the other, so " +
	"that entries can be added")

// Merge adds the draft to a declaration: its vars, entries and globs of foreign
// software behind those that are there. What is there stays as it is, byte by
// byte; with nothing to add so does all of it.
func (d *Draft) Merge(original []byte) ([]byte, error) {
	if len(d.Entries)+len(d.Foreign) == 0 {
		return original, nil
	}
	text := strings.TrimSuffix(strings.ReplaceAll(string(original), "\r\n", "\n"), "\n")
	lines := strings.Split(text, "\n")
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
	return []byte(strings.Join(lines, end) + end), nil
}

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

// entryLines are the entries under keys, and those under channels.
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

// behind are the sections that a new one is put before.
var behind = map[string][]string{"foreign": {"vars", "ttls", "keys"}, "vars": {"ttls", "keys"}}

// insert adds lines at the end of a section, which is made if there is none.
func insert(lines []string, section string, added []string) ([]string, error) {
	names := sectionLines(lines)
	start := slices.Index(names, section)
	if start < 0 {
		at := len(lines)
		for _, next := range behind[section] {
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
		lines[start] = section + ":"
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
	end := start
	for end < len(lines) && strings.LastIndexAny(lines[end], "}]") < 0 {
		end++
	}
	if end == len(lines) {
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
	shut := strings.LastIndexAny(lines[end], "}]")
	before := strings.TrimRight(lines[end][:shut], " ")
	if !strings.HasSuffix(before, ",") && before != "" {
		before += ","
	} else if before == "" {
		lines[end-1] = strings.TrimSuffix(lines[end-1], ",") + ","
	}
	lines[end] = strings.TrimSpace(before + " " + strings.Join(items, ", ") + lines[end][shut:])
	if end > start {
		lines[end] = "  " + lines[end]
	}
	return lines, nil
}

// indentOf is how far the entries of a section are indented.
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
