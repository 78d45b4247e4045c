package poppobuilder

import (
	"context"
	"errors"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/lock"
)

// upkeep takes a sample of this daemon; and one daemon at a time finds the dead,
// processes and tasks, and takes the sample of the machine.
func (d *Daemon) upkeep(ctx context.Context) error {
	failed := d.sampleMemory(ctx)
	lease, err := d.keys.LockUpkeep().Try(ctx)
	if errors.Is(err, lock.ErrHeld) {
		return failed
	}
	if err != nil {
		return errors.Join(failed, err)
	}
	defer func() {
		ctx, stop := after(ctx)
		defer stop()
		_ = lease.Release(ctx)
	}()
	ctx = lease.Context()
	return errors.Join(failed, d.findDead(ctx), d.countDead(ctx), d.sampleCPU(ctx))
}

// Dead letters are looked at a page at a time, the newest first, until a page has
// none that is not known.
const (
	deadPage  = 100
	deadPages = 10
)

// countDead writes tasks that were given up into the figures, once, and moves their
// issues to dead: the workers of the queue that saw them die may be dead themselves.
func (d *Daemon) countDead(ctx context.Context) error {
	for page := range int64(deadPages) {
		dead, err := d.keys.Tasks().Dead(ctx, page*deadPage, deadPage)
		if err != nil {
			return err
		}
		fresh := 0
		for _, task := range dead {
			issue, err := d.keys.TaskIssue(task.ID).Get().Do(ctx)
			if errors.Is(err, keywright.ErrNotFound) {
				continue // it is in the figures
			}
			if err != nil {
				return err
			}
			fresh++
			if err := d.givenUp(ctx, issue, task.ID); err != nil {
				return err
			}
			d.log.Warn("a task is given up", "task", task.ID, "issue", issue, "why", task.Reason, "attempts", task.Attempts,
				"crashes", task.Crashes)
		}
		if fresh == 0 || len(dead) < deadPage {
			return nil
		}
	}
	return nil
}

// givenUp moves an issue to dead, unless another task has it: then the next look does.
func (d *Daemon) givenUp(ctx context.Context, issue int64, task string) error {
	lease, err := d.keys.LockIssue(issue).Try(ctx)
	if errors.Is(err, lock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() {
		ctx, stop := after(ctx)
		defer stop()
		_ = lease.Release(ctx)
	}()
	_, err = d.change(lease.Context(), issue, change{status: "dead", task: task, fence: lease.Fence()})
	return err
}
