package githubbroker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/lock"
)

// PollerOptions of a poller. What is left zero is as the page says.
type PollerOptions struct {
	Poll  time.Duration // between two syncs; 0: 1 min
	Lease time.Duration // of the lock of the sync; 0: as declared
	Pulls int           // pull requests whose comments one sync reads; 0: 100
	Now   func() time.Time
}

// Poller keeps the cache in line with GitHub.
type Poller struct {
	keys   *brokerkeys.Keyspace
	github *GitHub
	o      PollerOptions
	from   int64 // the pull request at which the next sync begins, if one cannot read all
}

// NewPoller makes a poller.
func NewPoller(c *keywright.Client, g *GitHub, o PollerOptions) *Poller {
	o.Poll, o.Pulls = cmp.Or(o.Poll, time.Minute), cmp.Or(o.Pulls, 100)
	if o.Now == nil {
		o.Now = time.Now
	}
	keys := brokerkeys.NewTuned(c, brokerkeys.Tuning{IssueSync: lock.Options{Lease: o.Lease}})
	return &Poller{keys: keys, github: g, o: o}
}

// Run syncs until ctx ends; several processes may do so, one of them does it at a time, and
// GitHub is read as often as if there were one. failed is called with the error of each sync that failed. While GitHub
// is not to be asked it waits.
func (p *Poller) Run(ctx context.Context, failed func(error)) {
	for {
		pause := p.o.Poll
		if err := p.turn(ctx); err != nil && ctx.Err() == nil {
			failed(err)
			if limited := (*Limited)(nil); errors.As(err, &limited) {
				pause = max(pause, time.Until(limited.Until))
			}
		}
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return
		}
	}
}

// turn syncs, unless another process has a moment ago.
func (p *Poller) turn(ctx context.Context) error {
	synced, there, err := maybe(p.keys.Synced().Get().Do(ctx))
	if err != nil {
		return err
	}
	// A time to come is that of a clock which is wrong.
	if age := p.o.Now().Sub(synced); there && age >= 0 && age < p.o.Poll/2 {
		return nil
	}
	return p.Sync(ctx)
}

// Sync brings the cache in line with GitHub. There is no moment without the issues that
// stay open: they are overwritten, and what is gone is deleted after that. A sync that dies
// in between leaves what the next one finds. It does nothing while another process syncs.
func (p *Poller) Sync(ctx context.Context) error {
	lease, err := p.keys.IssueSync().Try(ctx)
	if errors.Is(err, lock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	err = p.sync(lease.Context(), lease.Fence())
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

func (p *Poller) sync(ctx context.Context, fence int64) error {
	all, err := p.github.Open(ctx)
	if err != nil {
		return err
	}
	var issues, pulls []Issue
	for _, issue := range all {
		if issue.PullRequest {
			pulls = append(pulls, issue)
		} else {
			issues = append(issues, issue)
		}
	}
	if err := p.issues(ctx, fence, issues); err != nil {
		return err
	}
	if err := p.fixes(ctx, pulls); err != nil {
		return err
	}
	return p.keys.Synced().Set(p.o.Now()).Do(ctx)
}

// issues keeps one rule at every moment: what has a key is in the list. So it adds to the
// list first, then writes keys, then deletes keys, and takes out of the list last, only
// what it deleted itself.
//
// A sync that lost its lease may have commands on their way still. Every write of a key
// passes a gate with the fencing token, so that such a command cannot bring back what a
// newer sync has deleted.
func (p *Poller) issues(ctx context.Context, fence int64, issues []Issue) error {
	listed, err := p.keys.OpenIssues().Members().Do(ctx)
	if err != nil {
		return err
	}
	open, reviews := map[int64]bool{}, map[int64]bool{}
	for _, issue := range issues {
		open[issue.Number] = true
		if issue.Kind() == ReviewTask {
			reviews[issue.Number] = true
		}
	}
	gone := slices.DeleteFunc(listed, func(n int64) bool { return open[n] })
	closed, err := p.closed(ctx, gone)
	if err != nil {
		return err
	}
	if err := change(ctx, p.keys.OpenIssues().Add, keys(open)); err != nil {
		return err
	}
	if err := each(issues, func(issue Issue) error { return p.store(ctx, fence, issue) }); err != nil {
		return err
	}
	if err := each(closed, func(number int64) error { return p.forget(ctx, fence, number) }); err != nil {
		return err
	}
	if err := p.reviews(ctx, reviews, closed); err != nil {
		return err
	}
	return change(ctx, p.keys.OpenIssues().Remove, closed)
}

// closed returns those of the issues missing from GitHub's list that are closed. One may be
// missing and be open all the same: when an issue is closed while the pages are read, the
// first of the next page moves to the one before. So GitHub is asked for each; what is too
// much for one sync is for the next.
func (p *Poller) closed(ctx context.Context, missing []int64) (closed []int64, err error) {
	const most = 100
	slices.Sort(missing)
	for _, number := range missing[:min(len(missing), most)] {
		switch open, err := p.github.IsOpen(ctx, number); {
		case err != nil:
			return nil, err
		case !open:
			closed = append(closed, number)
		}
	}
	return closed, nil
}

// reviews keeps the set of issues that wait for a review. Those of this list are added,
// and those that are in neither list, or closed, go.
func (p *Poller) reviews(ctx context.Context, reviews map[int64]bool, closed []int64) error {
	listed, err := p.keys.ReviewIssues().Members().Do(ctx)
	if err != nil {
		return err
	}
	if err := change(ctx, p.keys.ReviewIssues().Add, keys(reviews)); err != nil {
		return err
	}
	over := slices.DeleteFunc(listed, func(n int64) bool { return reviews[n] })
	return change(ctx, p.keys.ReviewIssues().Remove, slices.Compact(slices.Sorted(slices.Values(append(over, closed...)))))
}

// store writes an issue, and when its label was first seen, if that is not what is there.
func (p *Poller) store(ctx context.Context, fence int64, issue Issue) error {
	stored, there, err1 := maybe(p.keys.Issue(issue.Number).Get().Do(ctx))
	_, noted, err2 := maybe(p.keys.ReviewDetected(issue.Number).Get().Do(ctx))
	broken, _ := errors.AsType[*keywright.DecodeError](err1)
	if err := errors.Join(err1, err2); err != nil && broken == nil { // what cannot be read is written again
		return err
	}
	same, review := there && bytes.Equal(stored, issue.Raw), issue.Kind() == ReviewTask
	if same && noted == review {
		return nil
	}
	key, err := brokerkeys.IssueKey(issue.Number)
	if err != nil {
		return err
	}
	seen, err := brokerkeys.ReviewDetectedKey(issue.Number)
	if err != nil {
		return err
	}
	if !same {
		if err := p.pass(ctx, fence, key, "SET", string(issue.Raw)); err != nil {
			return err
		}
	}
	if review {
		return p.pass(ctx, fence, seen, "SET", p.o.Now().UTC().Format(time.RFC3339Nano), "NX")
	}
	return p.pass(ctx, fence, seen, "DEL")
}

// forget deletes what is kept of an issue that is closed.
func (p *Poller) forget(ctx context.Context, fence, number int64) error {
	key, err := brokerkeys.IssueKey(number)
	if err != nil {
		return err
	}
	seen, err := brokerkeys.ReviewDetectedKey(number)
	if err != nil {
		return err
	}
	return errors.Join(p.pass(ctx, fence, key, "DEL"), p.pass(ctx, fence, seen, "DEL"))
}

// pass writes a key, unless a newer sync has written it.
func (p *Poller) pass(ctx context.Context, fence int64, key, command string, args ...string) error {
	_, err := lock.NewGate(p.keys.Client(), key, 0).Do(ctx, fence, command, args...)
	if errors.Is(err, keywright.ErrNotFound) { // SET NX of what is there
		return nil
	}
	return err
}

// change adds members to a set, or removes them, as many at a time as one step takes.
func change(ctx context.Context, step func(...int64) keywright.Op[int64], members []int64) error {
	for part := range slices.Chunk(members, 1000) {
		if _, err := step(part...).Do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func keys(set map[int64]bool) []int64 {
	all := make([]int64, 0, len(set))
	for n := range set {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
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
