package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
)

// goOn says what to do after a restore that did not come to its end.
func (out *RestoreReport) goOn(failed error) string {
	var cut *archive.CutError
	switch {
	case errors.As(failed, &cut):
		return "take another copy of the archive: `keywright archive verify` says how far this one is good"
	case !out.Applied:
		return "nothing was changed; it was only a plan"
	case evicts(failed):
		return "raise maxmemory, or set maxmemory-policy noeviction; --evict goes on whatever the server evicts"
	}
	return "what was restored is right; run it again to go on"
}

// evicts reports whether an error is that a server evicts keys, or would.
func evicts(err error) bool {
	return errors.As(err, new(*restore.EvictionError)) || errors.As(err, new(*restore.RoomError))
}

// tellMemory says which of the servers that are written to may evict keys, and what they have evicted.
func tellMemory(a *cli.App, servers []restore.Memory) {
	for _, m := range servers {
		if m.Evicts() {
			a.Print("note: %s has %s of %s (maxmemory) in use, and evicts keys, of any program, when that is full (%s); "+
				"evicted: %s", m.Server, terminal.Bytes(m.Used), terminal.Bytes(m.Limit), m.Policy, terminal.Count(m.Evicted))
		}
	}
}

// Show says what was done, and gives the exit code.
func (r *restoreRun) Show(ctx context.Context, out *RestoreReport, failed error) error {
	r.Did = moved("Restored", out.Applied, &out.Total, out.Problem)
	err := r.show(ctx, r.App, out, func() error { return r.print(out) }, failed)
	switch t := out.Total; {
	case err != nil:
		return err
	case failed != nil || !out.Complete:
		return cli.Partial(out.goOn(failed), "%s", out.Problem)
	case librariesFailed(out.Libraries, r.existing), t.Refused+t.Unknown > 0,
		t.Existing > 0 && r.existing == string(restore.Fail):
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

func (r *restoreRun) print(out *RestoreReport) error {
	a := r.App
	a.PrintScope()
	var rows [][]string
	for _, p := range out.Entries {
		rows = append(rows, movedRow(p.Entry, &p.Counts))
	}
	if err := printMoved(a, didOrWould(out.Applied, "restored", "to restore"), rows); err != nil {
		return err
	}
	tellReasons(a, out.Reasons, out.More)
	a.PrintKeys(out.NotMeant, "%s of the archive were not asked for")
	if out.Foreign > 0 {
		a.Print("%s of these are foreign: other programs', as the declaration says, or keywright's own",
			terminal.Count(out.Foreign))
	}
	for _, note := range out.TornKeys.Notes() {
		a.PrintAs(terminal.Yellow, "%s", note)
	}
	if out.OtherLibs > 0 {
		a.Print("libraries of functions of the archive that were not asked for, since not all keys were: %d", out.OtherLibs)
	}
	tellLoaded(a, out.Libraries, out.Applied)
	tellMemory(a, out.Memory)
	if out.Resumed {
		a.Print("What interrupted runs of this plan did is counted, too.")
	}
	r.Verdict(out)
	return nil
}

func (r *restoreRun) Verdict(out *RestoreReport) {
	a, t := r.App, out.Total
	failed := t.Refused + t.Unknown
	if r.existing == string(restore.Fail) {
		failed += t.Existing
	}
	switch {
	case !out.Complete:
		a.PrintAs(terminal.Red, "INCOMPLETE: %s of %s %s: %s", terminal.Count(t.Restored), terminal.Plural(t.Keys, "key"),
			didOrWould(out.Applied, "that were read were restored",
				"that were read would be written, and nothing was changed"), finding.Printable(out.Problem))
	case !out.Applied:
		tellPlan(a, &t, "--apply does it")
		if r.plan != "" {
			a.Print("The plan is in %s; `%s` executes it.", finding.Printable(r.plan), a.CommandFor(r.plan))
		}
	case failed > 0:
		a.PrintAs(terminal.Red, "%s of %s were not restored.", terminal.Count(failed), terminal.Plural(t.Keys, "key"))
	default:
		a.PrintAs(terminal.Green, "Restored %s (%s) in %s.", terminal.Plural(t.Restored, "key"),
			terminal.Bytes(t.Bytes), terminal.Duration(time.Duration(out.DurationMS)*time.Millisecond))
	}
}

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
		Rounds: in.Rounds, Repaired: in.Repaired, Kept: in.Kept, Last: in.Checked.Figures,
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
		return cli.Partial("nothing was changed; it was only a plan", "not all keys were seen: %s", out.Incomplete)
	case !out.Complete:
		return cli.Partial(goOnCopying(failed), "%s", out.Incomplete)
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
	a.PrintKeys(out.Deleted,
		"%s deleted at the target: this run had written them, and the source deleted them meanwhile")
	a.PrintKeys(out.TargetOnly,
		"%s only at the target: they were there before, or went away at the source meanwhile; -o json names some")
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
