package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
)

// changing says in text what is changed, or would be.
func (a *app) changing(report *queuesReport, o *queueing, what string, name []byte, of string) {
	report.Change.Of = append(report.Change.Of, finding.JSONKey(name))
	if o.output != "json" {
		a.tell("%s %s%s", what, finding.Key(name), of)
	}
}

// changeDead retries or discards dead jobs: those that are named, or all.
func (a *app) changeDead(ctx context.Context, report *queuesReport, ids []string, o *queueing) error {
	change := report.Change
	for _, q := range report.Queues {
		chosen, cut, err := chosenJobs(ctx, &q, ids)
		if err != nil {
			return err
		}
		if cut {
			report.Cut = append(report.Cut, cutReport{q.Entry, maxDead})
		}
		for _, d := range chosen {
			if !d.dead {
				a.say("%s is not dead in %s", finding.Key([]byte(d.id)), q.title())
				continue
			}
			a.changing(report, o, change.What, []byte(d.id), "")
			if !o.apply {
				continue
			}
			do := map[string]func(context.Context, string) (bool, error){"retry": q.queue.Retry, "discard": q.queue.Discard}[change.What]
			ok, err := do(ctx, d.id)
			if err != nil {
				return &exit{exitPartial, fmt.Sprintf("%s of %d were done: %v", terminal.Plural(int64(change.Changed), "job"), len(chosen), err),
					"run it again: what is done stays done"}
			}
			if ok {
				change.Changed++
			} else {
				a.say("%s is not dead any more", finding.Key([]byte(d.id)))
			}
		}
	}
	a.planned(o, change, "job")
	if len(change.Of) == 0 && !slices.Equal(ids, []string{"all"}) {
		return &exit{exitFindings, "none of these jobs is dead", "`keywright queues ENTRY --dead` lists the dead jobs"}
	}
	return nil
}

// chosenJob is a job that was asked for.
type chosenJob struct {
	id   string
	dead bool
}

// chosenJobs are the jobs of a queue that are named, or all dead ones. Which of the
// named are dead is looked up in the first maxDead dead jobs.
func chosenJobs(ctx context.Context, q *queueReport, ids []string) (chosen []chosenJob, cut bool, err error) {
	all := slices.Equal(ids, []string{"all"})
	dead := map[string]bool{}
	const page = 1000
	for offset := int64(0); offset < maxDead; offset += page {
		some, err := q.queue.Dead(ctx, offset, page)
		if err != nil {
			return nil, false, err
		}
		for _, d := range some {
			if dead[d.ID] = true; all {
				chosen = append(chosen, chosenJob{d.ID, true})
			}
		}
		if len(some) < page {
			break
		}
	}
	if !all {
		for _, id := range ids {
			chosen = append(chosen, chosenJob{id, dead[id] || len(dead) >= maxDead})
		}
	}
	return chosen, all && len(dead) >= maxDead, nil
}

// maxDead bounds how many dead jobs one command looks at.
const maxDead = 100_000

// planned is the last line about a change.
func (a *app) planned(o *queueing, change *queueChange, what string) {
	switch {
	case !o.apply && len(change.Of) > 0:
		a.say("%s; nothing was changed; run it with --apply", terminal.Plural(int64(len(change.Of)), what))
	case o.output != "json":
		a.tell("%s changed", terminal.Plural(int64(change.Changed), what))
	}
}

func (a *app) repairQueues(ctx context.Context, report *queuesReport, o *queueing) error {
	for _, q := range report.Queues {
		ids, err := q.queue.Reconcile(ctx, !o.apply)
		for _, id := range ids {
			a.changing(report, o, "bring back", []byte(id), " of "+q.Entry)
		}
		if o.apply {
			report.Change.Changed += len(ids)
		}
		if err != nil {
			return err
		}
	}
	a.planned(o, report.Change, "job")
	return nil
}

func (a *app) pauseQueues(ctx context.Context, report *queuesReport, o *queueing) error {
	for _, q := range report.Queues {
		a.changing(report, o, report.Change.What, []byte(q.title()), "")
		if !o.apply {
			continue
		}
		change := q.queue.Resume
		if o.pause {
			change = q.queue.Pause
		}
		if err := change(ctx); err != nil {
			return err
		}
		report.Change.Changed++
	}
	a.planned(o, report.Change, "queue")
	return nil
}
