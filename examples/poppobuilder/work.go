package poppobuilder

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/queue"
)

// work returns one run of a task: under the lock of its issue, as a process of its own.
// It may be killed at any point; the next run goes on where this one was.
func (d *Daemon) work(ctx context.Context, job *queue.Job[poppokeys.TasksValue]) error {
	log := d.log.With("task", job.ID, "issue", job.Payload.Issue, "attempt", job.Attempt)
	log.Debug("a task is taken")
	lease, err := d.keys.LockIssue(job.Payload.Issue).Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		after, stop := after(ctx)
		defer stop()
		_ = lease.Release(after)
	}()
	p := process{number: job.Payload.Issue, who: d.o.Name, instance: rand.Text(), task: job.ID, fence: lease.Fence()}
	ctx, end, err := d.begin(lease.Context(), p)
	if err != nil {
		return err
	}
	defer end()
	outcome, err := d.run(ctx, job, p)
	if err != nil {
		log.Debug("a task is put back", "why", err)
		return errors.Join(err, d.putBack(ctx, p))
	}
	log.Debug("a task has an outcome", "ok", outcome.Ok, "by", outcome.By)
	job.SetResult(outcome.Text)
	return nil
}

// errStale is why a daemon stops that others have overtaken.
var errStale = errors.New("another daemon has taken the issue over")

// errOver reports a task that is in the figures and of which no outcome is kept any more.
var errOver = errors.New("the task has ended")

// run returns what comes of a task: known, refused, or said by an agent.
func (d *Daemon) run(
	ctx context.Context, job *queue.Job[poppokeys.TasksValue], p process,
) (poppokeys.TaskOutcomeValue, error) {
	outcome, err := d.result(ctx, job, p)
	if errors.Is(err, errOver) {
		return outcome, nil
	}
	if err != nil {
		return outcome, err
	}
	status := "completed"
	if !outcome.Ok {
		status = "failed"
	}
	said, err := d.change(ctx, p.number, change{status: status, task: p.task, fence: p.fence,
		took: time.Duration(outcome.Ms) * time.Millisecond})
	if err == nil && said == stale {
		err = errStale
	}
	return outcome, err
}

// putBack takes the issue of a task that did not end out of those in work. A daemon
// that has been overtaken changes nothing.
func (d *Daemon) putBack(ctx context.Context, p process) error {
	ctx, stop := after(ctx)
	defer stop()
	_, err := d.change(ctx, p.number, change{status: "queued", task: p.task, fence: p.fence})
	return err
}

// Why a task waits, without using up an attempt.
var (
	errRate  = errors.New("no more calls of GitHub's API in this hour")
	errFull  = errors.New("the agents have enough to do")
	errMirin = errors.New("no answer of Mirin came in time")
	errAgent = errors.New("no agent has ended the run in time; it stays with the agents")
)

// result returns what an agent, or before it Mirin, says about a task.
func (d *Daemon) result(ctx context.Context, job *queue.Job[poppokeys.TasksValue],
	p process) (poppokeys.TaskOutcomeValue, error) {
	outcome := d.keys.TaskOutcome(job.ID)
	known, err := outcome.Get().Do(ctx)
	if !errors.Is(err, keywright.ErrNotFound) {
		return known, err
	}
	_, err = d.keys.TaskRun(job.ID).Get().Do(ctx)
	fresh := errors.Is(err, keywright.ErrNotFound)
	if err != nil && !fresh {
		return known, err
	}
	if fresh { // before the issue is in work: else it would be in and out of it each minute
		if err := d.withinRate(ctx); err != nil {
			return known, err
		}
	}
	switch said, err := d.change(ctx, p.number, change{status: "processing", task: p.task, fence: p.fence}); {
	case err != nil:
		return known, err
	case said == stale:
		return known, errStale
	case said == over:
		return known, errOver
	}
	if fresh && job.Payload.Ask {
		if refused, ok, err := d.refused(ctx, job); err != nil || ok {
			return refused, err
		}
	}
	return d.await(ctx, job, p.fence)
}

// withinRate returns an error if the calls of this hour are used up.
func (d *Daemon) withinRate(ctx context.Context) error {
	calls, err := or(d.keys.MetricsGithubCalls(time.Now().UTC()).Get().Do(ctx))(0)
	if err == nil && calls >= d.Settings().GitHubRate {
		err = queue.Later(d.o.Wait, errRate)
	}
	return err
}

// await hands a task over and waits for its outcome. Each look asks whether the run
// is still before the agents: a stream that was lost is no reason to wait for ever.
// A daemon that has waited for long lets other tasks take their turn.
func (d *Daemon) await(ctx context.Context, job *queue.Job[poppokeys.TasksValue],
	fence int64) (known poppokeys.TaskOutcomeValue, err error) {
	heard, done := d.outcome.of(job.ID)
	defer done()
	look := time.NewTicker(d.o.Look)
	defer look.Stop()
	patience := time.NewTimer(d.patience())
	defer patience.Stop()
	t := job.Payload
	for {
		said, err := d.keys.HandOver(job.ID, time.Now().UTC(), job.ID, t.Issue, t.Kind, t.Prompt, fence,
			d.Settings().GitHubRate).Do(ctx)
		if err != nil {
			return known, err
		}
		switch said {
		case "done":
			return d.keys.TaskOutcome(job.ID).Get().Do(ctx)
		case "rate":
			return known, queue.Later(d.o.Wait, errRate)
		case "full":
			return known, queue.Later(d.o.Wait, errFull)
		case "handed":
			d.log.Debug("a task is with the agents", "task", job.ID)
		}
		select {
		case <-ctx.Done():
			return known, context.Cause(ctx)
		case <-patience.C:
			return known, queue.Later(d.o.Wait, errAgent)
		case <-heard:
		case <-look.C: // the message may have been missed
		}
	}
}

// patience returns how long a daemon waits for an agent before other tasks have their turn.
func (d *Daemon) patience() time.Duration {
	if d.o.Patience > 0 {
		return d.o.Patience
	}
	return 2*time.Duration(d.Settings().ClaudeTimeout)*time.Second + 5*time.Minute
}

// waiters holds the tasks that this process waits for.
type waiters struct {
	mu    sync.Mutex
	tasks map[string]chan struct{}
}

func newWaiters() *waiters { return &waiters{tasks: map[string]chan struct{}{}} }

// of returns a channel that gets a value when a task is done, until done is called.
func (w *waiters) of(task string) (heard <-chan struct{}, done func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks[task] = c
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.tasks[task] == c {
			delete(w.tasks, task)
		}
	}
}

func (w *waiters) tell(task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.tasks[task] <- struct{}{}:
	default:
	}
}
