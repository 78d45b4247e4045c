package transfer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

// movedRow returns what became of the keys of an entry that are written to a server, for printMoved.
func movedRow(entry string, c *journal.Counts, more ...string) []string {
	return append([]string{cmp.Or(entry, cli.UndeclaredName), terminal.Count(c.Keys), cli.CountOrNone(c.Restored),
		cli.CountOrNone(c.Replaces), cli.CountOrNone(c.Same), cli.CountOrNone(c.Existing), cli.CountOrNone(c.Expired),
		cli.CountOrNone(c.Left), cli.CountOrNone(c.Refused + c.Unknown)}, more...)
}

// printMoved prints the table of restore and copy. did is what was done with keys, "restored", or would be.
func printMoved(a *cli.App, did string, rows [][]string, more ...terminal.Column) error {
	return a.PrintTable(append([]terminal.Column{{Title: "entry", Least: 20}, {Title: "keys", Right: true},
		{Title: did, Right: true}, {Title: "replaces", Right: true}, {Title: "same", Right: true},
		{Title: "there", Right: true}, {Title: "expired", Right: true}, {Title: "left out", Right: true},
		{Title: "failed", Right: true, Style: terminal.Red}}, more...), rows)
}

// didOrWould returns the words for what was done, or those for what would be.
func didOrWould(applied bool, did, would string) string {
	if applied {
		return did
	}
	return would
}

// reasonsOf returns why keys were not written.
func reasonsOf(r *restore.Report) (out []reasonedKey) {
	for _, n := range r.Reasons {
		out = append(out, reasonedKey{n.Key, n.DB, n.Reason})
	}
	return out
}

// tellPlan says how many keys would be written, and how.
func tellPlan(a *cli.App, t *journal.Counts, how string) {
	a.Print("%s would be written (%s). Nothing was changed; %s.", terminal.Plural(t.Restored, "key"),
		terminal.Bytes(t.Bytes), how)
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
