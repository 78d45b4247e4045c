package poppobuilder

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/counter"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/queue"
)

// work is one run of a task: under the lock of its issue, as a process of its own.
// It may be killed at any point; the next run goes on where this one was.
func (d *Daemon) work(ctx context.Context, job *queue.Job[poppokeys.TasksValue]) error {
	task := job.Payload
	lease, err := d.keys.LockIssue(task.Issue).Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		after, stop := after(ctx)
		defer stop()
		_ = lease.Release(after)
	}()
	ctx = lease.Context()
	p := process{id: fmt.Sprintf("issue-%d-%s", task.Issue, d.o.Name), instance: rand.Text(), issue: task.Issue, task: job.ID, fence: lease.Fence()}
	ctx, end, err := d.begin(ctx, p)
	if err != nil {
		return err
	}
	defer end()
	if _, err := d.change(ctx, task.Issue, change{status: "processing", task: job.ID, fence: p.fence}); err != nil {
		return err
	}
	outcome, err := d.result(ctx, job, p.fence)
	if err != nil {
		return err
	}
	status := "completed"
	if !outcome.Ok {
		status = "failed"
	}
	said, err := d.change(ctx, task.Issue, change{status: status, task: job.ID, fence: p.fence, took: time.Duration(outcome.Ms) * time.Millisecond})
	switch {
	case err != nil:
		return err
	case said == stale:
		return errors.New("another daemon has taken the issue over")
	}
	job.SetResult(outcome.Text)
	return nil
}

// errRate is why a task waits: the calls of this hour are used up.
var errRate = errors.New("no more calls of GitHub's API in this hour")

// result is what an agent, or before it Mirin, says about a task.
func (d *Daemon) result(ctx context.Context, job *queue.Job[poppokeys.TasksValue], fence int64) (poppokeys.TaskOutcomeValue, error) {
	outcome := d.keys.TaskOutcome(job.ID)
	if known, err := outcome.Get(ctx); !errors.Is(err, keywright.ErrNotFound) {
		return known, err
	}
	if _, err := d.keys.TaskRun(job.ID).Get(ctx); errors.Is(err, keywright.ErrNotFound) {
		if refused, err := d.allowed(ctx, job.Payload); err != nil || refused != nil {
			if refused == nil {
				return poppokeys.TaskOutcomeValue{}, err
			}
			return *refused, nil
		}
	} else if err != nil {
		return poppokeys.TaskOutcomeValue{}, err
	}
	t := job.Payload
	if _, err := d.keys.HandOver(ctx, job.ID, job.ID, t.Issue, t.Kind, t.Prompt, fence); err != nil {
		return poppokeys.TaskOutcomeValue{}, err
	}
	heard, done := d.outcome.of(job.ID)
	defer done()
	look := time.NewTicker(d.o.Look)
	defer look.Stop()
	for {
		known, err := outcome.Get(ctx)
		if !errors.Is(err, keywright.ErrNotFound) {
			return known, err
		}
		select {
		case <-ctx.Done():
			return known, context.Cause(ctx)
		case <-heard:
		case <-look.C: // the message may have been missed
		}
	}
}

// allowed asks whether a task may run: the calls of this hour, and Mirin.
func (d *Daemon) allowed(ctx context.Context, t poppokeys.TasksValue) (*poppokeys.TaskOutcomeValue, error) {
	now := time.Now().UTC()
	calls, err := d.keys.MetricsGithubCalls(now).AddWithin(ctx, 1, counter.Bounds{High: d.Settings().GitHubRate})
	if err != nil {
		return nil, err
	}
	if !calls.Applied {
		return nil, queue.RetryIn(min(time.Minute, now.Truncate(time.Hour).Add(time.Hour).Sub(now)), errRate)
	}
	if !t.Ask {
		return nil, nil
	}
	answer, err := d.AskMirin(ctx, poppokeys.MirinRequestsMessage{Issue: t.Issue, Kind: t.Kind, Prompt: t.Prompt})
	var answered *event.Answered
	switch {
	case errors.As(err, &answered): // an answer, and it is an error
		return &poppokeys.TaskOutcomeValue{Text: "Mirin: " + answered.Error(), By: fmt.Sprintf("issue-%d-mirin", t.Issue)}, nil
	case err != nil:
		return nil, err
	case !answer.Approved:
		return &poppokeys.TaskOutcomeValue{Text: "Mirin: " + answer.Comment, By: fmt.Sprintf("issue-%d-mirin", t.Issue)}, nil
	}
	return nil, nil
}

// AskMirin sends a request and waits for its answer, for so long as the options
// say.
func (d *Daemon) AskMirin(ctx context.Context, q poppokeys.MirinRequestsMessage) (poppokeys.MirinRequestsReply, error) {
	ctx, stop := context.WithTimeoutCause(ctx, d.o.MirinWait, errors.New("no answer of Mirin came in time"))
	defer stop()
	answer, err := d.keys.MirinRequestsExchange().Call(ctx, q)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return answer, err
}

// ServeMirin answers requests until ctx ends. An error of decide is an answer, too.
func (d *Daemon) ServeMirin(ctx context.Context, decide func(poppokeys.MirinRequestsMessage) (poppokeys.MirinRequestsReply, error)) error {
	o := event.ServeOptions{OnError: func(err error) { d.log.Warn("mirin", "error", err) }}
	return d.keys.MirinRequestsExchange().Serve(ctx, o, func(_ context.Context, m event.Message[poppokeys.MirinRequestsMessage]) (poppokeys.MirinRequestsReply, error) {
		return decide(m.Data)
	})
}

// listen hears of outcomes.
func (d *Daemon) listen(ctx context.Context) (stop func(), err error) {
	return d.keys.OtherEventsTopic("task-done").Subscribe(ctx, event.Options{}, func(m event.Message[poppokeys.OtherEventsMessage], err error) {
		var data struct{ Task string }
		if err == nil && json.Unmarshal(m.Data.Data, &data) == nil {
			d.outcome.tell(data.Task)
		}
	})
}

// waiters are the tasks that this process waits for.
type waiters struct {
	mu    sync.Mutex
	tasks map[string]chan struct{}
}

func newWaiters() *waiters { return &waiters{tasks: map[string]chan struct{}{}} }

// of is a channel that is told when a task is done, until done is called.
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
