package infer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/internal/splice"
)

// ErrFlow reports a declaration that cannot be added to: all of it, or its keys, are written
// in braces, or the name of a section is in quotes.
var ErrFlow = splice.ErrFlow

// ErrPlaces reports a declaration in which no places for entries were found that leave what is
// there as it is.
var ErrPlaces = splice.ErrPlaces

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
		if lines, err = splice.Insert(lines, part.section, part.added); err != nil {
			return nil, err
		}
	}
	end := "\n"
	if strings.Contains(string(original), "\r\n") {
		end = "\r\n"
	}
	merged := strings.Join(lines, end) + end
	if !splice.Extends([]byte(text), []byte(merged)) {
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
		out = append(out, fmt.Sprintf("  - %s  # %s", splice.Quoted(f.Glob), f.Software))
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
