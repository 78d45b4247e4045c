package githubbroker

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/lock"
)

// candidates returns those of some issues that an agent may be given now: not those that it gave
// back lately, nor those that are done, nor reviews that still wait. What it reads takes two
// round trips, whatever their number.
func (b *Broker) candidates(ctx context.Context, agent string, kind Kind, numbers []int64) (ready []int64, err error) {
	type look struct {
		candidate *keywright.Pending[brokerkeys.TaskCandidateValue]
		done      *keywright.Pending[brokerkeys.TaskDoneValue]
		detected  *keywright.Pending[time.Time]
	}
	var batch keywright.Batch
	looks := make([]look, len(numbers))
	for i, n := range numbers {
		looks[i].candidate = keywright.Queue(&batch, b.keys.TaskCandidate(n, agent).Get())
		looks[i].done = keywright.Queue(&batch, b.keys.TaskDone(n).Get())
		if kind == ReviewTask {
			looks[i].detected = keywright.Queue(&batch, b.keys.ReviewDetected(n).Get())
		}
	}
	if err := batch.Run(ctx); err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return nil, err
	}
	now := b.o.Now()
	marks := map[int64]brokerkeys.TaskDoneValue{}
	for i, n := range numbers {
		candidate, there, err := found(looks[i].candidate)
		if err != nil {
			return nil, err
		}
		if there && now.Before(candidate.Until) {
			continue
		}
		if kind == ReviewTask {
			detected, there, err := found(looks[i].detected)
			if err != nil {
				return nil, err
			}
			if !there || now.Sub(detected) < b.o.ReviewDelay {
				continue
			}
		}
		if marks[n], _, err = found(looks[i].done); err != nil {
			return nil, err
		}
		ready = append(ready, n)
	}
	return b.undone(ctx, kind, ready, marks)
}

// undone leaves out what was done, and has not changed on GitHub since.
func (b *Broker) undone(
	ctx context.Context, kind Kind, numbers []int64, marks map[int64]brokerkeys.TaskDoneValue,
) (left []int64, err error) {
	var batch keywright.Batch
	texts := map[int64]*keywright.Pending[json.RawMessage]{}
	for _, n := range numbers {
		if kind != FixTask && marks[n].Kind == kind {
			texts[n] = keywright.Queue(&batch, b.keys.Issue(n).Get())
		}
	}
	if err := batch.Run(ctx); err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return nil, err
	}
	for _, n := range numbers {
		if text := texts[n]; text != nil {
			raw, there, err := found(text)
			if err != nil {
				return nil, err
			}
			if issue, err := parseIssue(raw); !there || err != nil || doneWith(marks[n], issue) {
				continue
			}
		}
		left = append(left, n)
	}
	return left, nil
}

// found returns what was read, if it is there.
func found[T any](p *keywright.Pending[T]) (T, bool, error) { return maybe(p.Result()) }

// CurrentTask returns the issue or pull request an agent works on; keywright.ErrNotFound if there
// is none.
func (b *Broker) CurrentTask(ctx context.Context, agent string) (int64, error) {
	return b.keys.AgentCurrentTask(agent).Get().Do(ctx)
}

// forget gives back what an agent had when it ended without a word.
func (b *Broker) forget(ctx context.Context, agent string) error {
	n, err := b.CurrentTask(ctx, agent)
	if errors.Is(err, keywright.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	holder, err := b.keys.IssueLock(n).Holder(ctx)
	if err != nil {
		return err
	}
	if holder.Owner == agent {
		lease, err := b.keys.IssueLock(n).Resume(ctx, holder.Token)
		if err == nil {
			err = lease.Release(ctx)
		}
		if err != nil && !errors.Is(err, lock.ErrLost) {
			return err
		}
	}
	_, err = b.keys.AgentCurrentTask(agent).Delete().Do(ctx)
	return err
}

// with runs fn under the lease of a ticket, and keeps the lease if fn says so, else gives the
// lock back, last of all: so no other agent takes the work up in between. lock.ErrLost if the
// agent has it no more.
func (b *Broker) with(
	ctx context.Context, agent, text string, fn func(context.Context, assignment) (keep bool, err error),
) (left time.Duration, err error) {
	t, err := parseTicket(text)
	if err != nil {
		return 0, err
	}
	l := b.keys.IssueLock(t.number).As(agent)
	if !strings.HasPrefix(t.token, agent+"/") {
		return 0, ErrTicket
	}
	lease, err := l.Resume(ctx, t.token)
	if err != nil {
		return 0, err
	}
	keep, err := fn(lease.Context(), t)
	left = time.Until(lease.Deadline())
	if !keep && err == nil {
		ctx, stop := finish(ctx)
		defer stop()
		return 0, lease.Release(ctx)
	}
	_, lost := lease.Detach() // after an error, too: the agent has it until it says so again
	return left, errors.Join(err, lost)
}

// Keep gives the agent its work for another while.
func (b *Broker) Keep(ctx context.Context, agent, shown string) (left time.Duration, err error) {
	return b.with(ctx, agent, shown, func(ctx context.Context, t assignment) (bool, error) {
		return true, b.keys.AgentCurrentTask(agent).Set(t.number, keywright.ExpiresIn(b.o.Lease)).Do(ctx)
	})
}

// Done ends the work. The next agent gets this issue when GitHub has something new of it.
func (b *Broker) Done(ctx context.Context, agent, shown string) error {
	_, err := b.with(ctx, agent, shown, func(ctx context.Context, t assignment) (bool, error) {
		mark := brokerkeys.TaskDoneValue{Kind: t.kind, By: agent, At: b.o.Now(), Comment: t.comment}
		if err := b.keys.TaskDone(t.number).Set(mark).Do(ctx); err != nil {
			return false, err
		}
		_, err1 := b.keys.TaskCandidate(t.number, agent).Delete().Do(ctx)
		_, err2 := b.keys.AgentCurrentTask(agent).Delete().Do(ctx)
		return false, errors.Join(err1, err2)
	})
	return err
}

// GiveBack ends the work undone; other agents may have it at once. With a reason it has
// failed, and this agent is not offered it again for a while, which is doubled each time.
func (b *Broker) GiveBack(ctx context.Context, agent, shown, reason string) error {
	_, err := b.with(ctx, agent, shown, func(ctx context.Context, t assignment) (bool, error) {
		if reason != "" {
			if err := b.failed(ctx, agent, t, reason); err != nil {
				return false, err
			}
		}
		_, err := b.keys.AgentCurrentTask(agent).Delete().Do(ctx)
		return false, err
	})
	return err
}

func (b *Broker) failed(ctx context.Context, agent string, t assignment, reason string) error {
	candidate := b.keys.TaskCandidate(t.number, agent)
	last, err := candidate.Get().Do(ctx)
	if err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return err
	}
	if last.Kind != t.kind {
		last.Times = 0
	}
	rest := min(b.o.Rest<<min(last.Times, 20), 24*time.Hour)
	reason = strings.ToValidUTF8(reason[:min(len(reason), 500)], "")
	next := brokerkeys.TaskCandidateValue{Kind: t.kind, Times: last.Times + 1, Until: b.o.Now().Add(rest), Why: reason}
	return candidate.Set(next).Do(ctx)
}

// Worker returns the agent that works on an issue, "" if there is none, and how long it may.
func (b *Broker) Worker(ctx context.Context, number int64) (agent string, left time.Duration, err error) {
	h, err := b.keys.IssueLock(number).Holder(ctx)
	return h.Owner, h.Left, err
}
