package command

import (
	"context"
	"slices"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/plan"
)

// undoHolds refuses an undo where the plan was for other servers or another declaration. A
// restart or a failover since is no reason: the keys are the same.
func (a *app) undoHolds(path string, p, now *plan.Plan) error {
	return a.drifted(path, slices.DeleteFunc(p.Drift(now, plan.Tolerance{Share: 1e18}), func(d plan.Reason) bool {
		return slices.Contains([]plan.Code{plan.Restarted, plan.FailedOver, plan.OtherVersion, plan.OtherTopology}, d.Code)
	}))
}

// undoTTL takes back the TTLs that a plan gave, from keys that still have them.
func (a *app) undoTTL(ctx context.Context, path string, u *apply.Undo, o *changing) error {
	p := u.Plan
	a.namespace = p.Request.Namespace
	flags := &changing{pacing: o.pacing, output: o.output, apply: true}
	flags.asIn(&p.Request)
	flags.undo = path
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
	return r.execute(ctx, r.made, nil)
}
