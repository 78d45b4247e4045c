package transfer

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/source/server"
)

// asPlan returns a restore that was planned, as a plan.
func (r *restoreRun) asPlan(ctx context.Context, paths []string, out *RestoreReport) (*plan.Plan, error) {
	id, err := server.Identify(ctx, r.config, server.Primary)
	if err != nil {
		return nil, err
	}
	files, err := absolute(append(slices.Clone(paths), r.Identities...))
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{Format: plan.Format, Verb: "restore", Made: r.App.Now().UTC().Truncate(time.Millisecond),
		Tool: cli.Version().Version, Server: change.PlanServer(r.config, id), Declaration: plan.Digest(r.sel.Schema)}
	p.Request = plan.Request{Entries: r.Entries, Owners: r.Owners, Globs: r.Globs, Where: r.Where,
		Undeclared: r.Undeclared, Anywhere: r.Anywhere, DB: r.db, Archive: r.meta.ID, Namespace: r.App.Namespace}
	p.Request.Options = map[string]string{"files": change.Packed(files[:len(paths)]),
		"identities": change.Packed(files[len(paths):]),
		"existing":   r.existing, "ttl": r.ttl,
		"momentary": strconv.FormatBool(r.momentary), "from-namespace": r.From}
	if r.evict {
		p.Request.Options["evict"] = "true"
	}
	entries := map[string]journal.Counts{}
	for _, e := range out.Entries {
		entries[e.Entry] = e.Counts
	}
	planCounts(p, out.Total, entries, out.leftOut)
	p.Libraries = plannedLibraries(out.Libraries)
	return p, p.Seal()
}

// planCounts are what would be written, and what not and why.
func planCounts(p *plan.Plan, total journal.Counts, entries map[string]journal.Counts, left map[plan.Code]int64) {
	p.Entries = []plan.Part{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		c := plan.Counts{Keys: e.Keys, Change: e.Restored, Leave: e.Keys - e.Restored, Bytes: e.Bytes}
		p.Entries = append(p.Entries, plan.Part{Entry: name, Counts: c})
		p.Total.Keys, p.Total.Change, p.Total.Leave, p.Total.Bytes = p.Total.Keys+c.Keys, p.Total.Change+c.Change,
			p.Total.Leave+c.Leave, p.Total.Bytes+c.Bytes
	}
	type leaving struct {
		code plan.Code
		keys int64
	}
	list := []leaving{{plan.AsItIs, total.Same}, {plan.There, total.Existing}, {plan.Expired, total.Expired},
		{plan.Refused, total.Refused + total.Unknown}}
	for _, code := range slices.Sorted(maps.Keys(left)) {
		list = append(list, leaving{code, left[code]})
	}
	for _, l := range list {
		if l.keys > 0 {
			p.Left = append(p.Left, plan.Left{Code: l.code, What: l.code.What(), Fix: l.code.Fix(), Keys: l.keys})
		}
	}
}

// ApplyRestore executes a plan of restore. What was restored is not restored again.
func ApplyRestore(ctx context.Context, a *cli.App, path string, p *plan.Plan, o *change.Applying) error {
	q := p.Request
	again := &restoring{Selecting: *change.Selected(&q), Mapping: sources.Mapping{From: q.Options["from-namespace"]},
		existing: q.Options["existing"], ttl: q.Options["ttl"], db: q.DB,
		momentary: q.Options["momentary"] == "true", evict: q.Options["evict"] == "true", writers: 4,
		rate: o.Rate, output: o.Output, progress: o.Progress}
	files := change.Unpacked(q.Options["files"])
	again.Unlocking = sources.Unlocking{Identities: change.Unpacked(q.Options["identities"]), Keyring: o.Ring}
	journal, resumed, err := change.OpenJournal(path, p, "key", nil)
	if err != nil {
		return err
	}
	defer journal.Close()
	if len(files) == 0 {
		return cli.Usage("make the plan again: keywright restore ARCHIVE --plan "+path, "the plan %s names no archive", path)
	}
	now, err := replan(ctx, a, files, *again)
	if err != nil {
		return err
	}
	if err := change.Drifted(a, o.Output, path, p.Drift(now, o.Tolerance(fewer(p, now), nil))); err != nil {
		return err
	}
	r, err := openRestore(ctx, a, files, again)
	if err != nil {
		return err
	}
	defer r.Close()
	r.resumed, r.planned = resumed, &now.Server
	return r.Execute(ctx, files, journal)
}

// fewer is by how many keys less would be restored now: they are there by now, as after
// a run that was interrupted.
func fewer(p, now *plan.Plan) map[string]int64 {
	out := map[string]int64{}
	for _, e := range p.Entries {
		out[e.Entry] += e.Change
	}
	for _, e := range now.Entries {
		out[e.Entry] -= e.Change
	}
	for entry, n := range out {
		out[entry] = max(n, 0)
	}
	return out
}

// replan plans a restore again.
func replan(ctx context.Context, a *cli.App, files []string, o restoring) (*plan.Plan, error) {
	r, err := openRestore(ctx, a, files, &o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out, err := r.pass(ctx, files[len(files)-1], restore.Options{Plan: true})
	if err != nil {
		return nil, err
	}
	return r.asPlan(ctx, files, out)
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
