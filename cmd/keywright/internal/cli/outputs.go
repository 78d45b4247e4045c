package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/spf13/cobra"
)

// FormsOf returns the forms of output of a command.
func FormsOf(c *cobra.Command) []string { return strings.Fields(c.Annotations["forms"]) }

// PrintGaps says in the table what it does not hold.
func (a *App) PrintGaps(g *answer.Gaps) {
	for _, c := range g.Cut {
		a.Print("%s has more than the %s that are looked at here", c.Entry, terminal.Count(int64(c.Listed)))
	}
	for _, u := range g.Unread {
		a.Print("not read: %s", finding.Printable(u.String()))
	}
}

// PrintNone says that there is nothing, of what was read.
func (a *App) PrintNone(g *answer.Gaps, text string) {
	if len(g.Unread) > 0 {
		text += ", of those that were read"
	}
	a.Print("%s", text)
}

// ListedInPart returns the exit line of a listing that does not hold everything.
func ListedInPart(g *answer.Gaps, what string) error {
	var why []string
	for i, u := range g.Unread {
		if i == shownUnread {
			why = append(why, terminal.Plural(int64(len(g.Unread)-i), "more failure"))
			break
		}
		if name := u.Entry; !slices.Contains(why, name) {
			why = append(why, name)
		}
	}
	for _, c := range g.Cut {
		why = append(why, c.Entry+" has more than "+terminal.Count(int64(c.Listed)))
	}
	if len(why) == 0 {
		return nil
	}
	return &Exit{ExitPartial, "not all " + what + " are listed: " + strings.Join(why, ", "), "the result says of each why"}
}

// shownUnread bounds the exit line.
const shownUnread = 5

// DiskFull reports whether there was no room to write.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Unwritable says why a file cannot be written, and what helps.
func Unwritable(what string, err error) error {
	hint := "name a file in a folder that you may write to"
	if DiskFull(err) {
		hint = "make room on that disk, or name a file on another one"
	}
	return Usage(hint, "%s cannot be written: %v", what, err)
}

// WriteReport writes a report in the form that was asked for: as JSON, or as table prints it.
func (a *App) WriteReport(form string, report any, table func() error) error {
	if form == "json" {
		return a.JSON(report)
	}
	return table()
}

// PrintAs prints a line of a result in a style.
func (a *App) PrintAs(style terminal.Style, format string, args ...any) {
	a.Print("%s", a.Out.Paint(style, fmt.Sprintf(format, args...)))
}

// PrintKeys prints a line about so many keys, which takes the place of %s, if there are any.
func (a *App) PrintKeys(n int64, format string) {
	if n > 0 {
		a.Print(format, terminal.Plural(n, "key"))
	}
}

// PrintIncomplete prints why a result is not whole.
func (a *App) PrintIncomplete(why string) {
	a.PrintAs(terminal.Red, "INCOMPLETE: %s", finding.Printable(why))
}

// PrintTable prints a table of a report with an empty line after it, nothing where there are no rows.
func (a *App) PrintTable(columns []terminal.Column, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if err := terminal.Table(a.Out, columns, rows); err != nil {
		return err
	}
	a.Print("")
	return nil
}

func CountOrNone(n int64) string {
	if n == 0 {
		return ""
	}
	return terminal.Count(n)
}

// ProgressMode returns none where the user wants quiet.
func (a *App) ProgressMode(mode string) string {
	if a.Quiet {
		return "none"
	}
	return mode
}

// ShownName returns a name in a table.
func ShownName(name *finding.JSONKey) string {
	if name == nil {
		return ""
	}
	return finding.Key(*name)
}

// NotListed says in an exit line what a limit left out.
func NotListed(n int64) string {
	if n == 0 {
		return ""
	}
	return " (" + terminal.Count(n) + " not listed: --limit)"
}

func Seconds(s float64) string {
	if s == 0 {
		return ""
	}
	return terminal.Duration(time.Duration(s * float64(time.Second)))
}

// WriteCSV writes the rows of a table. A cell that a spreadsheet would take for a formula begins with an
// apostrophe.
func WriteCSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = finding.Cell(cell)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// RefuseTerminal refuses to write what foreigners wrote, byte by byte, to a terminal: it would
// obey it. what is the flag that asks for it, instead what to write.
func (a *App) RefuseTerminal(asked bool, what, instead string) error {
	if !asked || !a.Out.TTY {
		return nil
	}
	return Usage(instead, "%s writes bytes of others as they are, which is not for a terminal", what)
}

// WriteFile writes a text that is also a file, as fmt and infer print it: as it is, but to
// a terminal so that nothing in it is a command.
func (a *App) WriteFile(text []byte) error {
	if a.Out.TTY {
		text = finding.Harmless(text, false, false)
	}
	_, err := a.Out.Raw().Write(text)
	return err
}

func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return terminal.Count(n) + " " + many
}

// EntryOrNone returns the name of an entry, "" where it is below zero: there is none.
func EntryOrNone(names []string, entry int) string {
	if entry < 0 {
		return ""
	}
	return names[entry]
}

// lastMoment is the last one that JSON has a text for, in Unix milliseconds.
const lastMoment = 253402300799999

// Expiry returns when a key expires, in Unix milliseconds, as JSON has it; nil: never. A server takes expiries that are
// later than the last moment: they are given as it.
func Expiry(ms int64) *time.Time {
	if ms <= 0 {
		return nil
	}
	at := time.UnixMilli(min(ms, lastMoment)).UTC()
	return &at
}

// KeyWidth is how much of a key a table shows, other forms have all of it, and KeyColumn
// where the next column begins after a shorter key.
const (
	KeyWidth  = 96
	KeyColumn = 48
)

// EachEntry calls each with the entries that have counts, in the order of the declaration, and at last with those of
// keys that no entry declares, under the name "".
func EachEntry[C any](names []string, counts map[int]*C, each func(entry string, c *C)) {
	for i, name := range names {
		if c := counts[i]; c != nil {
			each(name, c)
		}
	}
	if c := counts[selection.Undeclared]; c != nil {
		each("", c)
	}
}
