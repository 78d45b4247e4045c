package apply

import (
	"context"
	"errors"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/source"
)

// Run represents one execution of a plan, whatever its verb: it keeps the rates, asks whether
// this process may act still, writes the journal, and counts.
type Run struct {
	KeysOptions
	began  time.Time
	report KeysReport
	left   map[plan.Code]*plan.Left
	sent   int64 // keys, for the rate
	bytes  int64
}

// Walk runs what changes keys while it walks over them, and reports what became of them.
// Before it sends a batch it calls Run.Begin, and after that Run.Add, Run.Leave or
// Run.Refuse for each key of the batch. What an earlier run of the journal has done is
// counted too; it is for the walk to pass over it.
func Walk(ctx context.Context, walk func(context.Context, *Run) (source.Summary, error), o KeysOptions) (KeysReport,
	error) {
	r, err := newRun(o)
	if err != nil {
		return r.report, err
	}
	if o.Journal != nil {
		for entry, c := range o.Journal.Before() {
			r.Add(entry, c)
		}
	}
	ctx, stop := wait.Bound(ctx, o.Waiting)
	defer stop(nil)
	sum, err := walk(ctx, r)
	return r.end(sum, wait.Cause(ctx, err))
}

// newRun begins a run; ErrDone if the plan of its journal was executed to its end.
func newRun(o KeysOptions) (*Run, error) {
	r := &Run{KeysOptions: o, left: map[plan.Code]*plan.Left{}, began: time.Now()}
	r.report.Entries = map[string]*journal.KeyCounts{}
	if o.Journal != nil && o.Journal.Done() {
		return r, journal.ErrDone
	}
	return r, nil
}

// end writes the last line of the journal, and gives the report.
func (r *Run) end(sum source.Summary, err error) (KeysReport, error) {
	if r.Journal != nil {
		err = errors.Join(err, r.Journal.Save(r.report.Entries, err == nil && len(sum.Incomplete) == 0))
	}
	r.report.Left, r.report.Summary = plan.Ranked(r.left), sum
	return r.report, err
}

// Begin is called before a batch is sent: open are its keys by entry, bytes their
// memory. It waits as the rates want it, and writes the batch into the journal. After an
// error nothing of the batch may be sent.
func (r *Run) Begin(ctx context.Context, open map[string]int64, bytes int64) error {
	n := int64(0)
	for _, some := range open {
		n += some
	}
	if err := r.pace(ctx, n, bytes); err != nil {
		return err
	}
	if r.StillHeld != nil {
		if err := r.StillHeld(); err != nil {
			return err
		}
	}
	if r.Journal != nil {
		return r.Journal.Begin(r.report.Entries, open)
	}
	return nil
}

// Add adds to the counts of all and of an entry.
func (r *Run) Add(entry string, c journal.KeyCounts) {
	if r.report.Entries[entry] == nil {
		r.report.Entries[entry] = &journal.KeyCounts{}
	}
	r.report.Plus(c)
	r.report.Entries[entry].Plus(c)
	if r.Progress != nil {
		r.Progress(r.report.Keys)
	}
}

// Leave counts a key that is left alone.
func (r *Run) Leave(entry string, why plan.Code, key []byte, db int) {
	plan.LeaveIn(r.left, why, key, db)
	c := journal.KeyCounts{Keys: 1, Left: 1}
	if why == plan.Refused {
		c.Left, c.Refused = 0, 1
	}
	r.Add(entry, c)
}

// LeaveAll counts keys that are left alone for one reason, with examples of them.
func (r *Run) LeaveAll(entry string, l plan.Left) {
	plan.LeaveAllIn(r.left, l)
	r.Add(entry, journal.KeyCounts{Keys: l.Keys, Left: l.Keys})
}

// pace keeps the rates.
func (r *Run) pace(ctx context.Context, keys, bytes int64) error {
	r.sent, r.bytes = r.sent+keys, r.bytes+bytes
	due := time.Duration(0)
	if r.Rate > 0 {
		due = time.Duration(float64(r.sent) / float64(r.Rate) * float64(time.Second))
	}
	if r.ByteRate > 0 {
		due = max(due, time.Duration(float64(r.bytes)/float64(r.ByteRate)*float64(time.Second)))
	}
	timer := time.NewTimer(max(due-time.Since(r.began), 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
