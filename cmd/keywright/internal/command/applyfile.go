package command

import (
	"context"
	"errors"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/plan"
	"github.com/spf13/cobra"
)

// applying holds the flags of apply.
type applying struct {
	changing
	drift int
	from  string // of a plan of copy
	to    string
}

// journalName says what the name of a plan's journal ends with.
const journalName = ".journal"

// undoName says what the name of the file ends with that says what a plan has renamed.
const undoName = ".undo"

// usualDrift is the --drift of apply.
const usualDrift = 10

// leastDrift is by how many keys the counts of an entry may always differ.
const leastDrift = 10

func applyCommand(a *cli.App) *cobra.Command {
	var o applying
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Execute a plan that --plan wrote, if it still holds",
		Long: `Executes a plan. Before it changes anything it makes the same plan again and compares:
the servers must be the same ones (run ID, replication ID, version, slots), not emptied
meanwhile, the declaration must be the same, and of no entry may the number of keys that
would be changed differ by more than --drift percent (or ten keys). Else it says what
differs, and changes nothing.

What is done is in FILE.journal, on the disk before the server is told. A run that
was interrupted or killed goes on with it, and the report counts all runs. A plan
that was executed to its end is not executed again. A plan of rename or ttl also writes
FILE.undo. keywright apply FILE.undo gives every key its old name back, where nothing is
in the way, or takes the TTL back from each key that still ends when the plan said. Plans
of copy need no journal: what is at the target with its value is not written again.

` + exitCodesOfChanges,
		Example: `  keywright delete --undeclared --plan stray.plan
  keywright apply stray.plan
  keywright apply stray.plan --rate 1000 --drift 0`,
		Args: onePlan,
		RunE: func(c *cobra.Command, args []string) error { return applyPlan(c.Context(), a, args[0], &o) },
	}
	a.ServerFlags(c)
	o.pacing.Flags(c)
	o.ring.Flags(c)
	cli.Outputs(c, &o.output, "table", "json")
	f := c.Flags()
	f.IntVar(&o.drift, "drift", usualDrift, "by how many percent the counts of an entry may have moved")
	f.StringVar(&o.from, "from", "", "of a plan of copy: the URL of the source, with its password")
	f.StringVar(&o.to, "to", "", "of a plan of copy: the URL of the target, with its password")
	o.keepFlag(c)
	for _, name := range []string{"from", "to"} {
		f.Lookup(name).Annotations = map[string][]string{cli.NoVariable: {"servers of each plan"}}
	}
	return c
}

func applyPlan(ctx context.Context, a *cli.App, path string, o *applying) error {
	if err := errors.Join(cli.OneOf("output", o.output, "table", "json"), o.check()); err != nil {
		return err
	}
	if o.drift < 0 {
		return cli.Usage("write --drift 10", "--drift cannot be negative")
	}
	if isUndo(path) {
		if o.keep != "" {
			return onlyDeletions("an undo")
		}
		return undoRename(ctx, a, path, &changing{pacing: o.pacing, apply: true, output: o.output})
	}
	p, err := readPlan(path)
	if err != nil {
		return err
	}
	if o.keep != "" && p.Verb != "delete" && p.Verb != "clean" {
		return onlyDeletions("one of " + p.Verb)
	}
	a.Namespace = p.Request.Namespace
	if p.Verb == "copy" {
		return applyCopy(ctx, a, path, p, o)
	}
	if o.from+o.to != "" {
		return cli.Usage("leave them out", "--from and --to are for plans of copy, and this is one of %s", p.Verb)
	}
	if p.Verb == "restore" {
		return applyRestore(ctx, a, path, p, o)
	}
	if verbs[p.Verb] == nil {
		return cli.Usage("use the keywright that made it", "%s is a plan of %q, which this program does not execute",
			path, p.Verb)
	}
	o.asIn(&p.Request)
	r, journal, err := takeUp(ctx, a, path, p, o)
	if err != nil {
		return err
	}
	defer r.Close()
	defer journal.Close()
	return r.execute(ctx, p, journal)
}

// takeUp prepares the execution of a plan of a verb, or goes on with one, if the plan holds.
func takeUp(ctx context.Context, a *cli.App, path string, p *plan.Plan, o *applying) (r *changeRun,
	journal *apply.Journal, err error) {
	o.plan = path
	if r, err = prepare(ctx, a, p.Verb, p.Request, &o.changing, p); err != nil {
		return nil, nil, err
	}
	if journal, r.resumed, err = openJournal(path, p, r.verb.unit, r.nameKept); err == nil {
		if err = r.hold(ctx, path, p, journal, o); err == nil {
			return r, journal, nil
		}
		err = errors.Join(err, journal.Close())
	}
	r.Close()
	return nil, nil, err
}

// hold refuses a plan that does not hold any more, and opens what notes how it is undone.
func (r *changeRun) hold(ctx context.Context, path string, p *plan.Plan, journal *apply.Journal,
	o *applying) (err error) {
	if err := r.makePlan(ctx); err != nil {
		return err
	}
	if err := drifted(r.App, path, p.Drift(r.made, o.tolerance(journal.Changed()))); err != nil {
		return err
	}
	if p.Verb == "rename" && r.phase == phaseMove || p.Verb == "ttl" {
		if r.undoing, err = apply.OpenUndo(path+undoName, p); err != nil {
			return cli.Usage("remove the file if the plan is a new one", "what is done cannot be noted: %v", err)
		}
	}
	return nil
}

// onlyDeletions refuses --keep for another file than a plan that deletes.
func onlyDeletions(this string) error {
	return cli.Usage("leave it out", "--keep is for plans of delete and clean, and this is %s", this)
}

// openJournal opens the journal of a plan that was not executed to its end. Where it was, done
// is called; nil: nothing is.
func openJournal(path string, p *plan.Plan, unit string, done func() error) (j *apply.Journal, resumed bool,
	err error) {
	j, resumed, err = apply.OpenJournal(path+journalName, p.ID)
	switch {
	case errors.Is(err, apply.ErrInUse):
		return nil, false, &cli.Exit{Code: cli.ExitRefused, Message: path + " is being executed by another process", Hint: "wait until it has ended"}
	case err != nil:
		return nil, false, cli.Usage("remove the file if the plan is a new one", "the journal cannot be used: %v", err)
	case !j.Done():
		return j, resumed, nil
	}
	err = j.Close()
	if done != nil {
		err = errors.Join(err, done())
	}
	return nil, false, errors.Join(&ended{cli.Usage("make a new plan", "%s was executed to its end: %s changed", path,
		terminal.Plural(j.Total().Changed, unit)), j.Total()}, err)
}

// ended represents the error of a plan that was executed to its end.
type ended struct {
	error
	total apply.KeyCounts
}

func (e *ended) Unwrap() error { return e.error }

// tolerance returns how far counts may have moved.
func (o *applying) tolerance(done, maybe map[string]int64) plan.Tolerance {
	t := plan.Tolerance{Share: float64(o.drift) / 100, Least: leastDrift, Done: done, Maybe: maybe}
	if o.drift == 0 {
		t.Least = 0
	}
	return t
}

// drifted refuses a plan that does not hold any more.
func drifted(a *cli.App, path string, why []plan.Reason) error {
	if len(why) == 0 {
		return nil
	}
	for _, d := range why {
		a.Print("%s: %s", d.Code, finding.Printable(d.What))
	}
	return &cli.Exit{Code: cli.ExitRefused, Message: path + " does not hold any more: " + why[0].What + "; nothing was changed", Hint: why[0].Fix}
}
