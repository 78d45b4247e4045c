package poppobuilder

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/queue"
)

// Task is work on one issue. Priority "" is normal.
type Task struct {
	Issue    int64              `json:"issue"`
	Kind     string             `json:"kind"`
	Prompt   string             `json:"prompt"`
	Priority poppokeys.Priority `json:"priority"`
	Ask      bool               `json:"ask"` // Mirin must approve
}

// Submit puts a task into the queue, and says its id: task-1, task-2, …
func (d *Daemon) Submit(ctx context.Context, t Task) (id string, err error) {
	if t.Priority == "" {
		t.Priority = poppokeys.PriorityNormal
	}
	if t.Kind == "" {
		t.Kind = "work"
	}
	n, err := d.keys.TaskNumber().Add(ctx, 1)
	if err != nil {
		return "", err
	}
	id = "task-" + strconv.FormatInt(n, 10)
	if _, err := d.change(ctx, t.Issue, change{status: "queued", task: id}); err != nil {
		return "", err
	}
	return d.keys.Tasks().Enqueue(ctx, queue.Task[poppokeys.TasksValue]{
		ID: id, Lane: string(t.Priority), Payload: poppokeys.TasksValue{Issue: t.Issue, Kind: t.Kind, Prompt: t.Prompt, Ask: t.Ask},
	})
}

// change is a move of an issue to another status.
type change struct {
	status, task string
	fence        int64         // of the issue's lock; 0: without it
	took         time.Duration // of a task that has ended
}

// Answers of change_issue.
const (
	changed = "ok"    // and announced
	same    = "same"  // the task has moved the issue there before
	stale   = "stale" // a newer holder of the lock has written
	busy    = "busy"  // only said to those without the lock
)

const day = 24 * time.Hour

// change moves an issue: status, sets, figures and event in one step. The day is
// that of the server; over midnight it answers with its own, and is asked again.
func (d *Daemon) change(ctx context.Context, issue int64, c change) (string, error) {
	channel, err := d.keys.Namespace().IssueStatusChangedChannel()
	if err != nil {
		return "", err
	}
	now := time.Now().UTC()
	for range 3 {
		today := now.Unix() / int64(day/time.Second)
		said, err := d.keys.ChangeIssue(ctx, issue, now, c.task, issue, c.status, c.task, c.fence, today, now, now.Add(-7*day), c.took.Milliseconds(), channel, int64(d.keys.Client().Database()))
		if err != nil {
			return "", err
		}
		other, err := strconv.ParseInt(said, 10, 64)
		if err != nil {
			return said, nil
		}
		now = time.Unix(other*int64(day/time.Second), 0).UTC()
	}
	return "", fmt.Errorf("the server's day does not stand still")
}
