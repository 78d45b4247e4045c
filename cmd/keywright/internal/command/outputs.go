package command

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/spf13/cobra"
)

// formsOf returns the forms of output of a command.
func formsOf(c *cobra.Command) []string { return strings.Fields(c.Annotations["forms"]) }

// tellGaps says in the table what it does not hold.
func (a *app) tellGaps(g *answer.Gaps) {
	for _, c := range g.Cut {
		a.tell("%s has more than the %s that are looked at here", c.Entry, terminal.Count(int64(c.Listed)))
	}
	for _, u := range g.Unread {
		a.tell("not read: %s", finding.Printable(u.String()))
	}
}

// none says that there is nothing, of what was read.
func (a *app) none(g *answer.Gaps, text string) {
	if len(g.Unread) > 0 {
		text += ", of those that were read"
	}
	a.tell("%s", text)
}

// partly returns the exit line of a listing that does not hold everything.
func partly(g *answer.Gaps, what string) error {
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
	return &exit{exitPartial, "not all " + what + " are listed: " + strings.Join(why, ", "), "the result says of each why"}
}

// shownUnread bounds the exit line.
const shownUnread = 5

// unwritable says why a file cannot be written, and what helps.
func unwritable(what string, err error) error {
	hint := "name a file in a folder that you may write to"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = "make room on that disk, or name a file on another one"
	}
	return usage(hint, "%s cannot be written: %v", what, err)
}

func countOrNone(n int64) string {
	if n == 0 {
		return ""
	}
	return terminal.Count(n)
}

// progressMode returns none where the user wants quiet.
func (a *app) progressMode(mode string) string {
	if a.quiet {
		return "none"
	}
	return mode
}

// shownOf returns a name in a table.
func shownOf(name *finding.JSONKey) string {
	if name == nil {
		return ""
	}
	return finding.Key(*name)
}

// notListed says in an exit line what a limit left out.
func notListed(n int64) string {
	if n == 0 {
		return ""
	}
	return " (" + terminal.Count(n) + " not listed: --limit)"
}

func seconds(s float64) string {
	if s == 0 {
		return ""
	}
	return terminal.Duration(time.Duration(s * float64(time.Second)))
}

// writeCSV writes the rows of a table. A cell that a spreadsheet would take for a formula begins with an
// apostrophe.
func writeCSV(w io.Writer, rows [][]string) error {
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

// bare refuses to write what foreigners wrote, byte by byte, to a terminal: it would
// obey it. what is the flag that asks for it, instead what to write.
func (a *app) bare(asked bool, what, instead string) error {
	if !asked || !a.out.TTY {
		return nil
	}
	return usage(instead, "%s writes bytes of others as they are, which is not for a terminal", what)
}

// show writes a text that is also a file, as fmt and infer print it: as it is, but to
// a terminal so that nothing in it is a command.
func (a *app) show(text []byte) error {
	if a.out.TTY {
		text = finding.Harmless(text, false, false)
	}
	_, err := a.out.Raw().Write(text)
	return err
}
