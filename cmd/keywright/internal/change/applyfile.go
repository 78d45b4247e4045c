package change

import (
	"context"
	"errors"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
)

type Applying struct {
	Changing
	Drift int
	From  string // of a plan of copy
	To    string
}

// journalName says what the name of a plan's journal ends with.
const journalName = ".journal"

// undoName says what the name of the file ends with that says what a plan has renamed.
const undoName = ".undo"

// UsualDrift is the --drift of apply.
const UsualDrift = 10

// leastDrift is by how many keys the counts of an entry may always differ.
const leastDrift = 10

// TakeUp prepares the execution of a plan of a verb, or goes on with one, if the plan holds.
func TakeUp(ctx context.Context, a *cli.App, v *Verb, path string, p *plan.Plan, o *Applying) (r *Run,
	journal *journal.Journal, err error) {
	o.plan = path
	if r, err = Prepare(ctx, a, v, p.Request, &o.Changing, p); err != nil {
		return nil, nil, err
	}
	if journal, r.resumed, err = OpenJournal(path, p, r.verb.Unit, r.nameKept); err == nil {
		if err = r.hold(ctx, path, p, journal, o); err == nil {
			return r, journal, nil
		}
		err = errors.Join(err, journal.Close())
	}
	r.Close()
	return nil, nil, err
}

// hold refuses a plan that does not hold any more, and opens what notes how it is undone.
func (r *Run) hold(ctx context.Context, path string, p *plan.Plan, journal *journal.Journal,
	o *Applying) (err error) {
	if err := r.MakePlan(ctx); err != nil {
		return err
	}
	done, maybe := journal.Changed()
	if err := o.Holds(r.App, path, p, r.Made, done, maybe); err != nil {
		return err
	}
	if p.Verb == "rename" && r.phase == phaseMove || p.Verb == "ttl" {
		if r.undoing, err = apply.OpenUndo(path+undoName, p); err != nil {
			return cli.Usage("remove the file if the plan is a new one", "what is done cannot be noted: %v", err)
		}
	}
	return nil
}

// OnlyDeletions refuses --keep for another file than a plan that deletes.
func OnlyDeletions(this string) error {
	return cli.Usage("leave it out", "--keep is for plans of delete and clean, and this is %s", this)
}

// OpenJournal opens the journal of a plan that was not executed to its end. Where it was, done
// is called; nil: nothing is.
func OpenJournal(path string, p *plan.Plan, unit string, done func() error) (j *journal.Journal, resumed bool,
	err error) {
	j, resumed, err = journal.Open(path+journalName, p.ID)
	switch {
	case errors.Is(err, journal.ErrInUse):
		return nil, false, cli.Refused("wait until it has ended", "%s is being executed by another process", path)
	case err != nil:
		return nil, false, cli.Usage("remove the file if the plan is a new one", "the journal cannot be used: %v", err)
	case !j.Done():
		return j, resumed, nil
	}
	err = j.Close()
	if done != nil {
		err = errors.Join(err, done())
	}
	return nil, false, errors.Join(&Ended{cli.Usage("make a new plan", "%s was executed to its end: %s changed", path,
		terminal.Plural(j.Total().Changed, unit)), j.Total()}, err)
}

// Ended represents the error of a plan that was executed to its end.
type Ended struct {
	error
	Total journal.KeyCounts
}

func (e *Ended) Unwrap() error { return e.error }

// Holds refuses a plan that differs from now by more than --drift allows. done says how many changes of it were made,
// by entry, and maybe how many may have been.
func (o *Applying) Holds(a *cli.App, path string, p, now *plan.Plan, done, maybe map[string]int64) error {
	t := plan.Tolerance{Share: float64(o.Drift) / 100, Least: leastDrift, Done: done, Maybe: maybe}
	if o.Drift == 0 {
		t.Least = 0
	}
	return Drifted(a, o.Output, path, p.Drift(now, t))
}

// Drifted refuses a plan that does not hold any more. With output json the reasons are on standard error.
func Drifted(a *cli.App, output, path string, why []plan.Reason) error {
	if len(why) == 0 {
		return nil
	}
	tell := a.Print
	if output == "json" { // whose reader waits for a document
		tell = a.Say
	}
	tellReasons(tell, why)
	return cli.Refused(why[0].Fix, "%s does not hold any more: %s; nothing was changed", path, why[0].What)
}

func tellReasons(tell func(string, ...any), why []plan.Reason) {
	for _, d := range why {
		tell("%s: %s", d.Code, finding.Printable(d.What))
	}
}
