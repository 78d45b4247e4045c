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
// behind. A sync that dies in between leaves old issues, which the next one takes
// away. It does nothing while another process syncs.
func (b *Broker) Sync(ctx context.Context) error {
	lease, err := b.keys.IssueSync().Try(ctx)
	if errors.Is(err, lock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	err = b.sync(lease.Context())
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

func (b *Broker) sync(ctx context.Context) error {
	issues, err := b.github.OpenIssues(ctx)
	if err != nil {
		return err
	}
	before, err := b.keys.OpenIssues().Members(ctx)
	if err != nil {
		return err
	}
	var batch keywright.Batch
	open := make([]int64, len(issues))
	for i, issue := range issues {
		open[i] = issue.Number
		text, err := json.Marshal(issue)
		if err != nil {
			return err
		}
		keywright.Queue(&batch, b.keys.Issue(issue.Number).Later().Set(text))
		b.noteReview(&batch, issue)
	}
	// What has a key is in the list from before it has one until it has none any more:
	// a sync that is killed anywhere leaves nothing that the next one does not find.
	if len(open) > 0 {
		if _, err := b.keys.OpenIssues().Add(ctx, open...); err != nil {
			return err
		}
		// Once more behind the keys: an agent may close one meanwhile, and take it from
		// the list before its key is written here.
		keywright.Queue(&batch, b.keys.OpenIssues().Later().Add(open))
	}
	if err := batch.Run(ctx, b.keys.Client()); err != nil {
		return err
	}
	for _, number := range before {
		if slices.Contains(open, number) {
			continue
		}
		if err := b.keys.IssueClosed(ctx, number); err != nil {
			return err
		}
	}
	return b.keys.OpenIssues().Replace(ctx, open)
}

// noteReview notes when the label was first seen, or that it is gone.
func (b *Broker) noteReview(batch *keywright.Batch, issue Issue) {
	seen := b.keys.ReviewDetected(issue.Number)
	if slices.Contains(issue.Labels, needsReview) {
		keywright.Queue(batch, seen.Later().SetIfAbsent(b.o.Now().UTC()))
		return
	}
	keywright.Queue(batch, seen.LaterDelete())
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
	_, err = b.keys.OpenFixes().Add(ctx, fix.PullRequest) // behind the task: who sees the number finds it
	return err
}
