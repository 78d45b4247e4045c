package transfer

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
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
	r.out.Resumed, r.planned = resumed, &now.Server
	return r.Execute(ctx, files, journal)
}

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

// asPlan returns a copy that was planned, as a plan. It has no passwords.
func (r *copyRun) asPlan(ctx context.Context, report *copier.Report, incomplete source.Reasons) (*plan.Plan, error) {
	var sides [2]plan.Server
	var urls [2]string
	roles := []server.Role{server.Auto, server.Primary}
	for i, at := range []*sources.Place{r.from, r.to} {
		id, err := server.Identify(ctx, at.Reader.Config(), roles[i])
		if err != nil {
			return nil, err
		}
		sides[i] = change.PlanServer(at.Reader.Config(), id)
		if urls[i], err = connect.WithoutPasswords(at.URL); err != nil {
			return nil, err
		}
	}
	for i := range sides[0].Shards { // a server gets another one with its first replica, which a snapshot is
		sides[0].Shards[i].ReplID = ""
	}
	q := change.Requested(&r.Selecting, r.Scan.OnlyDB)
	q.Namespace, q.Options = r.App.Namespace, r.options()
	maps.Copy(q.Options, map[string]string{"from": urls[0], "to": urls[1], "to-db": strconv.Itoa(r.toDB),
		"snapshot": strconv.FormatBool(r.Snapshot), "forks": strconv.Itoa(r.Forks),
		"writers": strconv.Itoa(r.writers), "rounds": strconv.Itoa(r.rounds), "read-from": r.Role})
	p := r.target.asPlan("copy", sides[1], q, &report.Report)
	p.From, p.Incomplete = &sides[0], change.Incomplete(incomplete)
	return p, p.Seal()
}

// ApplyCopy executes a plan of copy. What is at the target already, with the same value, is
// not written again, so that a run that was interrupted goes on.
func ApplyCopy(ctx context.Context, a *cli.App, path string, p *plan.Plan, o *change.Applying) error {
	if a.Given("url", "-u") {
		return cli.Usage("name the servers with --from and --to", "a plan of copy is for two servers")
	}
	q := p.Request
	again := copying{moving: movingAsIn(&q, o)}
	numbers := map[string]*int{"to-db": &again.toDB, "writers": &again.writers, "rounds": &again.rounds,
		"forks": &again.Forks}
	for name, into := range numbers {
		n, err := strconv.Atoi(q.Options[name])
		if err != nil {
			return cli.Usage("make a new plan", "%s has no %s", path, name)
		}
		*into = n
	}
	again.Snapshot, again.Role = q.Options["snapshot"] == "true", q.Options["read-from"]
	again.Scan = server.Options{OnlyDB: q.DB, Rate: o.Rate, MaxLatency: o.MaxLatency}
	urls := []string{q.Options["from"], q.Options["to"]}
	for i, given := range []string{o.From, o.To} {
		if given == "" {
			continue
		}
		planned, now := sources.NamedDB(connect.Options{URL: urls[i]}), sources.NamedDB(connect.Options{URL: given})
		if why := plan.OtherDatabaseThan(planned, now); why != nil {
			return change.Drifted(a, o.Output, path, why)
		}
		urls[i] = given
	}
	now, err := replanCopy(ctx, a, urls, again)
	if err != nil {
		return err
	}
	if err := o.Holds(a, path, p, now, fewer(p, now), nil); err != nil {
		return err
	}
	again.apply = true
	return copyKeys(ctx, a, urls, &again, &now.Server)
}

func replanCopy(ctx context.Context, a *cli.App, urls []string, o copying) (*plan.Plan, error) {
	defer cli.LimitMemory()()
	r, err := openCopy(ctx, a, urls, &o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	report, err := r.pass(ctx)
	if err != nil {
		return nil, err
	}
	return r.asPlan(ctx, &report, r.report(&report, nil).Incomplete)
}
