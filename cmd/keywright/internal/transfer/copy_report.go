package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/selection"
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
	leftOut     map[plan.Code]int64

	Libraries *restore.LibraryReport `json:"libraries,omitempty"` // of functions; absent: there is none to copy
}

// copiedPart describes what became of the keys of one entry.
type copiedPart struct {
	Entry string `json:"entry"` // "" for keys that no entry declares
	journal.Counts
	Last compare.Figures `json:"last"` // of the last round
}

func (r *copyRun) report(in *copier.Report, failed error) *CopyReport {
	out := &CopyReport{Scope: r.App.Scope, Applied: r.copying.apply, File: r.plan, Total: in.Counts,
		Rounds: in.Rounds, Repaired: in.Repaired,
		Kept: in.Kept, Last: in.Checked.Figures,
		TargetOnly: in.Only.Extra, Deleted: in.Deleted, Memory: in.Memory, More: in.Checked.More,
		MoreReasons: in.More, leftOut: in.LeftOut, Entries: []copiedPart{},
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
	for _, entry := range append(cli.Indices(names), selection.Undeclared) {
		if c := in.Entries[entry]; c != nil {
			part := copiedPart{Entry: cli.EntryOrNone(names, entry), Counts: *c}
			if last := in.Checked.Entries[entry]; last != nil {
				part.Last = *last
			}
			out.Entries = append(out.Entries, part)
		}
	}
	for i := range in.Checked.Named {
		out.Differences = append(out.Differences, change.Differing(names, &in.Checked.Named[i]))
	}
	for i := range in.Only.Named {
		out.OnlyKeys = append(out.OnlyKeys, change.Differing(names, &in.Only.Named[i]))
	}
	for _, n := range in.Reasons {
		out.Reasons = append(out.Reasons, reasonedKey{n.Key, n.DB, n.Reason})
	}
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
	var err error
	r.Did = moved("Copied", out.Applied, &out.Total, out.Incomplete.String())
	if r.output == "json" {
		err = r.JSON(out)
	} else {
		err = r.print(out)
	}
	switch t := out.Total; {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(failed, new(*cli.Exit)):
		return failed
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
	table := movedTable{did: "copied", would: "to copy", applied: out.Applied,
		more: []terminal.Column{{Title: "differ", Right: true, Style: terminal.Red}}}
	for i := range out.Entries {
		table.Add(out.Entries[i].Entry, &out.Entries[i].Counts, cli.CountOrNone(out.Entries[i].Last.Differ()))
	}
	if err := table.print(a); err != nil {
		return err
	}
	for i := range out.Differences[:min(len(out.Differences), 10)] {
		a.Print("%s", difference1(&out.Differences[i]))
	}
	if more := out.More + int64(max(len(out.Differences)-10, 0)); more > 0 {
		a.Print("and %s more that differ: `keywright verify --keys-of all` prints them", terminal.Count(more))
	}
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
	for _, n := range out.From.Notes {
		a.Print("note: %s: %s", finding.Printable(out.From.Name), finding.Printable(n))
	}
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
		a.Print("%s", a.Out.Paint(terminal.Red, "INCOMPLETE: "+finding.Printable(out.Incomplete.String())))
	case !out.Applied:
		next := "--apply does it; --plan FILE keeps the plan"
		if out.File != "" {
			next = fmt.Sprintf("the plan is in %s, `%s` executes it", finding.Printable(out.File), a.CommandFor(out.File))
		}
		a.Print("%s would be written (%s). Nothing was changed; %s.", terminal.Plural(t.Restored, "key"),
			terminal.Bytes(t.Bytes), next)
	case out.Rounds == 0:
		a.Print("%s. What was written meanwhile is not known.", done)
	case out.Settled && out.Kept == 0:
		a.Print("%s", a.Out.Paint(terminal.Green, done+", and nothing differs."))
	case out.Settled:
		a.Print("%s; %s there before with another value, and left.", done, terminal.Plural(out.Kept, "key"))
	default:
		a.Print("%s",
			a.Out.Paint(terminal.Red, fmt.Sprintf("%s; %s differ.", done, terminal.Plural(out.Last.Differ(), "key"))))
	}
}
