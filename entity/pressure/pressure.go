// Package pressure does what is declared for when the memory of a server runs
// short: at a ratio of maxmemory it shortens the lifetime of the items that may
// go first, at a higher one it deletes them, until the server is below again. One
// process acts at a time; all of them may watch.
//
// It never lengthens a lifetime, and an item that has been shortened is left
// alone. It works on a server that is full already, where everything that needs
// memory is refused.
//
// It is not an eviction policy: the server's own one (maxmemory-policy) throws
// away keys without their indexes and without an event, and knows no priorities.
// It is no alarm either: Options.Look and Options.Done are where one goes.
//
// API: may change until 1.0.
package pressure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lease"
)

// Target holds the items of one entity that may go. Ids are as they are in the
// index. All of it must work on a server that is at maxmemory.
type Target interface {
	// Page gives about n ids of the items with a value of the index's field, the
	// ones that go first in front: from the beginning, or after the next of the
	// page before, also if what was there is gone. next is "" on the last page.
	Page(ctx context.Context, value, after string, n int) (ids []string, next string, err error)
	// Shorten leaves no item more than a lifetime of `to`, and gives how many had
	// more. It lengthens none, and leaves those alone that have another value by
	// then: it compares in the step that changes.
	Shorten(ctx context.Context, value string, ids []string, to time.Duration) (int, error)
	// Release deletes items, with their entries in indexes, and gives how many
	// there were. An item that has another value by then stays: it compares in the
	// step that deletes.
	Release(ctx context.Context, value string, ids []string) (int, error)
	// Key is the key of an item: in a cluster it says whose memory it takes.
	Key(id string) string
}

// Step represents one declared thing to do. Ratios are of maxmemory: 0.8 is 80 %.
type Step struct {
	At      float64 // from here on
	To      float64 // down to here; 0: At
	Entry   string  // the entity's name, for reports
	Target  Target
	Values  []string      // of the index's field: those of the first one go first
	Shorten time.Duration // the lifetime that is left; 0: the items are released
}

// down returns the ratio below which the step has done its work.
func (s *Step) down() float64 { return cmp.Or(s.To, s.At) }

// Options of a watcher. The zero value is a good choice.
type Options struct {
	// Interval sets the time between two looks at the servers, each one INFO. 0: 1 s.
	Interval time.Duration
	// Batch sets how many items are read and changed at a time. The memory is read again before each batch. 0: 200.
	Batch int
	// Pause bounds the wait between two batches from below. The wait is at least as long as the batch took, so that at
	// most half of one core of the server is used. 0: 5 ms.
	Pause time.Duration
	// Rest sets how long a step waits after it went through all its items. 0: 10 s, or ten times what that took if it is
	// more.
	Rest time.Duration
	// Lease bounds how long a process that acts may be silent before another one takes over. 0: 10 s.
	Lease time.Duration
	// Limit sets the memory, in bytes, of servers without a maxmemory. 0: such a server is left alone, and Failed gets
	// ErrNoLimit.
	Limit int64
	// Process names this process in reports. "": host and process id.
	Process string

	Look   func(Reading) // receives each look; it must be quick; nil: no call
	Done   func(Report)  // receives each run of a rule; it must be quick; nil: no call
	Failed func(error)   // receives each new error; what failed is tried again; nil: no call
}

// Reading describes how full one server is. Sizes are bytes.
type Reading struct {
	Server string
	Used   int64 // as the server counts against maxmemory
	Limit  int64 // maxmemory, or Options.Limit; 0: none
	Policy string
}

// Ratio of used memory to the limit, 0 without one.
func (r Reading) Ratio() float64 {
	if r.Limit <= 0 {
		return 0
	}
	return float64(r.Used) / float64(r.Limit)
}

// End describes why a run of a step ended.
type End string

// The ends.
const (
	Below   End = "below"   // the server is below the ratio again
	Through End = "through" // all items were gone through
	Lost    End = "lost"    // another process has the lease
	Stopped End = "stopped" // the context ended
	Failure End = "failed"  // Report.Err
)

// Report represents one run of a step on one server.
type Report struct {
	Process       string
	Fence         int64 // of the lease: the server's time in µs when it was taken
	Server        string
	Entry         string
	Step          int     // its number in the declaration, from 0
	At            float64 // its ratio
	Release       bool    // it releases; else it shortens
	Before, After Reading
	Seen          int // items looked at
	Shortened     int
	Released      int
	Skipped       int // neither: short already, gone, of another value by then, or on another server
	Took          time.Duration
	End           End
	Err           error
}

// ErrNoLimit reports a server without a maxmemory.
var ErrNoLimit = errors.New("the server has no maxmemory: set it, or Options.Limit")

// Watcher looks at the servers of a client and acts.
type Watcher struct {
	client *keywright.Client
	entry  *keywright.Entry
	steps  []Step
	order  []int // of steps: what frees memory at once goes first
	o      Options
	lease  *lease.Lease
	err    error // of the lease's key

	mu    sync.Mutex
	rests map[place]time.Time // not before
}

// place represents a step on a server.
type place struct {
	server string
	step   int
}

// New makes a watcher; generated code calls it. The key of b is that under which
// processes agree on who acts.
func New(b keywright.Binding, steps []Step, o Options) *Watcher {
	for _, d := range []struct {
		at     *time.Duration
		normal time.Duration
	}{{&o.Interval, time.Second}, {&o.Pause, 5 * time.Millisecond}, {&o.Lease, 10 * time.Second}} {
		*d.at = cmp.Or(max(*d.at, 0), d.normal)
	}
	o.Batch = cmp.Or(max(o.Batch, 0), 200)
	o.Process = cmp.Or(o.Process, lease.Process())
	w := &Watcher{client: b.Client, entry: b.Entry, steps: steps, o: o, err: b.Invalid("pressure"),
		rests: map[place]time.Time{}}
	w.lease = lease.New(b.Client, b.Key, o.Lease, lease.Options{Entry: b.Entry, Err: w.err, Owner: o.Process})
	for i := range steps {
		w.order = append(w.order, i)
	}
	slices.SortStableFunc(w.order, func(a, b int) int {
		x, y := &steps[a], &steps[b]
		return cmp.Or(cmp.Compare(min(x.Shorten, 1), min(y.Shorten, 1)), cmp.Compare(x.At, y.At))
	})
	return w
}

// Run looks and acts until ctx ends. Two Runs of one Watcher may not go on at a
// time. It returns the error of a key that cannot be built, ErrClosed when the
// client was closed, else nil; what fails on the way is passed to Options.Failed and
// tried again.
func (w *Watcher) Run(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	ctx, end := w.client.While(ctx)
	defer end()
	defer func() { _ = w.lease.Release(context.WithoutCancel(ctx)) }() // else it ends by itself
	last := ""
	for {
		_, err := w.Once(ctx)
		if ctx.Err() != nil {
			return w.client.Ended(ctx, "pressure", w.entry)
		}
		text := fmt.Sprint(err)
		if err != nil && text != last && w.o.Failed != nil {
			w.o.Failed(err)
		}
		last = text
		if !wait(ctx, w.o.Interval) {
			return w.client.Ended(ctx, "pressure", w.entry)
		}
	}
}

// Once looks at every server once and does what is to be done, on all of them at
// the same time, unless another process is at it. The lease stays with this process while there is pressure,
// and is given back after it. One round trip per server, one for the lease under
// pressure, and four per batch.
func (w *Watcher) Once(ctx context.Context) ([]Report, error) {
	readings, err := w.read(ctx)
	errs := []error{err}
	pressed := slices.DeleteFunc(readings, func(r Reading) bool { return !w.pressed(r) })
	if len(pressed) == 0 {
		if len(readings) > 0 { // what is not known is no reason to
			_ = w.lease.Release(ctx)
		}
		return nil, err
	}
	term, err := w.lease.Acquire(ctx)
	if _, busy := errors.AsType[*lease.BusyError](err); busy {
		return nil, errors.Join(errs...)
	}
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	var reports []Report
	var servers sync.WaitGroup
	for _, reading := range pressed {
		servers.Go(func() {
			done, err := w.relieve(ctx, reading, term)
			w.mu.Lock()
			defer w.mu.Unlock()
			reports, errs = append(reports, done...), append(errs, err)
		})
	}
	servers.Wait()
	w.lease.Rest()
	return reports, errors.Join(errs...)
}

// read asks the servers, or one, how full they are. One that is frozen must not
// hold up the others for long.
func (w *Watcher) read(ctx context.Context, addresses ...string) ([]Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, min(max(w.o.Interval, time.Second), 5*time.Second))
	defer cancel()
	servers, err := w.client.Memory(ctx, addresses...)
	errs := []error{err}
	var out []Reading
	for _, s := range servers {
		if s.Err != nil {
			continue
		}
		r := Reading{Server: s.Address, Used: s.Used, Limit: cmp.Or(s.Max, w.o.Limit), Policy: s.Policy}
		if r.Limit == 0 {
			errs = append(errs, fmt.Errorf("memory of %s: %w", s.Address, ErrNoLimit))
		}
		if w.o.Look != nil {
			w.tell(func() { w.o.Look(r) })
		}
		out = append(out, r)
	}
	return out, errors.Join(errs...)
}

// tell calls a hook, one at a time.
func (w *Watcher) tell(hook func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	hook()
}

// pressed reports whether some step is due.
func (w *Watcher) pressed(r Reading) bool {
	return slices.ContainsFunc(w.steps, func(s Step) bool { return r.Limit > 0 && r.Ratio() >= s.At })
}

// wait is false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
