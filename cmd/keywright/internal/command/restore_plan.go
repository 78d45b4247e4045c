package command

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source/server"
)

// asPlan is a restore that was planned, as a plan.
func (r *restoreRun) asPlan(ctx context.Context, path string, out *restoreReport) (*plan.Plan, error) {
	id, err := server.Identify(ctx, r.config)
	if err != nil {
		return nil, err
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{Format: plan.Format, Verb: "restore", Made: r.app.now().UTC().Truncate(time.Millisecond),
		Tool: version().Version, Server: planServer(r.config, id), Declaration: plan.Digest(r.ks)}
	p.Request = plan.Request{Entries: r.entries, Owners: r.owners, Globs: r.globs, Where: r.where,
		Undeclared: r.undeclared, DB: r.db, Archive: r.in.Meta.ID, Namespace: r.app.namespace}
	p.Request.Options = map[string]string{"file": full, "existing": r.existing, "ttl": r.ttl,
		"momentary": strconv.FormatBool(r.momentary)}
	p.Entries = []plan.Part{}
	for _, e := range out.Entries {
		c := plan.Counts{Keys: e.Keys, Change: e.Restored, Leave: e.Keys - e.Restored, Bytes: e.Bytes}
		p.Entries = append(p.Entries, plan.Part{Entry: e.Entry, Counts: c})
		p.Total.Keys, p.Total.Change, p.Total.Leave, p.Total.Bytes = p.Total.Keys+c.Keys, p.Total.Change+c.Change, p.Total.Leave+c.Leave, p.Total.Bytes+c.Bytes
	}
	for _, l := range []struct {
		code plan.Code
		keys int64
	}{{plan.AsItIs, out.Total.Same}, {plan.There, out.Total.Existing}, {plan.Expired,
		out.Total.Expired}, {plan.OutOfMoment, out.Total.Left}, {plan.Refused, out.Total.Refused + out.Total.Unknown}} {
		if l.keys > 0 {
			p.Left = append(p.Left, plan.Left{Code: l.code, What: l.code.What(), Fix: l.code.Fix(), Keys: l.keys})
		}
	}
	return p, p.Seal()
}

// applyRestore executes a plan of restore. What was restored is not restored again: with
// each choice of --existing a second run changes nothing more.
func (a *app) applyRestore(ctx context.Context, path string, p *plan.Plan, o *applying) error {
	q := p.Request
	again := &restoring{selecting: selecting{q.Entries, q.Owners, q.Globs, q.Where, q.Undeclared},
		existing: q.Options["existing"], ttl: q.Options["ttl"], db: q.DB,
		momentary: q.Options["momentary"] == "true", writers: 4, rate: o.rate, output: o.output, progress: o.progress}
	file := q.Options["file"]
	now, err := a.replan(ctx, file, *again)
	if err != nil {
		return err
	}
	if err := a.drifted(path, p.Drift(now, o.tolerance(fewer(p, now)))); err != nil {
		return err
	}
	again.apply = true
	return a.restore(ctx, file, again)
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
func (a *app) replan(ctx context.Context, file string, o restoring) (*plan.Plan, error) {
	r, err := a.openRestore(ctx, file, &o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	out, err := r.pass(ctx, file)
	if err != nil {
		return nil, err
	}
	return r.asPlan(ctx, file, out)
}
