package apply

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/source"
)

// Do makes one listed change, if it is still as the plan says, and compares that in the
// step of the change where the server can. It gives why the change was left alone; ""
// says that it was made.
type Do func(ctx context.Context, c *plan.Change) (plan.Code, error)

// Listed represents a plan that lists each of its changes.
type Listed struct {
	Changes []plan.Change

	// Still says whether a change is still to be made, by a look at the server before
	// the run. nil: each is.
	Still func(*plan.Change) bool

	Do     Do
	AtOnce int // how many changes are made at a time; 0: one

	Left []LeftOf // what was left out of the list, and is counted when all changes were made
}

// LeftOf holds keys of an entry that are left alone.
type LeftOf struct {
	Entry string
	plan.Left
}

// Changes makes the changes that a plan lists, in their order and in batches, each of
// which is in the journal before it is sent. Each change is counted once, over all runs
// of the journal: the counts of the run that comes to its end add up to the list.
func Changes(ctx context.Context, l Listed, o KeysOptions) (KeysReport, error) {
	r, err := newRun(o)
	if err != nil {
		return r.report, err
	}
	w := &listing{Run: r, Listed: l}
	if o.Journal != nil {
		for entry, c := range o.Journal.Last.Done {
			r.Add(entry, c)
		}
		w.at, w.doubted = o.Journal.Place()
	}
	ctx, stop := wait.Bound(ctx, o.Waiting)
	defer stop(nil)
	err = wait.Cause(ctx, w.run(ctx))
	if err != nil && w.torn { // the last line of the journal says which batch it was
		r.report.Left = plan.Ranked(r.left)
		return r.report, err
	}
	if err == nil {
		for _, of := range l.Left {
			r.LeaveAll(of.Entry, of.Left)
		}
	}
	return r.end(source.Summary{}, err)
}

// listing represents one run of Changes.
type listing struct {
	*Run
	Listed
	at      int  // changes before this one were decided about
	doubted int  // and those from there to here were sent by a run that was killed
	torn    bool // not all of the batch has an outcome
}

func (w *listing) run(ctx context.Context) error {
	for w.at < len(w.Changes) {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(w.at+journal.ListedBatch, len(w.Changes))
		open, todo := map[string]int64{}, []*plan.Change{}
		passed := w.Changes[w.at:end]
		for i := range passed {
			c := &passed[i]
			still := w.Still == nil || w.Still(c)
			if still {
				todo = append(todo, c)
			}
			if still || w.at+i < w.doubted { // those too that a run made whose end was not written down
				open[c.Entry]++
			}
		}
		if w.Journal != nil {
			w.Journal.At = w.at
		}
		if err := w.Begin(ctx, open, 0); err != nil {
			return err
		}
		for i := range passed {
			if c := &passed[i]; w.Still != nil && !w.Still(c) {
				w.passed(c, w.at+i)
			}
		}
		if err := w.batch(ctx, todo); err != nil {
			w.torn = true
			return err
		}
		w.at = end
		if w.Journal != nil {
			w.Journal.At = end
		}
	}
	return nil
}

// passed counts a change that is not to be made any more: a run that was killed may have
// made it, or another did.
func (w *listing) passed(c *plan.Change, at int) {
	if at < w.doubted {
		w.Add(c.Entry, journal.KeyCounts{Keys: 1, Unknown: 1})
		return
	}
	w.Leave(c.Entry, plan.Changed, c.Key, c.DB)
}

// batch makes changes, some at a time. One that has begun is waited for, so that an
// interrupted run knows what it did. After one that had no answer none is begun.
func (w *listing) batch(ctx context.Context, todo []*plan.Change) error {
	defer wait.Ask(ctx)()
	ctx = context.WithoutCancel(ctx)
	var failed atomic.Bool
	codes, errs := make([]plan.Code, len(todo)), make([]error, len(todo))
	var group sync.WaitGroup
	places := make(chan struct{}, max(w.AtOnce, 1))
	for i, c := range todo {
		places <- struct{}{}
		if failed.Load() {
			errs[i] = errNotBegun
			<-places
			continue
		}
		group.Go(func() {
			if codes[i], errs[i] = w.one(ctx, c); errs[i] != nil {
				failed.Store(true)
			} else {
				wait.Answered(ctx)
			}
			<-places
		})
	}
	group.Wait()
	var last error
	for i, c := range todo {
		switch {
		case errs[i] == errNotBegun:
		case errs[i] != nil:
			if class, ok := keywright.ClassOf(errs[i]); !ok || class != keywright.NotApplied {
				w.Add(c.Entry, journal.KeyCounts{Keys: 1, Unknown: 1})
			}
			last = errs[i]
		case codes[i] != "":
			w.Leave(c.Entry, codes[i], c.Key, c.DB)
		default:
			w.Add(c.Entry, journal.KeyCounts{Keys: 1, Changed: 1})
		}
	}
	return last
}

// errNotBegun is of a change that was not begun.
var errNotBegun = errors.New("not begun")

// listedTimeout bounds one change.
const listedTimeout = 30 * time.Second

// one makes a change. What the server refuses is no failure of the run.
func (w *listing) one(ctx context.Context, c *plan.Change) (plan.Code, error) {
	ctx, cancel := context.WithTimeout(ctx, listedTimeout)
	defer cancel()
	code, err := w.Do(ctx, c)
	if class, ok := keywright.ClassOf(err); ok && (class == keywright.Refused || class == keywright.Invalid) {
		return plan.Refused, nil
	}
	return code, err
}
