package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/queue/internal/stored"
)

// workerLoop claims jobs and runs them, one after the other.
type workerLoop[T any] struct {
	*workerPool[T]
	settled  []stored.Settlement // what is to be sent to the server
	claimed  []*Job[T]           // in the order in which they are to begin; guarded by mu
	now      *Job[T]             // the one that runs
	told     time.Time           // when the server got the last stored.Settlement
	failures int                 // calls in a row
	over     bool
}

// work works until nothing new is to begin. A handler that ends its goroutine
// ends this one: another goroutine goes on with what it has.
func (r *workerLoop[T]) work() {
	defer func() {
		if r.over {
			return
		}
		defer r.loops.Go(r.work)
		if j := r.now; j != nil {
			r.now = nil
			r.addSettlement(r.ended(j, errGoexit, 0))
		}
	}()
	for !r.over {
		if !r.next() {
			r.fetch()
		}
	}
}

var errGoexit = errors.New("the handler has ended its goroutine")

// fetch tells the server what has become of jobs, and claims others.
func (r *workerLoop[T]) fetch() {
	wanted := cmp.Or(r.w.o.Batch, 1)
	if r.ctx.Err() != nil {
		wanted = 0
	}
	given := r.failures > 0 && r.calling.Err() != nil // it has had its call
	if r.over = wanted == 0 && (len(r.settled) == 0 || given); r.over {
		r.giveUp()
		return
	}
	f, err := r.ask(wanted, r.settled)
	if err != nil {
		r.failures++
		r.tell(err)
		if kernel.Permanent(err) != nil {
			r.halt(err)
		}
		class, _ := keywright.ClassOf(err)
		often := class == keywright.UnknownOutcome && r.ctx.Err() != nil // it was sent again already, see claim
		if r.over = often || wanted == 0 && (r.failures > 3 || r.calling.Err() != nil); r.over {
			r.giveUp()
			return
		}
		r.rest(r.failures)
		return
	}
	r.failures = 0
	jobs := make([]*Job[T], len(f.Jobs))
	for i, one := range f.Jobs {
		jobs[i] = r.begin(one)
	}
	r.mu.Lock()
	r.claimed = jobs
	r.mu.Unlock()
	r.told = time.Now()
	r.report(f)
	if len(f.Jobs) == wanted && wanted > 0 {
		r.wakeOne() // there may be more
	}
	if len(f.Jobs) == 0 && wanted > 0 {
		r.park()
	}
}

// park waits for a reason to ask the server.
func (r *workerLoop[T]) park() {
	r.mu.Lock()
	r.idle++
	r.mu.Unlock()
	select {
	case <-r.wake:
	case <-r.ctx.Done():
	}
	r.mu.Lock()
	r.idle--
	r.mu.Unlock()
}

// rest waits after a failure, longer each time, but for no call that is over.
func (c *workerPool[T]) rest(failures int) {
	timer := time.NewTimer(min(50*time.Millisecond<<min(failures, 5), time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.calling.Done():
	}
}

// giveUp is of settlements that could not be sent: their leases run out,
// also while another handler hangs, and others take the jobs.
func (r *workerLoop[T]) giveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settledNow(r.settled)
}

// take takes some of the claimed jobs out, the first ones.
func (r *workerLoop[T]) take(n int) []*Job[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = min(n, len(r.claimed))
	jobs := r.claimed[:n:n]
	r.claimed = r.claimed[n:]
	return jobs
}

// settleAfter says how long what is done may wait for what is not, within a batch.
const settleAfter = 50 * time.Millisecond

// next runs one of the claimed jobs, if there is one. When nothing is to begin any more it
// gives all of them back, so that the first one is the first of its lane again.
func (r *workerLoop[T]) next() bool {
	if r.ctx.Err() != nil || r.paused.Load() {
		back := r.unbegun()
		r.settled = append(r.settled, back...)
		return len(back) > 0
	}
	jobs := r.take(1)
	if len(jobs) == 0 {
		return false
	}
	r.addSettlement(r.run(jobs[0]))
	if time.Since(r.told) > settleAfter && r.more() {
		if f, err := r.ask(0, r.settled); err == nil {
			r.report(f)
		}
		r.told = time.Now()
	}
	return true
}

// unbegun takes out all jobs that are claimed and have not begun, to be given back so that the
// first one is the first of its lane again.
func (r *workerLoop[T]) unbegun() (back []stored.Settlement) {
	for _, j := range slices.Backward(r.take(mostTaken)) {
		back = append(back, unbegun(j))
	}
	return back
}

// more reports whether claimed jobs wait.
func (r *workerLoop[T]) more() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.claimed) > 0
}

func (r *workerLoop[T]) addSettlement(s stored.Settlement) {
	if r.now = nil; s.Verb != "" {
		r.settled = append(r.settled, s)
	}
}

// unbegun settles a job that is over before it began: it is no attempt.
func unbegun[T any](j *Job[T]) stored.Settlement {
	cause := context.Cause(j.ctx)
	j.stop(context.Canceled)
	if errors.Is(cause, ErrCancelled) {
		return j.newSettlement("done", "", 0)
	}
	return j.newSettlement("back", "", 0)
}

// The reasons of which a notice may tell: they have no text of a job.
var (
	errAlien     = errors.New("it was not written by an enqueue: its first line says nothing")
	errPayload   = errors.New("the payload does not decode")
	errAttempts  = errors.New("its attempts are used up")
	errDiscarded = errors.New("its handler has discarded it")
	errCrashes   = errors.New("its workers died too often")
)

// run runs one job. What it gives has no verb if the lease was lost: the job is
// another worker's by now, or comes back when the server ends the lease.
func (r *workerLoop[T]) run(j *Job[T]) stored.Settlement {
	if j.alien {
		j.stop(context.Canceled)
		return j.dies(errAlien.Error(), errAlien)
	}
	payload, err := r.q.sealed(j.ID).Parse(j.raw)
	// another process may have the key, or this one soon
	if _, closed := errors.AsType[*keywright.DecodeError](err); closed {
		j.stop(context.Canceled)
		return j.newSettlement("retry", "the payload does not open", r.q.backoff(j.Attempt).Milliseconds())
	}
	if err != nil {
		j.stop(context.Canceled)
		return j.dies(errPayload.Error(), errPayload)
	}
	j.Payload = payload
	if j.ctx.Err() != nil { // it has waited for too long after others of its batch
		return unbegun(j)
	}
	if j.doubtful && !r.begins(j) {
		return unbegun(j)
	}
	r.now = j
	began := time.Now()
	err = r.guarded(j)
	return r.ended(j, err, time.Since(began))
}

// ended returns what becomes of a job whose handler has returned.
func (r *workerLoop[T]) ended(j *Job[T], err error, took time.Duration) stored.Settlement {
	cause := context.Cause(j.ctx)
	j.stop(context.Canceled)
	if err != nil && errors.Is(cause, ErrTimeout) {
		err = fmt.Errorf("%w after %v: %w", ErrTimeout, j.timeout, err)
	}
	r.handled(j, err, took)
	var wait *retryIn
	var discard *discarded
	switch {
	case errors.Is(cause, ErrCancelled):
		return j.newSettlement("done", "", 0)
	case err == nil:
		return j.newSettlement("done", j.result, max(cmp.Or(r.q.o.ResultTTL, 24*time.Hour).Milliseconds(), 1))
	case errors.Is(cause, ErrShutdown):
		return j.newSettlement("back", "", 0)
	case errors.As(err, &discard):
		return j.dies(reason(err), errDiscarded)
	case errors.As(err, &wait):
		return j.newSettlement(wait.verb, reason(err), max(wait.after.Milliseconds(), 0))
	case errors.Is(cause, ErrLost): // not this worker's failure to tell
		r.forget(j)
		return stored.Settlement{}
	}
	return j.newSettlement("retry", reason(err), r.q.backoff(j.Attempt).Milliseconds())
}

// forget is of a job that no call to the server is to name any more.
func (c *workerPool[T]) forget(j *Job[T]) {
	c.mu.Lock()
	delete(c.running, j.token+" "+j.ID)
	c.mu.Unlock()
	c.lost(j.ID)
}

// guarded runs the handler; a panic is an error.
func (r *workerLoop[T]) guarded(j *Job[T]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			r.tell(fmt.Errorf("job %s: %w", j.ID, err))
		}
	}()
	if j.timeout > 0 {
		defer time.AfterFunc(j.timeout, func() { j.stop(ErrTimeout) }).Stop()
	}
	return r.w.handle(j.ctx, j)
}

// report tells what the server has made of the settlements, which are then done.
// No lock is held: hooks and handlers may take their time.
func (r *workerLoop[T]) report(f stored.Fetched) {
	settled := r.settled
	r.settled = nil
	for _, fault := range f.Faults {
		r.tell(r.q.faulty("claim", fault))
	}
	for _, id := range f.Lost {
		settled = slices.DeleteFunc(settled, func(s stored.Settlement) bool { return s.ID == id })
		r.lost(id)
	}
	for _, d := range f.Dead {
		settled = slices.DeleteFunc(settled, func(s stored.Settlement) bool { return s.ID == d.ID })
		if d.Cause == nil {
			d.Cause = errCrashes
		}
		r.notice(keywright.Notice{Kind: notice.JobDead, Err: d.Cause})
		r.tellOfDead(Dead{ID: d.ID, Reason: d.Reason, Attempts: d.Attempts, Crashes: d.Crashes})
	}
	if !r.q.client.Noticed(notice.JobRetried) {
		return
	}
	for _, s := range settled {
		if s.Verb == "retry" || s.Verb == "later" {
			r.notice(keywright.Notice{Kind: notice.JobRetried, Elapsed: time.Duration(s.MS) * time.Millisecond})
		}
	}
}

// handled tells that a handler has returned.
func (r *workerLoop[T]) handled(j *Job[T], err error, took time.Duration) {
	kind := notice.JobDone
	if err != nil {
		kind = notice.JobFailed
	}
	if r.q.client.Noticed(kind) {
		r.notice(keywright.Notice{Kind: kind, Elapsed: took, Err: err})
	}
}

// backoff returns the wait after attempt n: doubling, half of it at random, so that
// jobs that failed together do not come back together.
func (q Queue[T]) backoff(attempt int64) time.Duration {
	d := cmp.Or(q.o.Backoff, time.Second) << min(max(attempt-1, 0), 30)
	if limit := cmp.Or(q.o.MaxBackoff, time.Hour); d <= 0 || d > limit {
		d = limit
	}
	return d/2 + rand.N(d/2+1)
}
