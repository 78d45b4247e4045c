package githubbroker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"time"
)

// Agent asks a broker for work and runs a command for each piece of it. The command reads
// the task as JSON, and finds BROKER_KIND, BROKER_NUMBER, BROKER_FENCE and BROKER_AGENT in its
// environment. Exit code 0 is work that is done, any other one work that has failed.
type Agent struct {
	Name    string // one agent at a time has it
	Broker  string // URL
	Command []string
	Idle    time.Duration // between two questions when there is no work; 0: 5 s
	Log     *slog.Logger
	Client  *http.Client
}

// errLost ends a command whose work the agent has no more.
var errLost = errors.New("the work is no longer this agent's")

// Run works until ctx ends. It ends the command then, and gives the work back.
func (a *Agent) Run(ctx context.Context) error {
	if len(a.Command) == 0 {
		return errors.New("an agent needs a command")
	}
	if _, err := url.Parse(a.Broker); err != nil { // err shows the address
		return errors.New("the address of the broker cannot be read: write https://HOST")
	}
	a.Idle, a.Log = cmp.Or(a.Idle, 5*time.Second), cmp.Or(a.Log, slog.Default())
	a.Client = cmp.Or(a.Client, &http.Client{Timeout: 30 * time.Second})
	for ctx.Err() == nil {
		asked := time.Now()
		var task *Task
		err := a.post(ctx, "task", nil, &task)
		if err == nil && task != nil {
			err = a.work(ctx, task, asked.Add(time.Duration(task.Seconds*float64(time.Second))))
		}
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("agent", "name", a.Name, "error", err)
		}
		if err == nil && task != nil {
			continue
		}
		pause(ctx, a.Idle)
	}
	return nil
}

// work runs the command for a task, which is this agent's until a time.
func (a *Agent) work(ctx context.Context, task *Task, until time.Time) error {
	running, stop := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	lease := time.Until(until)
	go func() {
		defer close(kept)
		a.keep(running, stop, task.Ticket, until, lease)
	}()
	failed := a.run(running, task)
	lost := errors.Is(context.Cause(running), errLost)
	stop(nil)
	<-kept
	if lost {
		return errLost
	}
	// What is sent last is sent until it is received: brokers may be restarting.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(lease, time.Minute))
	defer cancel()
	switch {
	case failed == nil:
		return a.insist(end, "done", show{Ticket: task.Ticket})
	case ctx.Err() != nil: // asked to stop: that is no failure of the work
		end, cancel := context.WithTimeout(end, 5*time.Second)
		defer cancel()
		return a.insist(end, "giveback", show{Ticket: task.Ticket})
	default:
		told := a.insist(end, "giveback", show{task.Ticket, failed.Error()})
		return errors.Join(fmt.Errorf("%s %d: %w", task.Kind, task.Number, failed), told)
	}
}

// keep keeps the work, a third of the lease after it did so last, and stops the command when
// it is lost, or when its time is over without an answer.
func (a *Agent) keep(
	ctx context.Context, stop context.CancelCauseFunc, ticket string, until time.Time, lease time.Duration,
) {
	over := time.AfterFunc(time.Until(until), func() { stop(errLost) })
	defer over.Stop()
	for {
		pause(ctx, lease/3)
		for ctx.Err() == nil {
			asked := time.Now()
			var said struct{ Seconds float64 }
			err := a.post(ctx, "keep", show{Ticket: ticket}, &said)
			var refused *refusal
			switch {
			case err == nil:
				until = asked.Add(time.Duration(said.Seconds * float64(time.Second)))
				over.Reset(time.Until(until))
			case errors.As(err, &refused) && refused.code != http.StatusServiceUnavailable:
				stop(errLost)
			default: // no broker, or it has no Redis
				pause(ctx, lease/20)
				continue
			}
			break
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// run runs the command. When ctx ends its process group is asked to end, and the command is killed
// five seconds later. What is left of the group when the command has ended is killed at once.
func (a *Agent) run(ctx context.Context, task *Task) error {
	text, err := json.Marshal(task)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, a.Command[0], a.Command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(text), os.Stdout, os.Stderr
	c.Env = append(os.Environ(), "BROKER_KIND="+string(task.Kind), fmt.Sprint("BROKER_NUMBER=", task.Number),
		fmt.Sprint("BROKER_FENCE=", task.Fence), "BROKER_AGENT="+a.Name)
	end := group(c)
	c.WaitDelay = 5 * time.Second
	err = c.Run()
	end()
	return err
}

// insist sends something until it is received, or refused.
func (a *Agent) insist(ctx context.Context, what string, s show) error {
	for {
		err := a.post(ctx, what, s, nil)
		var refused *refusal
		if err == nil || ctx.Err() != nil || errors.As(err, &refused) && refused.code != http.StatusServiceUnavailable {
			return err
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// refusal represents an answer of a broker other than work.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return fmt.Sprintf("the broker says %d: %s", r.code, r.text) }

func (a *Agent) post(ctx context.Context, what string, send, into any) error {
	text, err := json.Marshal(send)
	if err != nil {
		return err
	}
	to := a.Broker + "/agents/" + url.PathEscape(a.Name) + "/" + what
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(text))
	if err != nil {
		return err
	}
	answer, err := a.Client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusNoContent:
		return nil
	case http.StatusOK:
		return json.NewDecoder(answer.Body).Decode(into)
	}
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
	return &refusal{answer.StatusCode, string(bytes.TrimSpace(said))}
}

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
