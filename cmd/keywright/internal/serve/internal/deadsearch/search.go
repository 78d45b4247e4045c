// Package deadsearch searches the dead jobs of queues: all of them, in the background, whatever time that takes, while
// requests ask how far it is.
//
// It knows no route, and changes no queue.
package deadsearch

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/queue"
)

// Bounds of searches for dead jobs: pages of a thousand jobs, a pause between them, so many jobs and errors that are
// kept of one, so many searches.
const (
	deadPage     = 1000
	deadPause    = 50 * time.Millisecond
	maxFound     = 10_000
	maxErrors    = 100
	maxGroups    = 10_000
	maxSearches  = 32
	searchedSoon = time.Second      // a request waits so long for its search
	unasked      = 30 * time.Second // a search that no request has asked for so long ends
)

// Found is what a search has found so far.
type Found struct {
	at      time.Time // when it began
	looked  int64     // dead jobs that were looked at
	Matched int64
	Rows    []document.DeadRow // of those that match, the latest
	errors  map[string]int64   // how many match, by error
	more    int64              // that match, of errors that there is no room for
	Ended   bool               // it has looked at all of them
	again   bool               // a search that is newer is under way
	took    time.Duration
}

// search looks at all dead jobs of a queue, whatever time that takes.
type search struct {
	filter answer.DeadFilter
	done   chan struct{}
	before *Found // by the search before it

	mu     sync.Mutex
	now    Found
	asked  time.Time // by a request, at last
	failed error
}

// Searches keeps the searches that requests have asked for lately. Close ends them.
type Searches struct {
	now   func() time.Time
	going context.Context // until Close
	stop  func()

	mu   sync.Mutex
	all  map[Key]*search
	work sync.WaitGroup
}

// New returns searches by a clock: none has begun.
func New(now func() time.Time) *Searches {
	all := &Searches{now: now, all: map[Key]*search{}}
	all.going, all.stop = context.WithCancel(context.Background())
	return all
}

// Close ends the searches that are under way.
func (all *Searches) Close() {
	all.stop()
	all.work.Wait()
}

// Key names a search: of the dead jobs of a queue those that match a filter.
type Key struct {
	Target, Entry, Instance string
	answer.DeadFilter
}

// fresh reports whether the search need not be made again: it goes on, or it took as long as a part of the time since
// then.
func (s *search) fresh(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return s.now.Ended && now.Sub(s.now.at) < 5*s.now.took
	default:
		s.asked = now
		return true
	}
}

// found returns what it has found: all, or what the search before it has found, or what there is so far.
func (s *search) found() (f Found, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.now.Ended && s.before != nil && s.failed == nil {
		f = *s.before
		f.again = true
		return f, nil
	}
	f = s.now
	f.Rows, f.errors = slices.Clone(f.Rows), maps.Clone(f.errors)
	return f, s.failed
}

// last returns what the latest search has found that looked at all; nil: there is none.
func (s *search) last() *Found {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.now.Ended {
		return s.before
	}
	last := s.now
	return &last
}

// Find gives what is known of the dead jobs of a queue that match a filter, and begins to look at all of them. Any
// error is a *reply.Failure.
func (all *Searches) Find(ctx context.Context, key Key, live *queue.Queue[string]) (Found, error) {
	s, busy := all.search(key, live)
	if busy != nil {
		return Found{}, busy
	}
	soon := time.NewTimer(searchedSoon)
	defer soon.Stop()
	select {
	case <-s.done:
	case <-soon.C:
	case <-ctx.Done():
	}
	found, err := s.found()
	if err != nil {
		return found, reply.Away(err)
	}
	return found, nil
}

// search returns the search of a key, which it begins where there is none that is fresh.
func (all *Searches) search(key Key, live *queue.Queue[string]) (*search, *reply.Failure) {
	now := all.now()
	all.mu.Lock()
	defer all.mu.Unlock()
	old := all.all[key]
	if old != nil && old.fresh(now) {
		return old, nil
	}
	if old == nil && len(all.all) >= maxSearches && !all.forget() {
		return nil, reply.Fail(http.StatusServiceUnavailable, "busy", "too many searches for dead jobs are under way",
			"try again in a minute")
	}
	one := &search{filter: key.DeadFilter, done: make(chan struct{}), asked: now,
		now: Found{at: now, Rows: []document.DeadRow{}, errors: map[string]int64{}}}
	if old != nil {
		one.before = old.last()
	}
	all.all[key] = one
	ctx, stop := context.WithCancel(all.going)
	all.work.Go(func() {
		defer stop()
		defer close(one.done)
		one.look(ctx, all.now, live)
	})
	return one, nil
}

// forget forgets the search that was asked for the longest time ago and has ended; false: none has.
func (all *Searches) forget() bool {
	var oldest Key
	var found *search
	for key, s := range all.all {
		select {
		case <-s.done:
			if found == nil || s.asked.Before(found.asked) {
				oldest, found = key, s
			}
		default:
		}
	}
	delete(all.all, oldest)
	return found != nil
}

// look looks at all dead jobs, the latest first.
func (s *search) look(ctx context.Context, now func() time.Time, live *queue.Queue[string]) {
	var at walk
	for {
		page, err := live.Dead(ctx, at.offset, deadPage)
		if err == nil {
			fresh, ended := at.step(page, deadPage)
			if !s.take(fresh, ended, now()) {
				pause := time.NewTimer(deadPause)
				select {
				case <-pause.C:
				case <-ctx.Done():
					pause.Stop()
				}
				continue
			}
		}
		s.end(err, now())
		return
	}
}

// take counts dead jobs; true: they are the last ones, or no request asks any more.
func (s *search) take(page []queue.Dead, ended bool, now time.Time) (enough bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range page {
		s.add(&page[i])
	}
	s.now.Ended = ended
	return ended || now.Sub(s.asked) > unasked
}

// add counts a dead job.
func (s *search) add(d *queue.Dead) {
	s.now.looked++
	if !s.filter.Matches(d) {
		return
	}
	s.now.Matched++
	if len(s.now.Rows) < maxFound {
		s.now.Rows = append(s.now.Rows, document.DeadRow{DeadJob: answer.DeadJob{ID: finding.JSONKey(d.ID),
			Reason: finding.Printable(d.Reason), Attempts: d.Attempts, Crashes: d.Crashes}, At: document.StampOf(d.Since)})
	}
	text := answer.ErrorOf(d.Reason)
	if _, known := s.now.errors[text]; !known && len(s.now.errors) >= maxGroups {
		s.now.more++
		return
	}
	s.now.errors[text]++
}

// end says that the search has ended.
func (s *search) end(err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.now.took = err, now.Sub(s.now.at)
}

// Groups returns the errors, the most jobs first, and how many jobs have others.
func (f *Found) Groups() (out []document.DeadGroup, others int64) {
	out = []document.DeadGroup{}
	for text, n := range f.errors {
		out = append(out, document.DeadGroup{Error: text, Jobs: n})
	}
	slices.SortFunc(out,
		func(a, b document.DeadGroup) int {
			return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Error, b.Error))
		})
	others = f.more
	for _, g := range out[min(len(out), maxErrors):] {
		others += g.Jobs
	}
	return out[:min(len(out), maxErrors)], others
}

// Looked says how far a search is.
func (f *Found) Looked() document.Looked {
	return document.Looked{LookedAt: f.looked, Since: document.StampOf(f.at), Searching: !f.Ended || f.again}
}
