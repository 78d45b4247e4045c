package githubbroker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/lock"
)

// Assignment is work that an agent has. It belongs to the agent until Done or
// GiveBack, or until its context ends.
type Assignment struct {
	Kind  Kind
	Issue Issue // of reviews and developments
	Fix   Fix   // of fix tasks

	broker *Broker
	agent  string
	lease  *lock.Lease
}

// Context ends when the work is the agent's no more: it must stop then.
func (a *Assignment) Context() context.Context { return a.lease.Context() }

// Fence goes with everything the agent writes: it is greater than that of every
// agent that had this work before, and what it writes to refuses a smaller one.
func (a *Assignment) Fence() int64 { return a.lease.Fence() }

// candidate is what is kept of work that could go to an agent.
type candidate struct {
	Kind  Kind      `json:"kind"`
	Issue int64     `json:"issue"`
	Agent string    `json:"agent"`
	Seen  time.Time `json:"seen"`
}

// RequestTask gives an agent work: fix tasks first, then reviews whose delay is
// over, then issues. nil when there is none. The lock of the work is taken under
// the agent's name; when that fails somebody else has it, and the next is tried.
func (b *Broker) RequestTask(ctx context.Context, agent string) (*Assignment, error) {
	if a, err := b.requestFix(ctx, agent); a != nil || err != nil {
		return a, err
	}
	issues, err := b.Issues(ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range []Kind{ReviewTask, Development} {
		for _, issue := range issues {
			if is := b.kindOf(issue); is != kind {
				continue
			}
			if ready, err := b.ready(ctx, issue, kind); err != nil || !ready {
				if err != nil {
					return nil, err
				}
				continue
			}
			a, err := b.assign(ctx, agent, kind, issue)
			if a != nil || err != nil {
				return a, err
			}
		}
	}
	return nil, nil
}

func (b *Broker) kindOf(issue Issue) Kind {
	if slices.Contains(issue.Labels, needsReview) {
		return ReviewTask
	}
	return Development
}

// ready is whether a review has waited for long enough.
func (b *Broker) ready(ctx context.Context, issue Issue, kind Kind) (bool, error) {
	if kind != ReviewTask {
		return true, nil
	}
	seen, err := b.keys.ReviewDetected(issue.Number).Get(ctx)
	if errors.Is(err, keywright.ErrNotFound) {
		return false, nil // handed out, or not yet noted
	}
	return err == nil && b.o.Now().Sub(seen) >= b.o.ReviewDelay, err
}

func (b *Broker) assign(ctx context.Context, agent string, kind Kind, issue Issue) (*Assignment, error) {
	text, err := json.Marshal(candidate{kind, issue.Number, agent, b.o.Now().UTC()})
	if err != nil {
		return nil, err
	}
	if err := b.keys.TaskCandidate(issue.Number, agent).Set(ctx, text); err != nil {
		return nil, err
	}
	lease, err := b.keys.IssueLock(issue.Number).As(agent).Try(ctx)
	if errors.Is(err, lock.ErrHeld) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a := &Assignment{Kind: kind, Issue: issue, broker: b, agent: agent, lease: lease}
	if _, err := b.keys.Issue(issue.Number).Get(ctx); err != nil { // it was closed while we looked, or cannot be read
		if errors.Is(err, keywright.ErrNotFound) {
			err = nil
		}
		return nil, errors.Join(err, a.GiveBack(ctx))
	}
	if err := b.begin(ctx, a, issue.Number); err != nil {
		return nil, errors.Join(err, a.GiveBack(ctx))
	}
	return a, nil
}

func (b *Broker) begin(ctx context.Context, a *Assignment, number int64) error {
	return b.keys.AgentCurrentTask(a.agent).Set(ctx, number)
}

func (b *Broker) requestFix(ctx context.Context, agent string) (*Assignment, error) {
	requests, err := b.keys.OpenFixes().Members(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(requests)
	for _, n := range requests {
		lease, err := b.keys.FixLock(n).As(agent).Try(ctx)
		if errors.Is(err, lock.ErrHeld) {
			continue
		}
		if err != nil {
			return nil, err
		}
		a := &Assignment{Kind: FixTask, broker: b, agent: agent, lease: lease}
		text, err := b.keys.FixTask(n).Get(ctx)
		if err == nil {
			return a, json.Unmarshal(text, &a.Fix)
		}
		if errors.Is(err, keywright.ErrNotFound) { // its day is over, or it was finished in this moment
			_, err = b.keys.OpenFixes().Remove(ctx, n)
		}
		if err := errors.Join(err, lease.Release(ctx)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// CurrentTask is the issue an agent works on; ErrNotFound if there is none.
func (b *Broker) CurrentTask(ctx context.Context, agent string) (int64, error) {
	return b.keys.AgentCurrentTask(agent).Get(ctx)
}

// Worker is the agent that works on an issue, "" for nobody.
func (b *Broker) Worker(ctx context.Context, issue int64) (string, error) {
	h, err := b.keys.IssueLock(issue).Holder(ctx)
	return h.Owner, err
}

// Done ends the work: what was kept for it goes, and the lock is given back
// last, so that nobody takes it up again in between.
func (a *Assignment) Done(ctx context.Context) error {
	if err := a.lease.Renew(ctx); err != nil { // lost: it is somebody else's to end
		return errors.Join(err, a.GiveBack(ctx))
	}
	b := a.broker
	var err error
	if a.Kind == FixTask {
		_, err = b.keys.OpenFixes().Remove(ctx, a.Fix.PullRequest)
		err = errors.Join(err, b.keys.FixDone(ctx, a.Fix.PullRequest))
	} else {
		// The list is the sync's alone: by it the next one finds what a killed agent has left.
		err = b.keys.IssueClosed(ctx, a.Issue.Number)
	}
	return errors.Join(err, a.GiveBack(ctx))
}

// GiveBack ends the work undone; others may have it at once.
func (a *Assignment) GiveBack(ctx context.Context) error {
	b := a.broker
	var err error
	if a.Kind != FixTask {
		_, err = b.keys.AgentCurrentTask(a.agent).Delete(ctx)
		_, failed := b.keys.TaskCandidate(a.Issue.Number, a.agent).Delete(ctx)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, a.lease.Release(ctx))
}
