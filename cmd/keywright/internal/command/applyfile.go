package command

import (
	"context"
	"errors"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/plan"
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

// takeUp prepares the execution of a plan of a verb, or goes on with one, if the plan holds.
func takeUp(ctx context.Context, a *cli.App, v *verb, path string, p *plan.Plan, o *applying) (r *changeRun,
	journal *apply.Journal, err error) {
	o.plan = path
	if r, err = prepare(ctx, a, v, p.Request, &o.changing, p); err != nil {
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
