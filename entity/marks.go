package entity

import (
	"crypto/rand"
	_ "embed"
	"slices"
	"strings"
)

// The ledger says of each index whether all items are in it. Programs of two versions
// may write at once, and one that does not know an index leaves gaps in it. So a write
// goes through only if its writer has agreed to what is said there: one that does not
// know an index first takes back that it is complete. An index is complete from the
// beginning where there was no item yet, or by Indexes, which looks at all items and
// finds at the end that no such writer was there meanwhile.

// The states of an index.
const (
	complete = '+'
	gaps     = '-' // items may be missing
	building = '~' // that, and no item was missed since the building began
)

// marks describes what the ledger says of indexes as a whole.
type marks struct {
	token string // another one after every change
	lines []mark
	newer bool // they have another form: nothing more is known of them
}

type mark struct {
	state   byte
	builder string // the call that builds it
	tag     string
}

// tokens lists the first characters of a token: any other is another form.
const tokens = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

const (
	tokenSize   = 16
	builderSize = 8
)

// readMarks reads what the ledger says; "" is nothing.
func readMarks(text string) (m marks) {
	switch {
	case text == "":
		return m
	case len(text) < tokenSize || !strings.Contains(tokens, text[:1]):
		return marks{newer: true}
	}
	m.token = text[:tokenSize]
	for line := range strings.Lines(text[tokenSize:]) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case len(line) > 1 && (line[0] == complete || line[0] == gaps):
			m.lines = append(m.lines, mark{state: line[0], tag: line[1:]})
		case len(line) > 1+builderSize && line[0] == building:
			m.lines = append(m.lines, mark{building, line[1 : 1+builderSize], line[1+builderSize:]})
		default:
			return marks{newer: true}
		}
	}
	return m
}

// text returns what the ledger is to say, under another token.
func (m *marks) text() string {
	return rand.Text()[:tokenSize] + linesOf(m.lines)
}

func linesOf(lines []mark) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteByte(l.state)
		if l.state == building {
			b.WriteString(l.builder)
		}
		b.WriteString(l.tag)
		b.WriteByte('\n')
	}
	return b.String()
}

// Complete returns what a ledger says, in the field "", if all items are in these indexes.
func Complete(indexes ...Place) []byte {
	m := marks{}
	for i := range indexes {
		m.set(indexes[i].tag(), complete)
	}
	return []byte(strings.Repeat("0", tokenSize) + linesOf(m.lines))
}

// of returns the state of an index.
func (m *marks) of(tag string) byte {
	i := slices.IndexFunc(m.lines, func(l mark) bool { return l.tag == tag })
	if i < 0 {
		return gaps
	}
	return m.lines[i].state
}

// set changes the state of an index.
func (m *marks) set(tag string, state byte) {
	if i := slices.IndexFunc(m.lines, func(l mark) bool { return l.tag == tag }); i >= 0 {
		m.lines[i].state = state
	} else {
		m.lines = append(m.lines, mark{state: state, tag: tag})
	}
}

// builds notes which call builds an index.
func (m *marks) builds(tag, builder string) {
	for i := range m.lines {
		if m.lines[i].tag == tag {
			m.lines[i].builder = builder
		}
	}
}

// agreeable changes marks into those that a writer with these indexes may write
// under, and reports whether they were not.
func (m *marks) agreeable(tags []string) (changed bool) {
	for i, l := range m.lines {
		if l.state != gaps && !slices.Contains(tags, l.tag) {
			m.lines[i].state, changed = gaps, true
		}
	}
	for _, tag := range tags {
		if !slices.ContainsFunc(m.lines, func(l mark) bool { return l.tag == tag }) {
			m.set(tag, gaps)
			changed = true
		}
	}
	return changed
}
