package answer

import (
	"regexp"
	"strings"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/queue"
)

// DeadFilter says which dead jobs are meant: those of a group of errors, and those with a
// text in their id or reason. The zero value means all.
type DeadFilter struct {
	Error string // as ErrorOf gives it
	Text  string // in any case
}

// Matches reports whether a dead job is meant.
func (f DeadFilter) Matches(d *queue.Dead) bool {
	return (f.Error == "" || ErrorOf(d.Reason) == f.Error) && f.In(d.ID+" "+d.Reason)
}

// In reports whether a text has the text of the filter.
func (f DeadFilter) In(text string) bool {
	return f.Text == "" || strings.Contains(strings.ToLower(text), strings.ToLower(f.Text))
}

// digits say what errors of one kind differ by: ids, times, ports.
var digits = regexp.MustCompile(`[0-9]+`)

// longError says how many runes of an error tell it from others.
const longError = 300

// NoReason is the group of jobs of which no reason is known.
const NoReason = "(no reason)"

// ErrorOf returns what groups dead jobs: their reason, without what is only in one of them.
func ErrorOf(reason string) string {
	line, _, _ := strings.Cut(reason, "\n")
	text := digits.ReplaceAllString(finding.Printable(line), "N")
	if r := []rune(text); len(r) > longError {
		text = string(r[:longError]) + "…"
	}
	if text == "" {
		return NoReason
	}
	return text
}
