package transfer

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/source/server"
)

// asPlan returns a restore that was planned, as a plan.
func (r *restoreRun) asPlan(ctx context.Context, paths []string) (*plan.Plan, error) {
	id, err := server.Identify(ctx, r.config, server.Primary)
	if err != nil {
		return nil, err
	}
	files, err := absolute(append(slices.Clone(paths), r.Identities...))
	if err != nil {
		return nil, err
	}
	q := change.Requested(&r.Selecting, r.toDB)
	q.Archive, q.Namespace, q.Options = r.meta.ID, r.App.Namespace, r.options()
	q.Options["files"], q.Options["identities"] = change.Packed(files[:len(paths)]), change.Packed(files[len(paths):])
	p := r.target.asPlan("restore", change.PlanServer(r.config, id), q, &r.report)
	return p, p.Seal()
}

// ApplyRestore executes a plan of restore. What was restored is not restored again.
func ApplyRestore(ctx context.Context, a *cli.App, path string, p *plan.Plan, o *change.Applying) error {
	q := p.Request
	again := restoring{moving: movingAsIn(&q, o), rate: o.Rate,
		Unlocking: sources.Unlocking{Identities: change.Unpacked(q.Options["identities"]), Keyring: o.Ring}}
	again.toDB, again.writers = q.DB, 4
	files := change.Unpacked(q.Options["files"])
	journal, resumed, err := change.OpenJournal(path, p, "key", nil)
	if err != nil {
		return err
	}
	defer journal.Close()
	if len(files) == 0 {
		return cli.Usage("make the plan again: keywright restore ARCHIVE --plan "+path, "the plan %s names no archive", path)
	}
	now, err := replan(ctx, a, files, again)
	if err != nil {
		return err
	}
	if err := o.Holds(a, path, p, now, fewer(p, now), nil); err != nil {
		return err
	}
	r, err := openRestore(ctx, a, files, &again)
	if err != nil {
		return err
	}
	defer r.Close()
	r.resumed, r.planned = resumed, &now.Server
	return r.Execute(ctx, files, journal)
}

// replan plans a restore again.
func replan(ctx context.Context, a *cli.App, files []string, o restoring) (*plan.Plan, error) {
	r, err := openRestore(ctx, a, files, &o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if _, err := r.pass(ctx, files[len(files)-1], restore.Options{Plan: true}); err != nil {
		return nil, err
	}
	return r.asPlan(ctx, files)
}

// absolute returns the same files from any folder.
func absolute(files []string) ([]string, error) {
	for i, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		files[i] = full
	}
	return files, nil
}
