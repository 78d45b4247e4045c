package observe

import (
	"context"
	"time"
)

// RunState describes how far a plan is.
type RunState string

// The states of a plan.
const (
	Planning    RunState = "planning"
	Planned     RunState = "planned" // nothing was changed yet
	Refused     RunState = "refused" // it could not be made
	Underway    RunState = "running"
	Stopping    RunState = "stopping"
	Stopped     RunState = "stopped"     // by a user
	Interrupted RunState = "interrupted" // the program ended
	Done        RunState = "done"
	Failing     RunState = "failed"
)

// Run represents a plan, and what became of it.
type Run struct {
	ID      string
	Verb    string
	Title   string
	State   RunState
	By      string
	At      time.Time // when it was asked for
	Ended   time.Time
	Done    int64 // things that were decided about
	Total   int64
	Problem string
	Hint    string
}

// Ran notes what the runs of the target are, and which of them has changed.
func (t *Target) Ran(all []Run, changed Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Runs = all
	t.tell(Change{Target: t.ID, What: Ran, At: t.Now(), Run: changed})
}

// Job represents a job of the janitor, and what became of it.
type Job struct {
	Name, Doc string
	Do, When  string
	Next      time.Time // when it is due; before now: it waits
	Running   time.Time // since when; zero: it does not run
	Waits     string    // why it is not done although it is due, as one word; "": it does not wait
	Why       string    // the same for people
	Ended     time.Time // the latest run; zero: none yet
	Good      time.Time // the latest run that did what it should
	Did       string    // by the latest run, or why that failed
	Other     bool      // another program did it
	Runs      int64     // ever
	Failed    int64     // of them
	Failures  int64     // since the latest good run
}

// Tidy notes what the jobs of the janitor are.
func (t *Target) Tidy(all []Job) { t.change(Tidied, func(s *State) { s.Jobs = all }) }

// moves reads where the migrations are, again and again, until ctx ends.
func (t *Target) moves(ctx context.Context) {
	for t.Migrations != nil {
		began := t.Now()
		client, failed := t.Client(ctx)
		all, err := t.Migrations(ctx, client, failed)
		if ctx.Err() != nil {
			return
		}
		t.recordReading(Moved, func(s *State) *Mark { return &s.Moves.Mark }, func(s *State) { s.Moves.Value = &all }, began,
			t.Health, err)
		if !waits(ctx, t.Health, nil) {
			return
		}
	}
}
