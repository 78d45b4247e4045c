// Package githubbroker hands GitHub issues to agents, over generated code only
// (package brokerkeys): an issue cache that is replaced without an empty moment,
// a lock per issue under the name of the agent, reviews that wait a while, and
// fix tasks made from review comments. Several brokers and agents may run; any of
// them may be killed at any moment.
//
// Where it differs from the page it was made from: a sync overwrites and deletes
// what is gone, instead of deleting everything first; a lock is taken in one
// step, renewed while its agent lives, and released by its owner only; its
// fencing token goes with the work, so that a late agent is refused.
package githubbroker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/lock"
)

// Issue is an open issue as GitHub tells it.
type Issue struct {
	Number int64    `json:"number"`
	Title  string   `json:"title"`
	Labels []string `json:"labels"`
}

// GitHub is what is asked of it.
type GitHub interface {
	OpenIssues(ctx context.Context) ([]Issue, error)
}

// Fix is a task made from the review comments of a pull request.
type Fix struct {
	PullRequest int64    `json:"pull_request"`
	Comments    []string `json:"comments"`
}

// Kind is what an agent is to do.
type Kind string

// The kinds, in the order in which they are handed out.
const (
	FixTask     Kind = "fix"
	ReviewTask  Kind = "review"
	Development Kind = "development"
)

// labels of issues.
const needsReview = "needs-review"

// Options of a broker.
type Options struct {
	Poll        time.Duration // between two syncs; 0: 1 min
	ReviewDelay time.Duration // between the label and the review; 0: 5 min
	Lease       time.Duration // of locks; 0: as declared
	Now         func() time.Time
}

// Broker hands out work.
type Broker struct {
	keys   *brokerkeys.Keyspace
	github GitHub
	o      Options
}

// New makes a broker.
func New(c *keywright.Client, g GitHub, o Options) *Broker {
	if o.Poll == 0 {
		o.Poll = time.Minute
	}
	if o.ReviewDelay == 0 {
		o.ReviewDelay = 5 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	locks := lock.Options{Lease: o.Lease}
	return &Broker{brokerkeys.NewTuned(c, brokerkeys.Tuning{IssueLock: locks, FixLock: locks, IssueSync: locks}), g, o}
}

// Poll syncs until ctx ends; several processes may do so, one of them does it at
// a time. failed hears of polls that failed.
func (b *Broker) Poll(ctx context.Context, failed func(error)) {
	ticker := time.NewTicker(b.o.Poll)
	defer ticker.Stop()
	for {
		if err := b.Sync(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sync brings the cache in line with GitHub. There is no moment without the
// issues that stay open: they are overwritten, and what is gone is deleted
// after that. A sync that dies in between leaves old issues, which the next one
// deletes. It does nothing while another process syncs.
func (b *Broker) Sync(ctx context.Context) error {
	lease, err := b.keys.IssueSync().Try(ctx)
	if errors.Is(err, lock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	err = b.sync(lease.Context(), lease.Fence())
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

// sync keeps one rule at every moment: what has a key is in the list. So it adds
// to the list first, then writes keys, then deletes keys, and takes out of the
// list last, only what it deleted itself.
//
// A sync that lost its lease may have commands on their way still. Every write of
// a key passes a gate with the fencing token, so that such a command cannot bring
// back what a newer sync has deleted.
func (b *Broker) sync(ctx context.Context, fence int64) error {
	issues, err := b.github.OpenIssues(ctx)
	if err != nil {
		return err
	}
	listed, err := b.keys.OpenIssues().Members(ctx)
	if err != nil {
		return err
	}
	open := make([]int64, len(issues))
	for i, issue := range issues {
		open[i] = issue.Number
	}
	closed := slices.DeleteFunc(listed, func(number int64) bool { return slices.Contains(open, number) })
	if len(open) > 0 {
		if _, err := b.keys.OpenIssues().Add(ctx, open...); err != nil {
			return err
		}
	}
	if err := each(issues, func(issue Issue) error { return b.store(ctx, fence, issue) }); err != nil {
		return err
	}
	if err := each(closed, func(number int64) error { return b.forget(ctx, fence, number) }); err != nil {
		return err
	}
	if len(closed) == 0 {
		return nil
	}
	_, err = b.keys.OpenIssues().Remove(ctx, closed...)
	return err
}

// store writes an issue, and when its label was first seen.
func (b *Broker) store(ctx context.Context, fence int64, issue Issue) error {
	text, err := json.Marshal(issue)
	if err != nil {
		return err
	}
	key, err := brokerkeys.IssueKey(issue.Number)
	if err != nil {
		return err
	}
	if err := b.pass(ctx, fence, key, "SET", string(text)); err != nil {
		return err
	}
	seen, err := brokerkeys.ReviewDetectedKey(issue.Number)
	if err != nil {
		return err
	}
	if slices.Contains(issue.Labels, needsReview) {
		return b.pass(ctx, fence, seen, "SET", b.o.Now().UTC().Format(time.RFC3339Nano), "NX")
	}
	return b.pass(ctx, fence, seen, "DEL")
}

// forget deletes what is kept of an issue that is closed.
func (b *Broker) forget(ctx context.Context, fence int64, number int64) error {
	key, err := brokerkeys.IssueKey(number)
	if err != nil {
		return err
	}
	seen, err := brokerkeys.ReviewDetectedKey(number)
	if err != nil {
		return err
	}
	return errors.Join(b.pass(ctx, fence, key, "DEL"), b.pass(ctx, fence, seen, "DEL"))
}

// pass writes a key, unless a newer sync has written it.
func (b *Broker) pass(ctx context.Context, fence int64, key, command string, args ...string) error {
	_, err := lock.NewGate(b.keys.Client(), key, 0).Do(ctx, fence, command, args...)
	if errors.Is(err, keywright.ErrNotFound) { // SET NX of what is there
		return nil
	}
	return err
}

// each runs f for all items, sixteen at a time: their commands share pipelines.
func each[T any](items []T, f func(T) error) error {
	var all sync.WaitGroup
	errs, places := make([]error, len(items)), make(chan struct{}, 16)
	for i, item := range items {
		places <- struct{}{}
		all.Go(func() {
			errs[i] = f(item)
			<-places
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Issues are the open issues as they are cached, in the order of their numbers.
func (b *Broker) Issues(ctx context.Context) ([]Issue, error) {
	numbers, err := b.keys.OpenIssues().Members(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(numbers)
	var batch keywright.Batch
	texts := make([]*keywright.Pending[json.RawMessage], len(numbers))
	for i, n := range numbers {
		texts[i] = keywright.Queue(&batch, b.keys.Issue(n).Later().Get())
	}
	if err := batch.Run(ctx, b.keys.Client()); err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return nil, err
	}
	var issues []Issue
	for _, t := range texts {
		text, err := t.Result()
		if errors.Is(err, keywright.ErrNotFound) {
			continue // closed in this moment
		}
		var issue Issue
		if err := errors.Join(err, json.Unmarshal(text, &issue)); err != nil {
			return nil, err
		}
		issues = append(issues, issue)
	}
	return issues, nil
}

// CreateFixTask makes a task of review comments.
func (b *Broker) CreateFixTask(ctx context.Context, fix Fix) error {
	text, err := json.Marshal(fix)
	if err != nil {
		return err
	}
	if err := b.keys.FixTask(fix.PullRequest).Set(ctx, text); err != nil {
		return err
	}
	_, err = b.keys.OpenFixes().Add(ctx, fix.PullRequest) // after the task: a reader of the number finds it
	return err
}
