package change

import (
	"context"
	"slices"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
)

// undoHolds refuses an undo where the plan was for other servers or another declaration. A
// restart or a failover since is no reason: the keys are the same.
func undoHolds(a *cli.App, output, path string, p, now *plan.Plan) error {
	return Drifted(a, output, path, slices.DeleteFunc(p.Drift(now, plan.Tolerance{Share: 1e18}), func(d plan.Reason) bool {
		return slices.Contains([]plan.Code{plan.Restarted, plan.FailedOver, plan.OtherVersion, plan.OtherTopology}, d.Code)
	}))
}

// undoTTL takes back the TTLs that a plan gave, from keys that still have them, or plans that.
func undoTTL(ctx context.Context, a *cli.App, path string, u *apply.Undo, o *Changing) error {
	p := u.Plan
	a.Namespace = p.Request.Namespace
	flags := &Changing{Pacing: o.Pacing, Output: o.Output}
	flags.AsIn(&p.Request)
	flags.Apply, flags.undo = o.Apply, path
	r, err := Prepare(ctx, a, KeyVerbs()["ttl"], p.Request, flags, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Made, err = r.Bare(); err != nil {
		return err
	}
	if err := undoHolds(a, o.Output, path, p, r.Made); err != nil {
		return err
	}
	rule, err := plan.NewUntimed(r.Schema)
	if err != nil {
		return err
	}
	r.rule, r.once, r.unended = rule, true, !u.Ended
	r.source = u.Scan(func(_ []byte, ends int64) { rule.Known(ends) })
	if !o.Apply {
		return r.planUndo(ctx, path, r.timed)
	}
	return r.Execute(ctx, r.Made, nil)
}

// timed leaves out keys that are gone, and leaves alone those that do not end any more as they
// were asked to.
func (r *Run) timed(ctx context.Context, batch []source.Key, decisions []plan.Decision) error {
	all, err := r.numbers(ctx, batch, func(b kernel.Builder, key string) kernel.Command {
		return b.Pexpiretime().Key(key).Build()
	})
	for i, ends := range all {
		switch d := &decisions[i]; {
		case ends == -2:
			d.Meant = false
		case d.Step.Do != plan.Persist{Ends: ends}:
			d.Leave = plan.Changed
		}
	}
	return err
}

// numbers asks one thing of each key of a batch, which is of one database, in one round trip.
func (r *Run) numbers(ctx context.Context, batch []source.Key,
	ask func(kernel.Builder, string) kernel.Command) ([]int64, error) {
	c, err := r.clients.Client(batch[0].DB)
	if err != nil {
		return nil, err
	}
	var asked []kernel.Command
	for i := range batch {
		asked = append(asked, ask(c.Raw().B(), string(batch[i].Name)))
	}
	var said []int64
	for _, reply := range c.Raw().DoMulti(ctx, asked...) {
		n, err := reply.AsInt64()
		if err != nil {
			return nil, cli.ServerFailure(err)
		}
		said = append(said, n)
	}
	return said, nil
}
