package indexrecord

import (
	"crypto/rand"
	_ "embed"
	"slices"
	"strings"
)

// Beside the index records, the field "" has a mark of each index: whether all items are in it.
// Programs of two versions may write at once, and one that does not know an index leaves gaps in
// it. So a write goes through only if its writer has agreed to the marks: one that does not
// know an index first marks it as incomplete. An index is complete from the
// beginning where there was no item yet, or by Indexes, which looks at all items and
// finds at the end that no such writer was there meanwhile.

// The states of an index.
const (
	StateComplete = '+'
	StateGaps     = '-' // items may be missing
	StateBuilding = '~' // that, and no item was missed since the building began
)

// Marks has the states of the indexes of an entity.
type Marks struct {
	Token string // another one after every change
	Lines []Mark
	Newer bool // they have another form: nothing more is known of them
}

// Mark describes the state of one index.
type Mark struct {
	State   byte
	Builder string // the call that builds it
	Tag     string
}

// tokens lists the first characters of a token: any other is another form.
const tokens = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

const (
	TokenSize   = 16
	BuilderSize = 8
)

// ReadMarks reads the text of marks; "" has none.
func ReadMarks(text string) (m Marks) {
	switch {
	case text == "":
		return m
	case len(text) < TokenSize || !strings.Contains(tokens, text[:1]):
		return Marks{Newer: true}
	}
	m.Token = text[:TokenSize]
	for line := range strings.Lines(text[TokenSize:]) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case len(line) > 1 && (line[0] == StateComplete || line[0] == StateGaps):
			m.Lines = append(m.Lines, Mark{State: line[0], Tag: line[1:]})
		case len(line) > 1+BuilderSize && line[0] == StateBuilding:
			m.Lines = append(m.Lines, Mark{StateBuilding, line[1 : 1+BuilderSize], line[1+BuilderSize:]})
		default:
			return Marks{Newer: true}
		}
	}
	return m
}

// Text returns the text of marks, under another token.
func (m *Marks) Text() string {
	return rand.Text()[:TokenSize] + LinesOf(m.Lines)
}

// LinesOf returns the text of marks.
func LinesOf(lines []Mark) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteByte(l.State)
		if l.State == StateBuilding {
			b.WriteString(l.Builder)
		}
		b.WriteString(l.Tag)
		b.WriteByte('\n')
	}
	return b.String()
}

// Complete returns the text of the marks, in the field "", if all items are in these indexes.
func Complete(indexes ...Place) []byte {
	m := Marks{}
	for i := range indexes {
		m.Set(indexes[i].Tag(), StateComplete)
	}
	return []byte(strings.Repeat("0", TokenSize) + LinesOf(m.Lines))
}

// Of returns the state of an index.
func (m *Marks) Of(tag string) byte {
	i := slices.IndexFunc(m.Lines, func(l Mark) bool { return l.Tag == tag })
	if i < 0 {
		return StateGaps
	}
	return m.Lines[i].State
}

// Set changes the state of an index.
func (m *Marks) Set(tag string, state byte) {
	if i := slices.IndexFunc(m.Lines, func(l Mark) bool { return l.Tag == tag }); i >= 0 {
		m.Lines[i].State = state
	} else {
		m.Lines = append(m.Lines, Mark{State: state, Tag: tag})
	}
}

// Builds notes which call builds an index.
func (m *Marks) Builds(tag, builder string) {
	for i := range m.Lines {
		if m.Lines[i].Tag == tag {
			m.Lines[i].Builder = builder
		}
	}
}

// Agreeable changes marks into those that a writer with these indexes may write
// under, and reports whether they were not.
func (m *Marks) Agreeable(tags []string) (changed bool) {
	for i, l := range m.Lines {
		if l.State != StateGaps && !slices.Contains(tags, l.Tag) {
			m.Lines[i].State, changed = StateGaps, true
		}
	}
	for _, tag := range tags {
		if !slices.ContainsFunc(m.Lines, func(l Mark) bool { return l.Tag == tag }) {
			m.Set(tag, StateGaps)
			changed = true
		}
	}
	return changed
}
