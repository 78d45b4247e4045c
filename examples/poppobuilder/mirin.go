package poppobuilder

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/queue"
)

// refused asks Mirin whether a task may run. What refuses it is the task's outcome:
// written once, so that a daemon that takes the task over does not ask again.
func (d *Daemon) refused(ctx context.Context, job *queue.Job[poppokeys.TasksValue]) (no poppokeys.TaskOutcomeValue,
	refused bool, err error) {
	t := job.Payload
	answer, err := d.AskMirin(ctx, poppokeys.MirinRequestsMessage{Issue: t.Issue, Kind: t.Kind, Prompt: t.Prompt})
	var answered *event.Answered
	no.By = fmt.Sprintf("issue-%d-mirin", t.Issue)
	switch {
	case errors.As(err, &answered): // an answer, and it is an error
		no.Text = "Mirin: " + answered.Error()
	case errors.Is(err, errMirin):
		return no, false, queue.Later(d.o.Wait, err)
	case err != nil || answer.Approved:
		return no, false, err
	default:
		no.Text = "Mirin: " + answer.Comment
	}
	first, err := d.keys.TaskOutcome(job.ID).SetIfAbsent(no).Do(ctx)
	if err == nil && !first {
		no, err = d.keys.TaskOutcome(job.ID).Get().Do(ctx)
	}
	return no, true, err
}

// AskMirin sends a request and waits for its answer, for so long as the options
// say.
func (d *Daemon) AskMirin(ctx context.Context, q poppokeys.MirinRequestsMessage) (poppokeys.MirinRequestsReply, error) {
	ctx, stop := context.WithTimeoutCause(ctx, d.o.MirinWait, errMirin)
	defer stop()
	answer, err := d.keys.MirinRequestsExchange().Call(ctx, q)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return answer, err
}

// ServeMirin answers requests until ctx ends. An error of decide is an answer, too.
func (d *Daemon) ServeMirin(ctx context.Context,
	decide func(poppokeys.MirinRequestsMessage) (poppokeys.MirinRequestsReply, error)) error {
	o := event.ServeOptions{OnError: func(err error) { d.log.Warn("mirin", "error", err) }}
	return d.keys.MirinRequestsExchange().Serve(ctx, o, func(_ context.Context,
		m event.Message[poppokeys.MirinRequestsMessage]) (poppokeys.MirinRequestsReply, error) {
		return decide(m.Data)
	})
}

// listen is notified of outcomes.
func (d *Daemon) listen(ctx context.Context) (stop func(), err error) {
	return d.keys.TaskDoneTopic().Subscribe(ctx, event.Options{},
		func(m event.Message[poppokeys.TaskDoneMessage], err error) {
			if err == nil {
				d.outcome.tell(m.Data.Task)
			}
		})
}
