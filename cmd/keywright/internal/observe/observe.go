// Package observe keeps one state of one target, a server or a snapshot file: its latest
// whole audit, what its constructs hold, its health, and what is under way. All that
// shows a target reads that state; none of it scans the server itself.
//
// An audit that is not whole never takes the place of one that is: it is reported beside it.
// Subscribers receive what has changed, and read the state for it.
//
// It knows no HTTP and stores nothing: history is given what an audit has found.
package observe

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer/phases"
	"github.com/keywright/keywright/cmd/keywright/internal/explain"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
)

// Declaration describes what a target should be.
type Declaration struct {
	*keyspace.Keyspace
	Prefix string // of the names of its files, as the user would write them
	File   string // the first of them
	// Judge silences what comments in the files silence, and completes findings.
	Judge func([]finding.Finding) []finding.Finding
	// Schema answers the check of a JSON Schema file.
	Schema func(file string) (func([]byte) error, error)
}

// Server represents a live server.
type Server struct {
	Config connect.Config
	Open   func(context.Context) (*keywright.Client, error)
}

// Options of a target.
type Options struct {
	ID          string // in URLs
	Name        string // for people
	Labels      map[string]string
	Declaration Declaration
	// Source opens what is audited; done closes it.
	Source func() (src source.Source, req source.Request, done func(), err error)
	Audit  audit.Options
	Server *Server // nil: a snapshot file, which is read once

	Every  time.Duration // between audits
	Glance time.Duration // between readings of queues, streams and shards; of others some times that
	Health time.Duration // between diagnoses
	Pace   int           // commands per second of each reading, in the place of its budget; 0: its budget
	Rest   int           // commands per second of all readings at rest, while it is not looked at; 0: 20
	Turns  chan struct{} // of audits of several targets: as many as fit into it are made at once; nil: any

	// Turn, if there is one, waits while another program audits the target. Without it, or where it fails, the audit
	// is made all the same.
	Turn func(context.Context) (end func(), err error)
	// Migrations reads where the migrations of the declaration are; nil: it has none. failed is why there is no client.
	Migrations func(ctx context.Context, c *keywright.Client, failed error) ([]phases.Migration, error)

	// Keep stores what a whole audit has found; its error is reported in the state.
	Keep func(context.Context, *Audit) error
	Now  func() time.Time
}

// Target represents a watched target. Its methods may be called by several goroutines.
type Target struct {
	Options
	locator *explain.Locator

	mu          sync.Mutex
	state       State
	subscribers map[*subscriber]bool
	client      *keywright.Client
	again       chan struct{} // asks for an audit now
	turns       map[*reading]*turn
	shares      int          // of the commands at rest, in all
	looked      atomic.Int64 // at last, in ns
	audited     atomic.Bool
}

// New prepares a target; Run watches it.
func New(o Options) (*Target, error) {
	l, err := explain.NewLocator(o.Declaration.Keyspace)
	if err != nil {
		return nil, err
	}
	t := &Target{Options: o, locator: l, subscribers: map[*subscriber]bool{}, again: make(chan struct{}, 1),
		turns: map[*reading]*turn{}}
	t.state.Began = o.Now()
	for _, r := range t.declared() {
		t.turns[r] = &turn{now: make(chan struct{}, 1)}
		t.shares += r.rest
	}
	t.expects()
	return t, nil
}

// Run watches the target until ctx ends.
func (t *Target) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { t.audits(ctx) })
	if t.Server != nil {
		work.Go(func() { t.diagnoses(ctx) })
		for _, r := range t.declared() {
			work.Go(func() { t.watch(ctx, r) })
		}
		work.Go(func() { t.moves(ctx) })
	}
	work.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client != nil {
		t.client.Close()
		t.client = nil
	}
}

// AuditNow asks for an audit before the next one is due.
func (t *Target) AuditNow() {
	select {
	case t.again <- struct{}{}:
	default: // one is asked for already
	}
}

// Find says which entry a key belongs to.
func (t *Target) Find(key []byte) *explain.Located { return t.locator.Find(key) }

// State returns what is known now. What its pointers lead to is never changed.
func (t *Target) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// change changes the state, and tells subscribers what of it.
func (t *Target) change(what What, set func(*State)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	away := t.state.Away() != nil
	if set(&t.state); away && t.state.Away() == nil {
		t.state.Back = t.Now()
	}
	t.tell(Change{Target: t.ID, What: what, At: t.Now()})
}

// Judge notes that what is wrong with the target is something else now.
func (t *Target) Judge() { t.change(Judged, func(*State) {}) }

// tell tells subscribers of a change, with the lock held.
func (t *Target) tell(c Change) {
	for to := range t.subscribers {
		to.note(c)
	}
}

// What represents a part of a state.
type What string

// The parts of a state of which a change is reported.
const (
	Audited    What = "audit"
	Progressed What = "progress"
	Sharded    What = "shards"
	Queued     What = "queues"
	Streamed   What = "streams"
	Locked     What = "locks"
	Counted    What = "entities"
	Ranked     What = "rankings"
	Diagnosed  What = "server"
	Ran        What = "runs"
	Tidied     What = "janitor"
	Moved      What = "migrations"
	Judged     What = "now"
)

// Change says that a part of a target's state is another one.
type Change struct {
	Target string
	What   What
	At     time.Time
	Run    Run // with Ran: the one that has changed
}

// Client returns the connection to the server, made when it is first asked for.
func (t *Target) Client(ctx context.Context) (*keywright.Client, error) {
	t.mu.Lock()
	c := t.client
	t.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := t.Server.Open(ctx)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client != nil { // another goroutine was first
		c.Close()
	} else {
		t.client = c
	}
	return t.client, nil
}

// waits waits until the time has come, or it is asked for; false: ctx has ended.
func waits(ctx context.Context, d time.Duration, asked <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-asked:
		return true
	case <-timer.C:
		return ctx.Err() == nil
	}
}
