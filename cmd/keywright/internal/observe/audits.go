package observe

import (
	"context"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
)

// Between attempts at an audit of a server that could not be read: it may be back soon.
const (
	retryFirst = 5 * time.Second
	retryMost  = 2 * time.Minute
)

// audits audits the target at its interval, until ctx ends. A snapshot file is read once.
func (t *Target) audits(ctx context.Context) {
	retry := retryFirst
	for {
		found := t.audit(ctx)
		if ctx.Err() != nil {
			return
		}
		wait := time.Duration(1<<63 - 1) // only when it is asked for
		if t.Server != nil {
			wait, retry = t.next(found, retry)
		}
		if !waits(ctx, wait, t.again) {
			return
		}
	}
}

// next returns how long it is until the next audit, and the retry after that. An audit that has found
// anything has cost the server all of an audit, whole or not: it is not repeated before its time.
func (t *Target) next(found bool, retry time.Duration) (wait, after time.Duration) {
	if found {
		return t.Every, retryFirst
	}
	return min(retry, t.Every), min(2*retry, retryMost)
}

// audit audits once, and reports whether it has found anything.
func (t *Target) audit(ctx context.Context) bool {
	if t.Turns != nil {
		select {
		case t.Turns <- struct{}{}:
			defer func() { <-t.Turns }()
		case <-ctx.Done():
			return false
		}
	}
	defer t.turn(ctx)()
	if ctx.Err() != nil {
		return false
	}
	since := t.Now()
	t.change(Progressed, func(s *State) { s.Running = &Running{Since: since} })
	found, instances, err := t.read(ctx, since)
	if ctx.Err() != nil {
		return false
	}
	unkept := ""
	if found != nil && found.All() && t.Keep != nil { // a sample says nothing about other times
		if err := t.Keep(ctx, found); err != nil {
			unkept = err.Error()
		}
	}
	t.change(Audited, func(s *State) {
		before := s.Failed
		s.Running, s.Failed = nil, nil
		switch {
		case found == nil:
			s.Failed = failed(before, t.Now(), err)
			s.Audits.Failed = s.Failed
			return
		case found.Whole():
			s.Audit, s.Partial, s.Unkept = found, nil, unkept
			s.Audits = Mark{since, nil, t.Every + t.Now().Sub(since)}
		default:
			s.Partial = found
		}
		if found.Whole() || s.Audit == nil {
			s.Instances = instances
		}
	})
	if found != nil && !t.audited.Swap(true) || t.looks() { // at rest, what is new is read when it is due
		t.hurry()
	}
	return found != nil
}

// turn waits until no other program audits the target, as long as it is to the next audit at most.
func (t *Target) turn(ctx context.Context) (end func()) {
	if t.Turn == nil {
		return func() {}
	}
	ctx, done := context.WithTimeout(ctx, t.Every)
	defer done()
	end, err := t.Turn(ctx)
	if err != nil {
		return func() {}
	}
	return end
}

// read reads all keys; nil: nothing could be read.
func (t *Target) read(ctx context.Context, since time.Time) (*Audit, map[string]Found, error) {
	kept := newFold(t.locator)
	options := t.Audit
	options.Schema, options.Offender, options.Plain = t.Declaration.Schema, kept.offends, false
	fold, err := audit.New(t.Declaration.Keyspace, options)
	if err != nil {
		return nil, nil, err
	}
	drafts, err := infer.New(infer.Options{Known: t.Declaration.Keyspace})
	if err != nil {
		return nil, nil, err
	}
	src, req, done, err := t.Source()
	if err != nil {
		return nil, nil, err
	}
	defer done()
	req.Progress = func(p source.Progress) {
		t.change(Progressed, func(s *State) { s.Running = &Running{since, p} })
	}
	report, err := fold.Run(ctx, tee{src, []func([]source.Key){kept.add, drafts.Add}}, req)
	if report == nil || report.Endpoint == "" && err != nil {
		return nil, nil, err
	}
	if err != nil && report.Complete {
		report.Complete, report.Incomplete = false, source.Reasons{source.Why(source.Failed, "", err)}
	}
	if t.Declaration.Judge != nil {
		report.Findings = t.Declaration.Judge(report.Findings)
	}
	finding.Rank(report.Findings)
	report.Judge()
	groups, others := groupsOf(drafts.Draft(), t.Declaration.Keyspace)
	return &Audit{t.Now(), report, kept.shapes, groups, others}, kept.found(), nil
}
