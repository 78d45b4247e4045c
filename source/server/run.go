package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source"
)

// run represents one scan over all shards. Its fields below the mutex are shared.
type run struct {
	config  connect.Config
	options Options
	req     source.Request
	fleet   *fleet
	each    func([]source.Key) error
	kind    string                                  // SCAN TYPE; "" = all
	reads   func(*walk) func(context.Context) error // how a walk reads what is not facts; nil: it reads facts
	started time.Time
	pace    *pacer
	places  map[*shard][]Place  // where an earlier scan has left the databases
	running map[*shard][]*track // where this one is; none: not begun

	mu               sync.Mutex
	keys, gone, left int64 // left: not wanted
	incomplete       source.Reasons
	notes            []string
	orphans          orphans
	reported         time.Time
	paused           bool
	repeats          int64
}

// newRun makes a run. Values and Sizes are asked by several shards: one at a time,
// and not while the consumer has a batch.
func newRun(config connect.Config, options Options, req source.Request, t *fleet, each func([]source.Key) error,
	started time.Time) *run {
	r := &run{config: config, options: options, req: req, fleet: t, each: each, started: started, incomplete: t.missing,
		places: map[*shard][]Place{}, running: map[*shard][]*track{}}
	r.req.Values, r.req.Sizes = r.alone(req.Values), r.alone(req.Sizes)
	if ask := req.Expect; ask != nil {
		r.req.Expect = func(name []byte) source.Kind {
			r.mu.Lock()
			defer r.mu.Unlock()
			return ask(name)
		}
	}
	return r
}

func (r *run) alone(ask func([]byte, source.Kind) bool) func([]byte, source.Kind) bool {
	if ask == nil {
		return nil
	}
	return func(name []byte, kind source.Kind) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return ask(name, kind)
	}
}

// all scans the shards in parallel and compares the topology before and after.
func (r *run) all(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	for _, sh := range r.fleet.shards {
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
		r.note(r.fleet.changes(ctx)...)
	}
	return nil
}

// note records reasons for incompleteness, each once.
func (r *run) note(reasons ...source.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.incomplete = r.incomplete.Add(reasons...)
}

// remark records notes for the summary, each once.
func (r *run) remark(notes ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = appendNew(r.notes, notes...)
}

func appendNew(list []string, more ...string) []string {
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

// deliver hands a batch to the consumer, one shard at a time.
func (r *run) deliver(batch []source.Key, gone int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.give(batch, gone)
}

// give hands a batch to the consumer. The mutex is held.
func (r *run) give(batch []source.Key, gone int) error {
	r.gone += int64(gone)
	r.keys += int64(len(batch))
	if len(batch) > 0 {
		if err := r.each(batch); err != nil {
			return err
		}
	}
	r.progress(false)
	return nil
}

// progress reports at most five times a second.
func (r *run) progress(paused bool) {
	if r.req.Progress == nil || paused == r.paused && time.Since(r.reported) < 200*time.Millisecond {
		return
	}
	r.reported, r.paused = time.Now(), paused
	r.req.Progress(source.Progress{Keys: r.keys + r.left, Total: r.expected(), Elapsed: time.Since(r.started),
		Shards: len(r.fleet.shards), Paused: paused})
}

func (r *run) expected() int64 {
	if r.req.Sample > 0 {
		return min(r.req.Sample, r.fleet.size())
	}
	return r.fleet.size()
}

func (r *run) pausedNow(paused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress(paused)
}

func (r *run) summary() source.Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.fleet
	return source.Summary{
		Server: t.describe(), Endpoint: r.config.String(), Shards: len(t.shards), Databases: t.databases(), Keys: r.keys,
		Expected: t.size(), Gone: r.gone,
		MaxRepeats: r.repeats, Elapsed: time.Since(r.started), Incomplete: r.incomplete, Orphans: r.orphans.count,
		Notes:   slices.Concat(t.notes, r.notes, r.orphans.note()),
		Origins: t.origins(),
	}
}

// consumerError tells an error of the callback from one of the server.
type consumerError struct{ err error }

func (e *consumerError) Error() string { return e.err.Error() }

// scanKeys scans the servers of a configuration.
func scanKeys(ctx context.Context, config connect.Config, options Options, req source.Request,
	each func([]source.Key) error) (source.Summary, error) {
	started := time.Now()
	t, err := discoverSome(ctx, config, options.Role, options.Part, addressesOf(options.Checkpoints)...)
	if err != nil {
		return source.Summary{}, err
	}
	defer t.close()
	run := newRun(config, options, req, t, each, started)
	if err := cmp.Or(run.goOn(), t.only(ctx, options.OnlyDB)); err != nil {
		return source.Summary{}, err
	}
	run.pace = newPacer(options.Rate)
	err = cmp.Or(run.all(ctx), run.lastCheckpoint())
	sum := run.summary()
	if ctx.Err() != nil {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.Interrupted, "", nil))
		return sum, ctx.Err()
	}
	return sum, err
}

// Options tune a scan.
type Options struct {
	Role       Role
	Rate       int           // keys per second over all shards, 0 = as fast as the server answers
	MaxLatency time.Duration // pause while the server answers a PING more slowly, 0 = never
	Count      int           // first COUNT of SCAN; 0: 500. It adapts between 10 and 1000
	OnlyDB     int           // scan this database only; -1 = the one the URL names, all if it names none or 0
	Seed       uint64        // of sampling
	Part       Part          // of the shards of a cluster

	Checkpoints *Checkpoints // nil: the scan always begins at the beginning
}
