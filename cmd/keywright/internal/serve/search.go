package serve

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/queue"
)

// Bounds of searches for dead jobs: pages of a thousand jobs, a pause between them, so many jobs and errors that are
// kept of one, so many searches.
const (
	deadPage     = 1000
	deadPause    = 50 * time.Millisecond
	maxFound     = mostLimit
	maxErrors    = 100
	maxGroups    = 10_000
	maxSearches  = 32
	searchedSoon = time.Second      // a request waits so long for its search
	unasked      = 30 * time.Second // a search that no request has asked for so long ends
)

// searched is what a search has found so far.
type searched struct {
	at      time.Time // when it began
	looked  int64     // dead jobs that were looked at
	matched int64
	rows    []DeadRow        // of those that match, the latest
	errors  map[string]int64 // how many match, by error
	more    int64            // that match, of errors that there is no room for
	ended   bool             // it has looked at all of them
	again   bool             // a search that is newer is under way
	took    time.Duration
}

// search looks at all dead jobs of a queue, whatever time that takes.
type search struct {
	filter answer.DeadFilter
	done   chan struct{}
	before *searched // by the search before it

	mu     sync.Mutex
	now    searched
	asked  time.Time // by a request, at last
	failed error
}

// searches keeps the searches that requests have asked for lately.
type searches struct {
	mu   sync.Mutex
	all  map[searchKey]*search
	work sync.WaitGroup
}

type searchKey struct {
	target, entry, instance string
	answer.DeadFilter
}

// fresh reports whether the search need not be made again: it goes on, or it took as long as a part of the time since
// then.
func (s *search) fresh(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return s.now.ended && now.Sub(s.now.at) < 5*s.now.took
	default:
		s.asked = now
		return true
	}
}

// found returns what it has found: all, or what the search before it has found, or what there is so far.
func (s *search) found() (f searched, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.now.ended && s.before != nil && s.failed == nil {
		f = *s.before
		f.again = true
		return f, nil
	}
	f = s.now
	f.rows, f.errors = slices.Clone(f.rows), maps.Clone(f.errors)
	return f, s.failed
}

// last returns what the latest search has found that looked at all; nil: there is none.
func (s *search) last() *searched {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.now.ended {
		return s.before
	}
	last := s.now
	return &last
}

// search gives what is known of the dead jobs that match a filter, and begins to look at all of them.
func (q *request) search(filter answer.DeadFilter) (searched, error) {
	ctx, cancel, failed := q.ask()
	if failed != nil {
		return searched{}, failed
	}
	defer cancel()
	_, live, err := q.live(ctx)
	if err != nil {
		return searched{}, err
	}
	s, busy := q.server.searchOf(searchKey{q.target.ID, q.PathValue("entry"), q.PathValue("instance"), filter}, live)
	if busy != nil {
		return searched{}, busy
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
		return found, away(err)
	}
	return found, nil
}

// searchOf returns the search of a key, which it begins where there is none that is fresh.
func (s *Server) searchOf(key searchKey, live *queue.Queue[string]) (*search, *failure) {
	all, now := &s.searches, s.Now()
	all.mu.Lock()
	defer all.mu.Unlock()
	old := all.all[key]
	if old != nil && old.fresh(now) {
		return old, nil
	}
	if old == nil && len(all.all) >= maxSearches && !all.forget() {
		return nil, problem(http.StatusServiceUnavailable, "busy", "too many searches for dead jobs are under way",
			"try again in a minute")
	}
	one := &search{filter: key.DeadFilter, done: make(chan struct{}), asked: now,
		now: searched{at: now, rows: []DeadRow{}, errors: map[string]int64{}}}
	if old != nil {
		one.before = old.last()
	}
	if all.all == nil {
		all.all = map[searchKey]*search{}
	}
	all.all[key] = one
	ctx, stop := context.WithCancel(context.Background())
	all.work.Go(func() {
		defer stop()
		defer close(one.done)
		one.look(ctx, s, live)
	})
	all.work.Go(func() {
		select {
		case <-s.closed:
			stop()
		case <-ctx.Done():
		}
	})
	return one, nil
}

// forget forgets the search that was asked for the longest time ago and has ended; false: none has.
func (all *searches) forget() bool {
	var oldest searchKey
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
func (s *search) look(ctx context.Context, of *Server, live *queue.Queue[string]) {
	var at walk
	for {
		page, err := live.Dead(ctx, at.offset, deadPage)
		if err == nil {
			fresh, ended := at.step(page, deadPage)
			if !s.take(fresh, ended, of.Now()) {
				pause := time.NewTimer(deadPause)
				select {
				case <-pause.C:
				case <-ctx.Done():
					pause.Stop()
				}
				continue
			}
		}
		s.end(err, of.Now())
		return
	}
}

// walk goes through dead jobs, the latest first, in pages that begin with the last job of the page before. Jobs die and
// are taken away meanwhile, which moves the others: each one that is there all the time is met once.
type walk struct {
	offset int64       // of the next page
	last   *queue.Dead // the earliest job that was met
}

// step takes a page of so many jobs, and returns those that were not met before. Where the page begins after the last
// one that was met, jobs before it may have been missed, and the page before is asked for again.
func (w *walk) step(page []queue.Dead, size int) (fresh []queue.Dead, ended bool) {
	if w.offset > 0 && (len(page) == 0 || w.isAfter(&page[0])) {
		w.offset = max(w.offset-int64(size), 0)
		return nil, false
	}
	for i := range page {
		if w.last == nil || w.isAfter(&page[i]) {
			fresh = append(fresh, page[i])
		}
	}
	if len(fresh) > 0 {
		w.last = &fresh[len(fresh)-1]
	}
	w.offset += max(int64(len(page))-1, 0)
	return fresh, len(page) < size
}

// isAfter reports whether a job comes after the last one that was met: it died earlier, or at the same time with a
// lower id.
func (w *walk) isAfter(d *queue.Dead) bool {
	return cmp.Or(d.Since.Compare(w.last.Since), cmp.Compare(d.ID, w.last.ID)) < 0
}

// take counts dead jobs; true: they are the last ones, or no request asks any more.
func (s *search) take(page []queue.Dead, ended bool, now time.Time) (enough bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range page {
		s.add(&page[i])
	}
	s.now.ended = ended
	return ended || now.Sub(s.asked) > unasked
}

// add counts a dead job.
func (s *search) add(d *queue.Dead) {
	s.now.looked++
	if !s.filter.Matches(d) {
		return
	}
	s.now.matched++
	if len(s.now.rows) < maxFound {
		s.now.rows = append(s.now.rows, DeadRow{answer.DeadJob{ID: finding.JSONKey(d.ID),
			Reason: finding.Printable(d.Reason), Attempts: d.Attempts, Crashes: d.Crashes}, stampOf(d.Since)})
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

// groups returns the errors, the most jobs first, and how many jobs have others.
func (f *searched) groups() (out []DeadGroup, others int64) {
	out = []DeadGroup{}
	for text, n := range f.errors {
		out = append(out, DeadGroup{text, n})
	}
	slices.SortFunc(out,
		func(a, b DeadGroup) int { return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Error, b.Error)) })
	others = f.more
	for _, g := range out[min(len(out), maxErrors):] {
		others += g.Jobs
	}
	return out[:min(len(out), maxErrors)], others
}
