package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/janitor"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/saving"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// jobVerbs lists the verbs that do the works that go through a plan.
var jobVerbs = map[keyspace.Work]string{keyspace.WorkClean: "clean", keyspace.WorkTTL: "ttl"}

// janitorUser is the user that its plans are by.
var janitorUser = operate.By{User: "janitor"}

// worker does the jobs of one target of serve.
type worker struct {
	planner *planner
	target  *observe.Target
	desk    *operate.PlanQueue
	backups string // the folder for archives
}

// do does the work of a job.
func (w *worker) do(ctx context.Context, j *keyspace.Job, resume string, begun func(string) error) (string, error) {
	switch j.Do {
	case keyspace.WorkAudit:
		return w.audit(ctx)
	case keyspace.WorkSweep:
		return sweepOnce(ctx, w.planner.quiet(), j)
	case keyspace.WorkBackup:
		return backupOnce(ctx, w.planner.quiet(), j, w.backups, fileWord(w.target.ID), resume, begun)
	}
	return w.change(ctx, j, resume, begun)
}

// audit asks for an audit, and waits for it.
func (w *worker) audit(ctx context.Context) (string, error) {
	changes, stop := w.target.Subscribe()
	defer stop()
	began := w.target.Now()
	w.target.AuditNow()
	for {
		switch st := w.target.State(); {
		case st.Failed != nil && !st.Failed.At.Before(began):
			return "", errors.New(st.Failed.What)
		case st.Partial != nil && !st.Partial.At.Before(began):
			return "", fmt.Errorf("the audit was not whole: %s", st.Partial.Report.Incomplete)
		case st.Audit != nil && !st.Audit.At.Before(began):
			return "audited " + terminal.Plural(st.Audit.Report.Total.Keys, "key"), nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-changes:
		}
	}
}

// change makes a plan and executes it, or goes on with one that a killed run has left.
func (w *worker) change(ctx context.Context, j *keyspace.Job, resume string, begun func(string) error) (string, error) {
	id := resume
	if d, there := w.desk.Get(w.target.ID, id); id == "" || !there || d.State == observe.Refused ||
		d.State == observe.Done && d.Did == nil {
		var err error
		if id, err = w.plan(ctx, j); err != nil {
			return "", err
		}
		if err := begun(id); err != nil {
			return "", err
		}
	} else if d.State == observe.Done {
		return done(&d), nil
	}
	if d, _ := w.desk.Get(w.target.ID, id); d.Change == 0 && d.Listed == 0 {
		return "there was nothing to change" + lacking(&d), errors.Join(w.desk.Forget(w.target.ID, id), unseen(&d))
	}
	if err := w.desk.Apply(w.target.ID, id, janitorUser); err != nil {
		return "", busyWaits(err)
	}
	d, _ := w.desk.Wait(ctx, w.target.ID, id, janitorUser)
	if d.State != observe.Done {
		return "", fmt.Errorf("the plan %s is %s: %s", id, d.State, d.Problem)
	}
	return done(&d), nil
}

// plan makes the plan of a job.
func (w *worker) plan(ctx context.Context, j *keyspace.Job) (string, error) {
	ask := operate.Ask{Verb: jobVerbs[j.Do], Select: map[string]string{}}
	if j.Entry != nil {
		ask.Select["entry"] = j.Entry.Name
	}
	id, made, err := w.desk.Make(w.target.ID, janitorUser, ask)
	if err != nil {
		return "", busyWaits(err)
	}
	select {
	case <-made:
	case <-ctx.Done():
		_ = w.desk.Stop(w.target.ID, id, janitorUser)
		<-made
		return "", ctx.Err()
	}
	if d, _ := w.desk.Get(w.target.ID, id); d.State != observe.Planned {
		return "", errors.New(d.Problem)
	}
	return id, nil
}

// busyWaits puts a job off while another plan is under way.
func busyWaits(err error) error {
	if r, ok := errors.AsType[*operate.Refusal](err); ok && (r.Code == "busy" || r.Code == "acting") {
		return &janitor.Wait{Reason: janitor.Busy, What: r.Message}
	}
	return err
}

// done tells what a plan did.
func done(d *operate.Detail) string {
	if d.Did == nil {
		return "nothing was to be done"
	}
	return "changed " + terminal.Plural(d.Did.Total.Changed, "key")
}

func lacking(d *operate.Detail) string {
	if len(d.Incomplete) == 0 {
		return ""
	}
	return ", of what was seen"
}

// unseen returns an error where not all keys were seen.
func unseen(d *operate.Detail) error {
	if len(d.Incomplete) == 0 {
		return nil
	}
	return fmt.Errorf("not all keys were seen: %s", d.Incomplete[0].What)
}

// sweepOnce sweeps entities. Where another process sweeps one it is left to that.
func sweepOnce(ctx context.Context, a *cli.App, j *keyspace.Job) (did string, err error) {
	var names []string
	if j.Entry != nil {
		names = []string{j.Entry.Name}
	}
	gone, left := int64(0), time.Duration(0)
	err = a.WithConstructs(ctx, keyspace.Entity, names, func(c *keywright.Client, entries []*keyspace.Entry) error {
		g := &answer.Gaps{}
		err := a.ConstructReader(c).EachEntity(ctx, entries, g,
			func(_ *keyspace.Entry, _ *finding.JSONKey, s *bind.Items) error {
				done, err := s.Sweep(ctx, entity.SweepOptions{})
				gone, left = gone+int64(done.Gone), max(left, done.Busy)
				return err
			})
		return errors.Join(err, cli.ListedInPart(g, "entities"))
	})
	if err != nil {
		return "", refusal(ctx, a, err)
	}
	did = "swept " + terminal.Plural(gone, "item")
	if left > 0 {
		did += ", and left the rest to another process that sweeps"
	}
	return did, nil
}

// backupOnce writes a backup, reads it again, and deletes those that are too many. note is the
// name of a file that a killed run has begun.
func backupOnce(ctx context.Context, a *cli.App, j *keyspace.Job, dir, target, note string,
	begun func(string) error) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name := note
	if name == "" || filepath.Base(name) != name {
		name = janitor.BackupName(target, j.Name, a.Now())
		if err := begun(name); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil { // else the run was killed after it was written
		o := &saving.Backing{To: path, Resume: true, Output: "json"}
		o.Progress, o.Role, o.Scan.OnlyDB, o.Scan.MaxLatency = "none", "auto", -1, change.UsualLatency
		if err := saving.Backup(ctx, a, o); err != nil {
			if e, ok := errors.AsType[*cli.Exit](err); ok && e.Message == "" {
				return "", fmt.Errorf("not all keys could be saved; %s%s has what could", name, archivefile.Part)
			}
			return "", refusal(ctx, a, err)
		}
	}
	r, err := saving.Verified(ctx, path, sources.ArchiveKeys(ctx, a, &sources.Unlocking{}))
	if err == nil && !r.Complete {
		err = errors.New(r.Problem)
	}
	if err != nil {
		return "", fmt.Errorf("%s is not good, and no backup was deleted: %w", name, err)
	}
	good := func(path string) bool {
		r, err := saving.Verified(ctx, path, sources.ArchiveKeys(ctx, a, &sources.Unlocking{}))
		return err == nil && r.Complete
	}
	deleted, err := janitor.Retain(dir, target, j.Name, j.Keep, good)
	if err != nil {
		return "", fmt.Errorf("%s is good, but an older backup could not be deleted: %w", name, err)
	}
	did := fmt.Sprintf("saved %s in %s", terminal.Plural(r.Keys, "key"), name)
	if deleted > 0 {
		did += ", and deleted " + terminal.Plural(int64(deleted), "older backup")
	}
	return did, nil
}

// discardParts removes what runs of backups have left that no run will go on with: they were killed, and another
// program
// has made the backup meanwhile, or they have failed.
func discardParts(a *cli.App, dir, target string, k *janitor.Janitor) {
	for _, j := range k.Jobs {
		if j.Do != keyspace.WorkBackup {
			continue
		}
		parts, err := janitor.Parts(dir, target, j.Name)
		for _, path := range parts {
			if filepath.Base(path) != k.Note(j.Name) {
				err = cmp.Or(err, archivefile.Discard(path))
			}
		}
		if err != nil {
			a.Say("warning: what is left of a backup cannot be removed: %s", finding.Printable(err.Error()))
		}
	}
}

// keepsBackups reports whether some job needs a folder for archives.
func keepsBackups(jobs []*keyspace.Job) bool {
	for _, j := range jobs {
		if j.Do == keyspace.WorkBackup {
			return true
		}
	}
	return false
}

// fileWord returns an id of a target as a part of the name of a file.
func fileWord(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
}
