package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

// Report describes what would be changed, or was; its JSON names are stable.
type Report struct {
	Verb   string `json:"verb"` // the command, as in "queues retry"
	Server string `json:"server"`
	cli.Scope
	Applied bool          `json:"applied"`
	Plan    *plan.Plan    `json:"plan,omitempty"`    // absent where a rename was done at once
	File    string        `json:"file,omitempty"`    // that the plan was written to
	Resumed bool          `json:"resumed,omitempty"` // the figures of interrupted runs of the plan are counted, too
	Done    *changeResult `json:"done,omitempty"`
	Phase   string        `json:"phase,omitempty" enum:"move,copy,verify,unlink"` // of a rename
	Undoes  string        `json:"undoes,omitempty"`                               // the file of the rename that is undone
	Unended bool          `json:"undoes_unended,omitempty"`                       // it has no end: its run was interrupted
	Copied  *namesCopied  `json:"copied,omitempty"`                               // of a rename's phases copy and verify
}

// changeResult describes what was done.
type changeResult struct {
	Total    journal.KeyCounts `json:"total"`
	Entries  []changedPart     `json:"entries"`              // their counts add up to those of total
	Left     []plan.Left       `json:"left_alone,omitempty"` // why keys were left alone or refused, in this run
	Complete bool              `json:"complete"`             // all keys were seen
	Problem  string            `json:"problem,omitempty"`
}

type changedPart struct {
	Entry string `json:"entry"` // "" for keys that no entry declares
	journal.KeyCounts
}

// report returns what each report of the run has.
func (r *Run) report() *Report {
	out := &Report{Verb: r.Name, Server: r.Config.String(), Scope: r.Scope, Undoes: r.undo, Unended: r.unended}
	if r.Name == "rename" {
		out.Phase = r.phase
	}
	return out
}

// words returns how the verb is named in messages.
func (r *Run) words() *Verb {
	v := *r.verb
	switch {
	case r.undo != "" && r.Name == "ttl":
		v.Would, v.Did = "would lose the TTL that ttl gave", "Took the TTL back from"
	case r.undo != "":
		v.Would, v.Did = "would get the names back that they had", "Gave the old names back to"
	case r.Name == "rename" && r.phase == phaseUnlink:
		v.Would, v.Did = "would be deleted", "Deleted"
	case r.Name == "rename" && r.phase == phaseCopy:
		v.Would = "would be copied"
	}
	return &v
}

func (r *Run) showPlan(p *plan.Plan, file string) error {
	report := r.report()
	report.Plan, report.File = p, file
	err := r.WriteReport(r.Output, report, func() error { return printPlan(r.App, p, r.words(), file) })
	return cmp.Or(err, r.Verdict(p))
}

// printPlan prints the counts of a plan, the changes that it lists, and how it is executed.
func printPlan(a *cli.App, p *plan.Plan, v *Verb, file string) error {
	a.PrintScope()
	var rows [][]string
	for _, e := range p.Entries {
		example := ""
		if len(e.Examples) > 0 {
			example = exampleOf(&e.Examples[0])
		}
		rows = append(rows, []string{cmp.Or(e.Entry, cli.UndeclaredName), terminal.Count(e.Keys), cli.CountOrNone(e.Change),
			bytesOrNone(e.Bytes), cli.CountOrNone(e.Leave), example})
	}
	columns := append(v.columns(), []terminal.Column{{Title: "to change", Right: true}, {Title: "memory", Right: true},
		{Title: "left alone", Right: true}, {Title: "example", Least: 16, Drop: 1}}...)
	if err := a.PrintTable(columns, rows); err != nil {
		return err
	}
	printChanges(a, p.Changes)
	printLeft(a, p.Left, v.Unit)
	for _, why := range p.Incomplete {
		a.PrintAs(terminal.Red, "not all was seen: %s", finding.Printable(why.What))
	}
	a.Print("%s %s%s. Nothing was changed.", terminal.Plural(p.Total.Change, v.Unit), v.Would, memory(p.Total.Bytes))
	if file != "" {
		a.Print("The plan is in %s; `%s` executes it.", finding.Printable(file), a.CommandFor(file))
	} else if p.Total.Change+int64(len(p.Changes)) > 0 && a.Takes("plan") {
		a.Print("--apply does it; --plan FILE keeps the plan.")
	} else if p.Total.Change+int64(len(p.Changes)) > 0 {
		a.Print("--apply does it.")
	}
	return nil
}

// columns returns the first columns of a table: what is counted, and by what.
func (v *Verb) columns() []terminal.Column {
	by := "entry"
	if v.Unit == "user" {
		by = "server"
	}
	return []terminal.Column{{Title: by, Least: 16}, {Title: v.Unit + "s", Right: true}}
}

// memory returns an amount of memory after a count, nothing where it is not known.
func memory(n int64) string {
	if n == 0 {
		return ""
	}
	return " (" + terminal.Bytes(n) + ")"
}

// shownChanges says how many changes are printed; -o json has all.
const shownChanges = 20

// printChanges prints the first of the changes that a plan lists.
func printChanges(a *cli.App, all []plan.Change) {
	for i, c := range all {
		if i == shownChanges {
			a.Print("and %s, which -o json lists", terminal.Plural(int64(len(all)-i), "more change"))
			break
		}
		words := slices.DeleteFunc([]string{c.Before, c.After}, func(w string) bool { return w == "" })
		a.Print("%s %s: %s", c.Verb, finding.Key(c.Key), finding.Printable(strings.Join(words, " -> ")))
	}
	if len(all) > 0 {
		a.Print("")
	}
}

// printLeft says why keys are left alone.
func printLeft(a *cli.App, left []plan.Left, unit string) {
	for _, l := range left {
		example := ""
		if len(l.Examples) > 0 {
			example = ", such as " + exampleOf(&l.Examples[0])
		}
		a.Print("left alone: %s (%s): %s%s", terminal.Plural(l.Keys, unit), l.Code, finding.Printable(l.What), example)
		if l.Fix != "" {
			a.Print("  %s", finding.Printable(l.Fix))
		}
	}
}

// exampleOf returns the name of a key, and its new one.
func exampleOf(e *plan.Example) string {
	if len(e.To) == 0 {
		return finding.Key(e.Key)
	}
	return finding.Key(e.Key) + " → " + finding.Key(e.To)
}

func bytesOrNone(n int64) string {
	if n == 0 {
		return ""
	}
	return terminal.Bytes(n)
}

// Verdict returns the exit code of a plan: that it may lack keys, or that something which is
// left alone is not in order.
func (r *Run) Verdict(p *plan.Plan) error {
	if len(p.Incomplete) > 0 {
		return cli.Partial("see to what it names, and run it again when the server is at rest", "not all was seen: %s",
			p.Incomplete[0].What)
	}
	return r.faults(p.Left)
}

// faults returns exit code 1 if something that was left alone is not in order.
func (r *Run) faults(left []plan.Left) error {
	if slices.ContainsFunc(left, func(l plan.Left) bool { return slices.Contains(r.verb.Wrong, l.Code) }) {
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

// Result returns what was done, in short.
func (r *Run) Result(ctx context.Context, report *apply.KeysReport, failed error) *changeResult {
	res := &changeResult{Total: report.KeyCounts, Entries: []changedPart{}, Left: report.Left,
		Complete: failed == nil && len(report.Summary.Incomplete) == 0}
	for _, name := range slices.Sorted(maps.Keys(report.Entries)) {
		res.Entries = append(res.Entries, changedPart{name, *report.Entries[name]})
	}
	switch {
	case failed != nil:
		res.Problem = Problem(ctx, failed)
	case !res.Complete:
		res.Problem = "not all was seen: " + report.Summary.Incomplete[0].String()
	}
	return res
}

// showDone prints what was done, and gives the exit code.
func (r *Run) showDone(ctx context.Context, p *plan.Plan, report *apply.KeysReport, failed error) error {
	a, res := r.App, r.Result(ctx, report, failed)
	a.Did = res.did(r.words().Did, r.verb.Unit)
	out := r.report()
	out.Applied, out.File, out.Resumed, out.Done = true, r.plan, r.resumed, res
	if !r.once {
		out.Plan = p
	}
	err := cmp.Or(r.WriteReport(r.Output, out, func() error { return r.printDone(res) }), ctx.Err())
	switch {
	case err != nil:
		return err
	case errors.Is(failed, writelease.ErrHeld):
		return cli.Refused("run it again when that one has ended: what was done is not done twice", "%v", failed)
	case cli.DiskFull(failed):
		return cli.Partial("make room on that disk and run it again, with a new file for what it keeps: "+
			"what was done is not done twice", "%s", res.Problem)
	case !res.Complete, report.Unknown > 0 && failed != nil:
		return cli.Partial("see to what it names, and run it again: what was done is not done twice", "%s", res.Problem)
	case report.Refused > 0:
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return r.faults(report.Left)
}

func (r *Run) printDone(res *changeResult) error {
	a := r.App
	a.PrintScope()
	var rows [][]string
	for _, p := range res.Entries {
		rows = append(rows, []string{cmp.Or(p.Entry, cli.UndeclaredName), terminal.Count(p.Keys), cli.CountOrNone(p.Changed),
			bytesOrNone(p.Bytes), cli.CountOrNone(p.Gone), cli.CountOrNone(p.KeyCounts.Left), cli.CountOrNone(p.Refused),
			cli.CountOrNone(p.Unknown)})
	}
	columns := append(r.verb.columns(), []terminal.Column{{Title: "changed", Right: true}, {Title: "memory", Right: true},
		{Title: "gone before", Right: true}, {Title: "left alone", Right: true},
		{Title: "refused", Right: true, Style: terminal.Red}, {Title: "unknown", Right: true, Style: terminal.Red}}...)
	if err := a.PrintTable(columns, rows); err != nil {
		return err
	}
	printLeft(a, res.Left, r.verb.Unit)
	if r.resumed {
		a.Print("What interrupted runs of this plan did is counted, too.")
	}
	if res.Problem != "" {
		a.PrintIncomplete(res.Problem)
	}
	a.Print("%s %s%s.", r.words().Did, terminal.Plural(res.Total.Changed, r.verb.Unit), memory(res.Total.Bytes))
	return nil
}

// did returns what was done, for where the report cannot be written.
func (res *changeResult) did(verb, unit string) string {
	t := res.Total
	text := fmt.Sprintf("%s %s, %s left alone, %s refused, %s unknown", verb, terminal.Plural(t.Changed, unit),
		terminal.Count(t.Left), terminal.Count(t.Refused), terminal.Count(t.Unknown))
	if res.Problem != "" {
		text += "; INCOMPLETE: " + res.Problem
	}
	return text
}

// Problem returns an error as reports have it.
func Problem(ctx context.Context, err error) string {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return "interrupted"
	}
	return cli.OneLine(err)
}

// Cannot says what the server was asked in vain.
func Cannot(what string, err error) error {
	return &keywright.Error{Class: keywright.Refused, Op: what, Err: err}
}
