package command

import (
	"context"
	"slices"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source"
)

// undoHolds refuses an undo where the plan was for other servers or another declaration. A
// restart or a failover since is no reason: the keys are the same.
func (a *app) undoHolds(path string, p, now *plan.Plan) error {
	return a.drifted(path, slices.DeleteFunc(p.Drift(now, plan.Tolerance{Share: 1e18}), func(d plan.Reason) bool {
		return slices.Contains([]plan.Code{plan.Restarted, plan.FailedOver, plan.OtherVersion, plan.OtherTopology}, d.Code)
	}))
}

// undoTTL takes back the TTLs that a plan gave, from keys that still have them, or plans that.
func (a *app) undoTTL(ctx context.Context, path string, u *apply.Undo, o *changing) error {
	p := u.Plan
	a.namespace = p.Request.Namespace
	flags := &changing{pacing: o.pacing, output: o.output}
	flags.asIn(&p.Request)
	flags.apply, flags.undo = o.apply, path
	r, err := a.prepare(ctx, "ttl", p.Request, flags, nil)
	if err != nil {
		return err
	}
	defer r.close()
	if r.made, err = r.bare(); err != nil {
		return err
	}
	if err := a.undoHolds(path, p, r.made); err != nil {
		return err
	}
	rule := &plan.Untimed{}
	r.rule, r.once = rule, true
	r.source = u.Scan(func(_ []byte, ends int64) { rule.Known(ends) })
	if !o.apply {
		return r.planUndo(ctx, path, r.timed)
	}
	return r.execute(ctx, r.made, nil)
}

// timed leaves out keys that are gone, and leaves alone those that do not end any more as they
// were told to.
func (r *changeRun) timed(ctx context.Context, batch []source.Key, decisions []plan.Decision) error {
	for i := range batch {
		c, err := r.clients.client(batch[i].DB)
		if err != nil {
			return err
		}
		ends, err := c.Raw().Do(ctx, c.Raw().B().Pexpiretime().Key(string(batch[i].Name)).Build()).AsInt64()
		if err != nil {
			return aclFailure(err)
		}
		switch d := &decisions[i]; {
		case ends == -2:
			d.Meant = false
		case ends != d.Step.Ends:
			d.Leave = plan.Changed
		}
	}
	return nil
}
