package poppobuilder

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/queue"
)

// Task is work on one issue. Priority "" is the default of the declaration, normal.
type Task struct {
	Issue    int64              `json:"issue"`
	Kind     string             `json:"kind"`
	Prompt   string             `json:"prompt"`
	Priority poppokeys.Priority `json:"priority"`
	Ask      bool               `json:"ask"` // Mirin must approve
}

// Submit puts a task into the queue, and says its id: task-1, task-2, … The status
// is the last step: a task that is not announced is done all the same, and an issue
// that is said to be queued has a task.
func (d *Daemon) Submit(ctx context.Context, t Task) (id string, err error) {
	if t.Kind == "" {
		t.Kind = "work"
	}
	payload := poppokeys.TasksValue{Issue: t.Issue, Kind: t.Kind, Prompt: t.Prompt, Ask: t.Ask}
	if err := refuse(t, payload); err != nil { // before it has a number
		return "", err
	}
	n, err := d.keys.TaskNumber().Add(1).Do(ctx)
	if err != nil {
		return "", err
	}
	id = "task-" + strconv.FormatInt(n, 10)
	if err := d.keys.TaskIssue(id).Set(t.Issue).Do(ctx); err != nil {
		return "", err
	}
	if id, err = d.keys.Tasks().Enqueue(ctx, queue.Task[poppokeys.TasksValue]{
		ID: id, Lane: string(t.Priority), Payload: payload,
	}); err != nil {
		return "", err
	}
	if _, err := d.change(ctx, t.Issue, change{status: "queued", task: id}); err != nil {
		d.log.Warn("a task is in the queue, and its issue does not say so yet", "task", id, "error", err)
	}
	return id, nil
}

// refuse returns why the queue would not take a task; nil if it would.
func refuse(t Task, payload poppokeys.TasksValue) error {
	if t.Issue == 0 || t.Prompt == "" {
		return fmt.Errorf("%w: a task has an issue and a prompt", errAsked)
	}
	if _, err := (poppokeys.Namespace{}).TasksKey(t.Priority); err != nil {
		return fmt.Errorf("%w: %w", errAsked, err)
	}
	if _, err := payload.MarshalJSON(); err != nil {
		return fmt.Errorf("%w: %w", errAsked, err)
	}
	return nil
}

// TaskState describes how a task is doing: waiting, running, dead, completed or failed.
type TaskState struct {
	State   string                      `json:"state"`
	Attempt int64                       `json:"attempt,omitempty"`
	Error   string                      `json:"error,omitempty"` // of the last attempt
	Outcome *poppokeys.TaskOutcomeValue `json:"outcome,omitempty"`
}

// Task says how a task is doing; keywright.ErrNotFound if there is none.
func (d *Daemon) Task(ctx context.Context, id string) (TaskState, error) {
	outcome, err := d.keys.TaskOutcome(id).Get().Do(ctx)
	if err == nil {
		return TaskState{State: map[bool]string{true: "completed", false: "failed"}[outcome.Ok], Outcome: &outcome}, nil
	}
	if !errors.Is(err, keywright.ErrNotFound) {
		return TaskState{}, err
	}
	state, err := d.keys.Tasks().State(ctx, id)
	if err != nil {
		return TaskState{}, err
	}
	s := TaskState{State: "waiting", Attempt: state.Attempt, Error: state.Error}
	if state.Owner != "" {
		s.State = "running"
	}
	ended, err1 := or(d.keys.TaskEnded(id).Get().Do(ctx))("")
	open, err2 := d.keys.TaskIssue(id).Exists().Do(ctx) // again, once it was tried again
	if ended == "dead" && !open && s.State == "waiting" {
		s.State = "dead"
	}
	return s, errors.Join(err1, err2)
}

// change represents a move of an issue to another status.
type change struct {
	status, task string
	fence        int64         // of the issue's lock; 0: without it
	took         time.Duration // of a task that has ended
}

// Answers of change_issue.
const (
	changed = "ok"    // and announced
	same    = "same"  // the task has moved the issue there before
	over    = "over"  // the end of the task is in the figures
	stale   = "stale" // a newer holder of the lock has written
	busy    = "busy"  // only said to those without the lock
)

const day = 24 * time.Hour

// change moves an issue: status, sets, figures and event in one step. The day is
// that of the server; over midnight it answers with its own time, and is asked again.
func (d *Daemon) change(ctx context.Context, issue int64, c change) (string, error) {
	channel, err := d.keys.Namespace().IssueStatusChangedChannel()
	if err != nil {
		return "", err
	}
	now := time.Now().UTC()
	for range 3 {
		today := now.Unix() / int64(day/time.Second)
		said, err := d.keys.ChangeIssue(issue, now, c.task, issue, c.status, c.task, c.fence, today, now,
			now.Add(-7*day), c.took.Milliseconds(), channel, int64(d.keys.Client().Database())).Do(ctx)
		if err != nil {
			return "", err
		}
		other, err := strconv.ParseInt(said, 10, 64)
		if err != nil {
			d.log.Debug("an issue is moved", "issue", issue, "status", c.status, "task", c.task, "answer", said)
			return said, nil
		}
		now = time.Unix(other, 0).UTC()
	}
	return "", errors.New("the server's day changes with each look at it")
}
