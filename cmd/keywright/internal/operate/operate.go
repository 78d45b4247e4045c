// Package operate keeps plans that are made, looked at and executed while the program goes
// on: in a folder, each with its journal, so that a run that was stopped or killed goes on
// where it was. One plan is made and one is executed at a time for a target. Who did what
// is in a log, which is written before anything is done.
//
// It knows no server and no HTTP: a Runner makes plans and executes them.
package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/filelock"
)

// Ask describes what a plan is asked for.
type Ask struct {
	Verb    string            // as the command is named: "queues retry"
	Select  map[string]string // what is meant, by the names of Selects
	Options map[string]string // of the verb
}

// Planner makes and executes the plans of one target. Its errors are for people.
type Planner interface {
	// Request says what an ask is as the request of a plan, and its wording. It looks at
	// no server. What cannot be asked is a Refusal.
	Request(a Ask) (q plan.Request, title string, err error)
	// Plan makes a plan. It changes nothing.
	Plan(ctx context.Context, verb string, q plan.Request) (*plan.Plan, error)
	// Execute executes the plan in a file, if it holds still, and goes on where an earlier
	// execution of it was. decided is called with the number of things that were decided about.
	Execute(ctx context.Context, path string, decided func(done int64)) (Outcome, error)
}

// Outcome describes what an execution did, the earlier ones of the plan included.
type Outcome struct {
	Total    journal.KeyCounts
	Left     []plan.Left
	Complete bool
	Problem  string // why it is not complete
}

// Interrupted is the code of a Refusal that says no more than that the context has ended.
const Interrupted = "interrupted"

// Refusal represents an error that says what to do.
type Refusal struct {
	Code    string
	Message string
	Hint    string
}

func (r *Refusal) Error() string { return r.Message }

func refusal(code, hint, format string, args ...any) error {
	return &Refusal{code, fmt.Sprintf(format, args...), hint}
}

// Bounds of what is kept.
const (
	maxRuns    = 100
	planFor    = 30 * time.Minute       // a plan that is not made by then is given up
	tellEvery  = 250 * time.Millisecond // between words of progress
	showChange = 100                    // of the changes that a plan lists
	showEntry  = 1000
)

// Options says where plans are kept and who is notified.
type Options struct {
	Planners map[string]Planner // by target, at first: see Attend
	// Changed is called at each change of a run, with all runs of its target, the newest first.
	Changed func(target string, all []observe.Run, changed observe.Run)
	Now     func() time.Time
	Sink    *slog.Logger // gets each line of the logs when it is on the disk; nil: none
}

// PlanQueue keeps plans and executes them. Its methods may be called by several goroutines.
type PlanQueue struct {
	Options
	Skipped []string // files of runs that could not be read when it was opened, and why: they are left as they are

	dir   string
	lock  *os.File
	log   *log // who changed what: nothing else is in it that could push that out
	asked *log // plans that were asked for
	looks *log

	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	runs     map[string]*run
	attended map[string]Planner // by target
}

// run represents one plan and what became of it.
type run struct {
	record
	stop   context.CancelFunc // of what is under way; nil: nothing is
	asked  bool               // to stop
	talked time.Time
	ended  chan struct{} // closed when the latest execution has ended; nil: there was none
}

// Open opens the folder, or makes it. One process has it at a time. What was under way when
// the program ended is interrupted, and goes on when it is applied again.
func Open(dir string, o Options) (*PlanQueue, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Lock(lock); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), lock.Close())
	}
	d := &PlanQueue{Options: o, dir: dir, lock: lock, runs: map[string]*run{}, attended: maps.Clone(o.Planners)}
	d.log, d.asked, d.looks = d.newLog("changes.log", keptLogs), d.newLog("plans.log", keptPlans),
		d.newLog("looks.log", keptLogs)
	if d.attended == nil {
		d.attended = map[string]Planner{}
	}
	d.ctx, d.end = context.WithCancel(context.Background())
	if err := d.load(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	for target := range o.Planners {
		d.Changed(target, d.list(target), observe.Run{})
	}
	return d, nil
}

// Attend takes plans of a target from now on, with nil no more: what is under way goes on.
func (d *PlanQueue) Attend(target string, r Planner) {
	d.mu.Lock()
	d.attended = maps.Clone(d.attended)
	if d.attended[target] = r; r == nil {
		delete(d.attended, target)
	}
	d.mu.Unlock()
	if r != nil {
		d.Changed(target, d.list(target), observe.Run{})
	}
}

// planner returns what makes and executes plans of a target, with the lock held; nil: none are made.
func (d *PlanQueue) planner(target string) Planner { return d.attended[target] }

// Close interrupts what is under way, and waits for it.
func (d *PlanQueue) Close() error {
	d.end()
	d.work.Wait()
	return d.lock.Close()
}

// list returns the runs of a target, the newest first.
func (d *PlanQueue) list(target string) (out []observe.Run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listed(target)
}

// listed returns list with the lock held.
func (d *PlanQueue) listed(target string) (out []observe.Run) {
	for _, r := range d.runs {
		if r.Target == target {
			out = append(out, r.Run)
		}
	}
	slices.SortFunc(out, func(a, b observe.Run) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return out
}

// Detail represents a run with its plan in short, and what it has done.
type Detail struct {
	observe.Run
	Brief
	Select map[string]string // what is meant, as it was asked for; nil: it was not asked for here
	Did    *Outcome          // nil: it was not executed
}

// Get gives one run of a target.
func (d *PlanQueue) Get(target, id string) (Detail, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.runs[id]
	if r == nil || r.Target != target {
		return Detail{}, false
	}
	return Detail{r.Run, r.Brief, r.Select, r.Did}, true
}

// change changes a run, keeps it, and tells it.
func (d *PlanQueue) change(r *run, set func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	set()
	err := d.save(&r.record)
	d.tell(r)
	return err
}

// tell tells of a run, with the lock held.
func (d *PlanQueue) tell(r *run) {
	r.talked = d.Now()
	d.Changed(r.Target, d.listed(r.Target), r.Run)
}

// progress notes how far a run is. It tells of it now and then.
func (d *PlanQueue) progress(r *run, done int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Done = done; d.Now().Sub(r.talked) >= tellEvery {
		d.tell(r)
	}
}
