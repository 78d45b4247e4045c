package apply

import (
	"context"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
)

// Due corrects decisions that need an idle time, for a plan: keys that were used too
// recently are left alone. Executing asks again, in the same step as the change.
func Due(ctx context.Context, clients restore.Clients, batch []source.Key, decisions []plan.Decision) error {
	for from := 0; from < len(batch); {
		to := from + 1
		for to < len(batch) && batch[to].DB == batch[from].DB && to-from < changeKeys {
			to++
		}
		if err := due(ctx, clients, batch[from:to], decisions[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// due is Due for keys of one database.
func due(ctx context.Context, clients restore.Clients, batch []source.Key, decisions []plan.Decision) error {
	var list kernel.Commands
	var asked []*plan.Decision
	c, err := clients(batch[0].DB)
	if err != nil {
		return err
	}
	b := c.Raw().B()
	for i := range batch {
		if d := &decisions[i]; d.Meant && d.Leave == "" && d.Step.Idle > 0 {
			asked = append(asked, d)
			list = append(list, b.ObjectIdletime().Key(string(batch[i].Name)).Build())
		}
	}
	for i, reply := range c.Raw().DoMulti(ctx, list...) {
		seconds, err := reply.AsInt64()
		answer, said := kernel.IsServerError(err)
		switch {
		case kernel.IsNil(err):
			asked[i].Meant = false // it is gone
		case said && strings.Contains(answer.Error(), "LFU"):
			asked[i].Leave = plan.NotIdle
		case said:
			asked[i].Leave = plan.Refused
		case err != nil:
			return err
		case time.Duration(seconds)*time.Second < asked[i].Step.Idle:
			asked[i].Leave = plan.NotDue
		}
	}
	return nil
}
