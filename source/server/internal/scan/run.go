// Package scan walks over the keys of each shard with SCAN, at a pace that the server can bear, and reads their facts
// and parts of their values in one pipeline. A Run has what the walks share: the summary, the checkpoints, the
// consumer. What a walk reads in place of facts is given to it (Run.Reads).
package scan

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/checkpoint"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/request"
)

// Run represents one scan over all shards. Its fields below the mutex are shared.
type Run struct {
	config  connect.Config
	Options request.Options
	Request source.Request
	Fleet   *fleet.Fleet
	each    func([]source.Key) error
	Kind    string                                  // SCAN TYPE; "" = all
	Reads   func(*Walk) func(context.Context) error // how a walk reads what is not facts; nil: it reads facts
	started time.Time
	Pace    *pacer
	places  map[*fleet.Shard][]checkpoint.Place // where an earlier scan has left the databases
	running map[*fleet.Shard][]*track           // where this one is; none: not begun

	Mu               sync.Mutex
	Keys, Gone, left int64 // left: not wanted
	incomplete       source.Reasons
	Notes            []string
	orphans          orphans
	reported         time.Time
	paused           bool
	repeats          int64
}

// NewRun makes a run. Values and Sizes are asked by several shards: one at a time,
// and not while the consumer has a batch.
func NewRun(config connect.Config, options request.Options, req source.Request, t *fleet.Fleet,
	each func([]source.Key) error, started time.Time) *Run {
	r := &Run{config: config, Options: options, Request: req, Fleet: t, each: each, started: started, incomplete: t.Missing,
		places: map[*fleet.Shard][]checkpoint.Place{}, running: map[*fleet.Shard][]*track{}}
	r.Request.Values, r.Request.Sizes = r.oneAtATime(req.Values), r.oneAtATime(req.Sizes)
	if ask := req.Expect; ask != nil {
		r.Request.Expect = func(name []byte) source.Kind {
			r.Mu.Lock()
			defer r.Mu.Unlock()
			return ask(name)
		}
	}
	return r
}

// oneAtATime has shards ask the consumer one at a time.
func (r *Run) oneAtATime(ask func([]byte, source.Kind) bool) func([]byte, source.Kind) bool {
	if ask == nil {
		return nil
	}
	return func(name []byte, kind source.Kind) bool {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		return ask(name, kind)
	}
}

// All scans the shards in parallel and compares the topology before and after.
func (r *Run) All(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	for _, sh := range r.Fleet.Shards {
		group.Go(func() {
			if err := r.shard(ctx, sh); err != nil {
				stop(err)
			}
		})
	}
	group.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) &&
		!errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	if ctx.Err() == nil {
		r.Note(r.Fleet.Changes(ctx)...)
	}
	return nil
}

// Note records reasons for incompleteness, each once.
func (r *Run) Note(reasons ...source.Reason) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.incomplete = r.incomplete.Add(reasons...)
}

// Remark records notes for the summary, each once.
func (r *Run) Remark(notes ...string) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Notes = AppendNew(r.Notes, notes...)
}

// AppendNew appends those lines that the list does not have.
func AppendNew(list []string, more ...string) []string {
next:
	for _, m := range more {
		for _, known := range list {
			if known == m {
				continue next
			}
		}
		list = append(list, m)
	}
	return list
}

// Deliver hands a batch to the consumer, one shard at a time.
func (r *Run) Deliver(batch []source.Key, gone int) error {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.give(batch, gone)
}

// give hands a batch to the consumer. The mutex is held.
func (r *Run) give(batch []source.Key, gone int) error {
	r.Gone += int64(gone)
	r.Keys += int64(len(batch))
	if len(batch) > 0 {
		if err := r.each(batch); err != nil {
			return err
		}
	}
	r.Progress(false)
	return nil
}

// Progress reports at most five times a second.
func (r *Run) Progress(paused bool) {
	if r.Request.Progress == nil || paused == r.paused && time.Since(r.reported) < 200*time.Millisecond {
		return
	}
	r.reported, r.paused = time.Now(), paused
	r.Request.Progress(source.Progress{Keys: r.Keys + r.left, Total: r.expected(), Elapsed: time.Since(r.started),
		Shards: len(r.Fleet.Shards), Paused: paused})
}

func (r *Run) expected() int64 {
	if r.Request.Sample > 0 {
		return min(r.Request.Sample, r.Fleet.Size())
	}
	return r.Fleet.Size()
}

// PausedNow reports progress when the scan begins to wait, or goes on.
func (r *Run) PausedNow(paused bool) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Progress(paused)
}

// Summary returns what is known of the run at its end.
func (r *Run) Summary() source.Summary {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	t := r.Fleet
	return source.Summary{
		Server: t.Describe(), Endpoint: r.config.String(), Shards: len(t.Shards), Databases: t.Databases(), Keys: r.Keys,
		Expected: t.Size(), Gone: r.Gone,
		MaxRepeats: r.repeats, Elapsed: time.Since(r.started), Incomplete: r.incomplete, Orphans: r.orphans.count,
		Notes:   slices.Concat(t.Notes, r.Notes, r.orphans.note()),
		Origins: t.Origins(),
	}
}

// ConsumerError tells an error of the callback from one of the server.
type ConsumerError struct{ Err error }

func (e *ConsumerError) Error() string { return e.Err.Error() }

// Keys scans the servers of a configuration.
func Keys(ctx context.Context, config connect.Config, options request.Options, req source.Request,
	each func([]source.Key) error) (source.Summary, error) {
	started := time.Now()
	t, err := fleet.DiscoverSome(ctx, config, options.Role, options.Part, addressesOf(options.Checkpoints)...)
	if err != nil {
		return source.Summary{}, err
	}
	defer t.Close()
	run := NewRun(config, options, req, t, each, started)
	if err := cmp.Or(run.goOn(), t.Only(ctx, options.OnlyDB)); err != nil {
		return source.Summary{}, err
	}
	run.Pace = NewPacer(options.Rate)
	err = cmp.Or(run.All(ctx), run.lastCheckpoint())
	sum := run.Summary()
	if ctx.Err() != nil {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.Interrupted, "", nil))
		return sum, ctx.Err()
	}
	return sum, err
}
