package transfer

import (
	"fmt"
	"strings"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

// movedTable describes what became of keys that are written to a server, by entry: the one form of
// restore and copy. did is what was done with them, "restored", and would what it would be.
type movedTable struct {
	did, would string
	applied    bool
	more       []terminal.Column
	rows       [][]string
}

// Add adds an entry, with the texts of the columns in more.
func (m *movedTable) Add(entry string, c *journal.Counts, more ...string) {
	if entry == "" {
		entry = cli.UndeclaredName
	}
	m.rows = append(m.rows,
		append([]string{entry, terminal.Count(c.Keys), cli.CountOrNone(c.Restored), cli.CountOrNone(c.Replaces),
			cli.CountOrNone(c.Same),
			cli.CountOrNone(c.Existing), cli.CountOrNone(c.Expired), cli.CountOrNone(c.Left), cli.CountOrNone(c.Refused + c.Unknown)}, more...))
}

func (m *movedTable) print(a *cli.App) error {
	if len(m.rows) == 0 {
		return nil
	}
	done := m.did
	if !m.applied {
		done = m.would
	}
	columns := append([]terminal.Column{{Title: "entry", Least: 20}, {Title: "keys", Right: true},
		{Title: done, Right: true}, {Title: "replaces", Right: true},
		{Title: "same", Right: true}, {Title: "there", Right: true}, {Title: "expired", Right: true},
		{Title: "left out", Right: true},
		{Title: "failed", Right: true, Style: terminal.Red}}, m.more...)
	if err := terminal.Table(a.Out, columns, m.rows); err != nil {
		return err
	}
	a.Print("")
	return nil
}

// moved returns what was done, for where the report cannot be written. "": nothing was, it is a plan.
func moved(verb string, applied bool, t *journal.Counts, problem string) string {
	if !applied {
		return ""
	}
	text := fmt.Sprintf("%s %s, %s refused, %s unknown", verb, terminal.Plural(t.Restored, "key"), terminal.Count(t.Refused),
		terminal.Count(t.Unknown))
	if problem != "" {
		text += "; INCOMPLETE: " + problem
	}
	return text
}

const (
	reasonsShown  = 10 // reasons
	examplesShown = 3  // keys of each
)

// tellReasons says why keys were not written: each reason once, with some of its keys. more
// is how many keys have a reason and are not in the list.
func tellReasons(a *cli.App, all []reasonedKey, more int64) {
	var order []string
	keys := map[string][]string{}
	for _, n := range all {
		if keys[n.Reason] == nil {
			order = append(order, n.Reason)
		}
		name := finding.Key(n.Key)
		if n.DB != 0 {
			name += fmt.Sprintf(" (database %d)", n.DB)
		}
		keys[n.Reason] = append(keys[n.Reason], name)
	}
	for _, reason := range order[:min(len(order), reasonsShown)] {
		some := keys[reason]
		text := strings.Join(some[:min(len(some), examplesShown)], ", ")
		if left := len(some) - examplesShown; left > 0 {
			text += fmt.Sprintf(" and %s", terminal.Plural(int64(left), "more key"))
		}
		a.Print("%s: %s", finding.Printable(reason), text)
	}
	if left := len(order) - reasonsShown; left > 0 {
		a.Print("and %s, which -o json lists", terminal.Plural(int64(left), "more reason"))
	}
	if more > 0 {
		a.Print("and %s with a reason; -o json lists the first %d", terminal.Plural(more, "more key"), len(all))
	}
}
