package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/compare"
)

// CopyReport describes what was copied, or would be; its JSON names are stable.
type CopyReport struct {
	From verifiedPlace `json:"from"`
	To   verifiedPlace `json:"to"`
	cli.Scope
	Applied     bool                  `json:"applied"`
	File        string                `json:"file,omitempty"` // that the plan was written to
	Complete    bool                  `json:"complete"`       // all keys of the source were seen
	Settled     bool                  `json:"settled"`        // what was to be copied is at the target
	Incomplete  source.Reasons        `json:"incomplete,omitempty"`
	Total       journal.Counts        `json:"total"` // of the first pass
	Entries     []copiedPart          `json:"entries"`
	Rounds      int                   `json:"rounds"`   // of comparison
	Repaired    int64                 `json:"repaired"` // keys that were copied again
	Kept        int64                 `json:"kept"`     // were at the target before with another value, and were left
	Last        compare.Figures       `json:"last"`     // of the last round
	TargetOnly  int64                 `json:"target_only"`
	Memory      []restore.Memory      `json:"memory,omitempty"`      // of the target's servers, before anything was written
	Deleted     int64                 `json:"deleted,omitempty"`     // at the target, since the source had deleted them
	Differences []change.DifferingKey `json:"differences,omitempty"` // keys that differ in the end
	More        int64                 `json:"more_differences,omitempty"`
	Reasons     []reasonedKey         `json:"reasons,omitempty"` // why keys were not written
	MoreReasons int64                 `json:"more_reasons,omitempty"`
	OnlyKeys    []change.DifferingKey `json:"target_only_keys,omitempty"`
	DurationMS  int64                 `json:"duration_ms"`

	Libraries *restore.LibraryReport `json:"libraries,omitempty"` // of functions; absent: there is none to copy
}

// copiedPart describes what became of the keys of one entry.
type copiedPart struct {
	Entry string `json:"entry"` // "" for keys that no entry declares
	journal.Counts
	Last compare.Figures `json:"last"` // of the last round
}

func (r *copyRun) report(in *copier.Report, failed error) *CopyReport {
	out := &CopyReport{Scope: r.App.Scope, Applied: r.apply, File: r.plan, Total: in.Counts,
		Rounds: in.Rounds, Repaired: in.Repaired,
		Kept: in.Kept, Last: in.Checked.Figures,
		TargetOnly: in.Only.Extra, Deleted: in.Deleted, Memory: in.Memory, More: in.Checked.More,
		Reasons: reasonsOf(&in.Report), MoreReasons: in.More, Entries: []copiedPart{},
		DurationMS: r.Now().Sub(r.started).Milliseconds()}
	out.From = verifiedPlace{r.from.Name, r.from.Kind, in.Read.Server, in.Read.Notes}
	out.To = verifiedPlace{Name: r.to.Name, Kind: r.to.Kind, Server: in.Only.B.Server}
	read := in.Read
	if in.Rounds > 0 {
		read = in.Checked.A
	}
	out.Incomplete = source.Reasons{}.Add(read.Incomplete...).Add(in.Harm...).Add(r.unread...)
	out.Libraries = r.libraries
	if why := notLoaded(r.libraries); why != "" {
		out.Incomplete = out.Incomplete.Add(source.Why(source.NotCarried, "", why))
	}
	if failed != nil {
		if !errors.Is(failed, context.Canceled) { // else it was the failure that ended the scan
			out.Incomplete = slices.DeleteFunc(out.Incomplete,
				func(why source.Reason) bool { return why.Code == source.Interrupted })
		}
		out.Incomplete = out.Incomplete.Add(source.Why(source.Failed, "", failed))
	}
	out.Complete = len(out.Incomplete) == 0
	out.Settled = out.Applied && out.Complete && in.Settled()
	names := r.sel.Names()
	last := map[string]compare.Figures{}
	cli.EachEntry(names, in.Checked.Entries, func(entry string, f *compare.Figures) { last[entry] = *f })
	cli.EachEntry(names, in.Entries, func(entry string, c *journal.Counts) {
		out.Entries = append(out.Entries, copiedPart{entry, *c, last[entry]})
	})
	out.Differences = change.AllDiffering(names, in.Checked.Named)
	out.OnlyKeys = change.AllDiffering(names, in.Only.Named)
	return out
}

// goOnCopying returns what to do about a copy that is not whole.
func goOnCopying(failed error) string {
	if evicts(failed) {
		return "raise maxmemory at the target, or set maxmemory-policy noeviction; --evict goes on whatever it evicts"
	}
	return "what was copied is right; run it again with --existing different to go on"
}

// Show says what was done, and gives the exit code.
func (r *copyRun) Show(ctx context.Context, out *CopyReport, failed error) error {
	r.Did = moved("Copied", out.Applied, &out.Total, out.Incomplete.String())
	err := r.show(ctx, r.App, out, func() error { return r.print(out) }, failed)
	switch t := out.Total; {
	case err != nil:
		return err
	case !out.Complete && !out.Applied:
		return &cli.Exit{Code: cli.ExitPartial, Message: "not all keys were seen: " + out.Incomplete.String(),
			Hint: "nothing was changed; it was only a plan"}
	case !out.Complete:
		return &cli.Exit{Code: cli.ExitPartial, Message: out.Incomplete.String(),
			Hint: goOnCopying(failed)}
	case librariesFailed(out.Libraries, r.existing), t.Refused+t.Unknown > 0,
		r.existing == string(restore.Fail) && (out.Kept > 0 || !out.Applied && t.Existing > 0),
		out.Applied && out.Rounds > 0 && !out.Settled:
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

func (r *copyRun) print(out *CopyReport) error {
	a := r.App
	a.PrintScope()
	var rows [][]string
	for _, p := range out.Entries {
		rows = append(rows, movedRow(p.Entry, &p.Counts, cli.CountOrNone(p.Last.Differ())))
	}
	err := printMoved(a, didOrWould(out.Applied, "copied", "to copy"), rows,
		terminal.Column{Title: "differ", Right: true, Style: terminal.Red})
	if err != nil {
		return err
	}
	tellDifferences(a, out.Differences, out.More, " that differ: `keywright verify --keys-of all` prints them")
	tellReasons(a, out.Reasons, out.MoreReasons)
	tellLoaded(a, out.Libraries, out.Applied)
	tellMemory(a, out.Memory)
	if out.Deleted > 0 {
		a.Print("%s deleted at the target: this run had written them, and the source deleted them meanwhile",
			terminal.Plural(out.Deleted, "key"))
	}
	if out.TargetOnly > 0 {
		a.Print("%s only at the target: they were there before, or went away at the source meanwhile; -o json names some",
			terminal.Plural(out.TargetOnly, "key"))
	}
	out.From.tellNotes(a)
	r.Verdict(out)
	return nil
}

func (r *copyRun) Verdict(out *CopyReport) {
	a, t := r.App, out.Total
	took := terminal.Duration(time.Duration(out.DurationMS) * time.Millisecond)
	again := ""
	if out.Repaired > 0 {
		again = fmt.Sprintf(", %s again since they were written to meanwhile", terminal.Count(out.Repaired))
	}
	done := fmt.Sprintf("Copied %s (%s) in %s%s; compared %s", terminal.Plural(t.Restored, "key"), terminal.Bytes(t.Bytes),
		took, again, terminal.Plural(int64(out.Rounds), "time"))
	switch {
	case !out.Complete:
		a.PrintIncomplete(out.Incomplete.String())
	case !out.Applied:
		next := "--apply does it; --plan FILE keeps the plan"
		if out.File != "" {
			next = fmt.Sprintf("the plan is in %s, `%s` executes it", finding.Printable(out.File), a.CommandFor(out.File))
		}
		tellPlan(a, &t, next)
	case out.Rounds == 0:
		a.Print("%s. What was written meanwhile is not known.", done)
	case out.Settled && out.Kept == 0:
		a.PrintAs(terminal.Green, "%s, and nothing differs.", done)
	case out.Settled:
		a.Print("%s; %s there before with another value, and left.", done, terminal.Plural(out.Kept, "key"))
	default:
		a.PrintAs(terminal.Red, "%s; %s differ.", done, terminal.Plural(out.Last.Differ(), "key"))
	}
}
