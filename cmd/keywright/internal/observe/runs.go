package observe

import "time"

// RunState is how far a plan is.
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

// Run is a plan, and what became of it.
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
