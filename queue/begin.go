package queue

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// begins tells the server that the handler of j begins. It is for jobs of which earlier
// leases ended and it is not known whether a handler had begun: a later death counts as a
// crash only after this. Where the report fails, the handler does not begin.
// Runners that tell it at the same time share a call.
func (c *workerPool[T]) begins(j *Job[T]) bool {
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

// beginTogether tells in one call what runners tell at the same time.
func (c *workerPool[T]) beginTogether(_ context.Context, jobs []*Job[T]) []error {
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

// beginFirst tells the server of what a call has claimed that the first job of each
// runner begins: else many jobs of a worker that is gone cost two calls for each runner's
// turn. A job whose report failed is still doubtful, and its runner
// tells it. So is one whose lease is over: its handler does not begin.
func (c *workerPool[T]) beginFirst(answers []claimResult) {
	var said []string
	var first []*claimed
	sent, limit := time.Now(), c.q.lease()/4 // no lease is renewed meanwhile
	for _, a := range answers {
		if len(a.jobs) == 0 || !a.jobs[0].doubtful {
			continue
		}
		if left := a.jobs[0].deadline(c.q.lease()).Sub(sent); left > 0 {
			said = append(said, a.jobs[0].id, a.jobs[0].token)
			first, limit = append(first, &a.jobs[0]), min(limit, left)
		}
	}
	if len(first) == 0 || c.ctx.Err() != nil || c.paused.Load() {
		return
	}
	ctx, cancel := c.call(limit)
	defer cancel()
	lost, err := c.q.begins(ctx, said)
	for i, j := range first {
		j.doubtful = err != nil || lost[i]
	}
	if time.Since(sent) > c.q.lease()/8 {
		c.askForFlags()
	}
}
