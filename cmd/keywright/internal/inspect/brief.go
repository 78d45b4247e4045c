package inspect

import (
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

// briefFindings bounds the findings of a brief report.
const briefFindings = 25

// brief prints a report on one screen: a line for each finding, one for all that is as declared, and the verdict.
func (t *reportTable) brief() error {
	t.head()
	fmt.Fprintf(t.s, "%s: %s\n", t.s.Paint(terminal.Bold, "Findings"), finding.Summary(t.r.Summary))
	shown := t.r.Findings[:min(len(t.r.Findings), briefFindings)]
	for _, f := range shown {
		colour := terminal.Yellow
		if f.Severity == finding.Error {
			colour = terminal.Red
		}
		fmt.Fprintf(t.s, "  %s %s (%s)\n", t.s.Paint(colour, fmt.Sprintf("%-7s %s", f.Severity, f.Code)),
			finding.Printable(f.Message), terminal.Plural(f.Count, "key"))
	}
	if more := len(t.r.Findings) - len(shown); more > 0 {
		fmt.Fprintf(t.s, "  and %s\n", terminal.Plural(int64(more), "more finding"))
	}
	fmt.Fprintf(t.s, "\n%s\n", t.healthy())
	return t.Verdict()
}

// healthy says how much is as declared.
func (t *reportTable) healthy() string {
	entries, keys, empty, foreign := int64(0), int64(0), int64(0), int64(0)
	for _, e := range t.r.Entries {
		switch {
		case e.Keys == 0:
			empty++
		case len(e.Violations) == 0:
			entries, keys = entries+1, keys+e.Keys
		}
	}
	for _, g := range t.r.Foreign {
		foreign += g.Keys
	}
	return fmt.Sprintf("%s with %s as declared; %s without keys; %s not judged", terminal.Plural(entries, "pattern"),
		terminal.Plural(keys, "key"), terminal.Plural(empty, "pattern"), terminal.Plural(foreign, "foreign key"))
}
