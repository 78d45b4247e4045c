package command

import (
	"context"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/queue"
)

// pageOfDelayed says how many jobs that wait for their time are read in a round trip.
const pageOfDelayed = 1000

// findDelayed finds the jobs to run now: of those that are named, the ones that wait for their time.
func findDelayed(ctx context.Context, r *changeRun, found *findings) error {
	asked := map[string]bool{} // and whether it waits for its time
	for _, id := range unpacked(r.request.Options["jobs"]) {
		asked[id] = false
	}
	err := r.eachQueueOf(ctx, found, func(of string, q queue.Queue[string]) error {
		for offset := int64(0); ; offset += pageOfDelayed {
			some, err := q.Delayed(ctx, offset, pageOfDelayed)
			if err != nil {
				return err
			}
			for _, j := range some {
				if _, meant := asked[j.ID]; meant {
					asked[j.ID] = true
					found.delayed(r, of, q, j.ID)
				}
			}
			if len(some) < pageOfDelayed {
				return nil
			}
		}
	})
	for id, waits := range asked {
		if !waits && err == nil {
			found.leave(r.request.Entries[0], plan.NotDelayed, []byte(id), r.request.DB)
		}
	}
	return err
}

// delayed adds the change of a job that waits for its time.
func (f *findings) delayed(r *changeRun, of string, q queue.Queue[string], id string) {
	f.add(plan.Change{Verb: verbOf(r.name), Entry: of, Key: finding.JSONKey(q.JobOf(id)), DB: r.request.DB,
		Before: "waits for its time", After: "waits in its lane"},
		func(ctx context.Context, _ *plan.Change) (plan.Code, error) {
			ok, err := q.RunNow(ctx, id)
			if err == nil && !ok {
				return plan.Changed, nil
			}
			return "", err
		})
}
