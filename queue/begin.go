package queue

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// begins says that the handler of a job begins, of which leases have ended without
// such a word: only then is it a crash when this one does. Where that cannot be
// said, the handler does not begin. Runners that say it at the same time share a call.
func (c *crew[T]) begins(j *Job[T]) bool {
	ctx, cancel := context.WithDeadline(j.ctx, j.Deadline())
	defer cancel()
	err, _, left := c.beginnings.Do(ctx, j)
	if err = cmp.Or(left, err); errors.Is(err, ErrLost) {
		j.stop(ErrLost)
	} else if err != nil {
		c.tell(err)
	}
	return err == nil
}

// beginTogether is what runners have said at the same time, in one call.
func (c *crew[T]) beginTogether(_ context.Context, jobs []*Job[T]) []error {
	said := make([]string, 0, 2*len(jobs))
	for _, j := range jobs {
		said = append(said, j.ID, j.token)
	}
	ctx, cancel := c.call(c.q.lease())
	defer cancel()
	lost, err := c.q.begins(ctx, said)
	out := make([]error, len(jobs))
	for i := range jobs {
		if out[i] = err; err == nil && lost[i] {
			out[i] = ErrLost
		}
	}
	return out
}

// beginFirst says of what a call has claimed that the first job of each runner
// begins: many jobs of a worker that is gone cost two calls for each runner's turn
// else. A job of which it could not be said is still doubtful, and its runner says so.
func (c *crew[T]) beginFirst(answers []answer) {
	var said []string
	var first []*claimed
	for _, a := range answers {
		if len(a.jobs) > 0 && a.jobs[0].doubtful {
			said = append(said, a.jobs[0].id, a.jobs[0].token)
			first = append(first, &a.jobs[0])
		}
	}
	if len(first) == 0 || c.ctx.Err() != nil || c.paused.Load() {
		return
	}
	ctx, cancel := c.call(c.q.lease() / 4) // no lease is renewed meanwhile
	defer cancel()
	sent := time.Now()
	lost, err := c.q.begins(ctx, said)
	for i, j := range first {
		j.doubtful = err != nil || lost[i]
	}
	if time.Since(sent) > c.q.lease()/8 {
		c.askForFlags()
	}
}
