package change

import (
	"context"
	"slices"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// undoHolds refuses an undo where the plan was for other servers or another declaration. A
// restart or a failover since is no reason: the keys are the same.
func undoHolds(a *cli.App, output, path string, p, now *plan.Plan) error {
	return Drifted(a, output, path, slices.DeleteFunc(p.Drift(now, plan.Tolerance{Share: 1e18}), func(d plan.Reason) bool {
		return slices.Contains([]plan.Code{plan.Restarted, plan.FailedOver, plan.OtherVersion, plan.OtherTopology}, d.Code)
	}))
}

// UndoRename brings back what a file says was renamed, or given a TTL, or plans that.
func UndoRename(ctx context.Context, a *cli.App, path string, o *Changing) error {
	u, err := apply.ReadUndo(path)
	if err != nil {
		return cli.Usage("name the file that --undo-file or `keywright apply` wrote", "%s cannot be used: %v", path, err)
	}
	if !u.Ended {
		a.Say("note: %s has no end: the run that wrote it was interrupted, or the rest of the file is missing",
			finding.Printable(path))
	}
	q := u.Plan.Request
	a.Namespace = q.Namespace
	flags := &Changing{Pacing: o.Pacing, Output: o.Output}
	flags.AsIn(&q)
	flags.Apply, flags.phase, flags.undo = o.Apply, phaseMove, path
	verb, rule := "rename", (*Run).renamedBack
	if u.Plan.Verb == "ttl" {
		verb, rule = "ttl", (*Run).timedBack
	}
	r, err := Prepare(ctx, a, KeyVerbs()[verb], q, flags, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	known, look, err := rule(r)
	if err != nil {
		return err
	}
	if err := r.uncounted(); err != nil {
		return err
	}
	if err := undoHolds(a, o.Output, path, u.Plan, r.Made); err != nil {
		return err
	}
	r.unended, r.source = !u.Ended, u.Scan(known)
	if !o.Apply {
		return r.planUndo(ctx, look)
	}
	return r.Execute(ctx, r.Made, nil)
}

// looking looks at keys as they are now.
type looking func(context.Context, []source.Key, []plan.Decision) error

// renamedBack makes the rule that gives keys the names back that they had. known tells it the next one.
func (r *Run) renamedBack() (known func([]byte, int64), look looking, err error) {
	pairs, err := r.pairs()
	if err != nil {
		return nil, nil, err
	}
	r.selects = selection.Request{}
	rule, err := plan.NewUndo(r.Schema, pairs, !r.id.Cluster)
	r.rule = rule
	return func(old []byte, _ int64) { rule.Known(old) }, r.there, err
}

// timedBack makes the rule that takes the TTL from keys that still have it. known tells it the next one.
func (r *Run) timedBack() (known func([]byte, int64), look looking, err error) {
	rule, err := plan.NewUntimed(r.Schema)
	r.rule = rule
	return func(_ []byte, ends int64) { rule.Known(ends) }, r.timed, err
}

// planUndo says what would be brought back.
func (r *Run) planUndo(ctx context.Context, look looking) error {
	c := plan.NewCollector(r.rule)
	_, err := r.source(ctx, func(batch []source.Key) error {
		decisions := c.Decide(batch)
		if err := look(ctx, batch, decisions); err != nil {
			return err
		}
		c.Count(batch, decisions)
		return nil
	})
	if err != nil {
		return err
	}
	c.Into(r.Made)
	if err := r.Made.Seal(); err != nil {
		return err
	}
	return r.showPlan(r.Made, "")
}

// there leaves out keys that are gone, and finds what is in the way of the others.
func (r *Run) there(ctx context.Context, batch []source.Key, decisions []plan.Decision) error {
	all, err := r.numbers(ctx, batch, func(b kernel.Builder, key string) kernel.Command {
		return b.Exists().Key(key).Build()
	})
	if err != nil {
		return err
	}
	for i, n := range all {
		decisions[i].Meant = decisions[i].Meant && n > 0
	}
	return r.blocked(ctx, batch, decisions)
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
