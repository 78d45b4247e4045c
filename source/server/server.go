// Package server is a source.Source over a live Redis or Valkey: it finds the
// shards and their replicas, scans every database of each with SCAN, reads the
// facts of the keys in the same pipeline, and watches whether it can still be
// sure to have seen everything.
//
// A Snapshot is another Source over the same servers: it reads what each sends a
// replica, the keys of one moment, at the cost of a fork and next to nothing of
// the server's only thread.
//
// It only reads: every command a scan can send is a row of Commands, and the ACL
// user that ACL renders may run them and nothing else; a snapshot needs what
// SnapshotACL renders. It never uses KEYS or Lua. It does not judge keys. Keys
// written while a scan runs may or may not be seen, as SCAN's guarantee says
// (https://redis.io/docs/latest/commands/scan/).
//
// API: may change until 1.0.
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

// Role describes which member of a shard is scanned.
type Role string

// Auto takes a replica in step with its primary where there is one.
const (
	Auto    Role = "auto"
	Primary Role = "primary"
	Replica Role = "replica"
)

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

// Part is one of Of parts of a cluster, from 1 on: the shards, in the order of their slots,
// are dealt out to the parts in turn. The zero Part is all of them.
type Part struct{ Number, Of int }

func (p Part) has(i int) bool { return p.Of == 0 || i%p.Of == p.Number-1 }

// stepBudget says how long one SCAN may hold the server.
const stepBudget = 2 * time.Millisecond

// Scanner represents the Source.
type Scanner struct {
	config  connect.Config
	options Options
}

// New makes a Scanner. It connects when Scan is called.
func New(config connect.Config, options Options) *Scanner {
	if options.Role == "" {
		options.Role = Auto
	}
	if options.Count == 0 {
		options.Count = 500
	}
	if options.OnlyDB < 0 && config.DB > 0 {
		options.OnlyDB = config.DB
	}
	return &Scanner{config, options}
}

// Scan implements source.Source. A server that cannot be reached at all is an
// error; one that fails in between makes the summary incomplete.
func (s *Scanner) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary, error) {
	started := time.Now()
	t, err := discoverSome(ctx, s.config, s.options.Role, s.options.Part, s.options.Checkpoints.addresses()...)
	if err != nil {
		return source.Summary{}, err
	}
	defer t.close()
	run := newRun(s, req, t, each, started)
	if err := cmp.Or(run.goOn(), t.only(ctx, s.options.OnlyDB)); err != nil {
		return source.Summary{}, err
	}
	run.pace = newPacer(s.options.Rate)
	err = cmp.Or(run.all(ctx), run.lastCheckpoint())
	sum := run.summary()
	if ctx.Err() != nil {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.Interrupted, "", nil))
		return sum, ctx.Err()
	}
	return sum, err
}

// run represents one scan over all shards. Its fields below the mutex are shared.
type run struct {
	*Scanner
	req      source.Request
	fleet    *fleet
	each     func([]source.Key) error
	contents func([]source.Content) error // instead of each: whole values
	wanted   ContentsRequest
	started  time.Time
	pace     *pacer

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
func newRun(s *Scanner, req source.Request, t *fleet, each func([]source.Key) error, started time.Time) *run {
	r := &run{Scanner: s, req: req, fleet: t, each: each, started: started, incomplete: t.missing}
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

// hand delivers the keys of a page that are ready, and notes how far the walk has come.
func (w *walk) hand(p *page) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.give(p.batch[p.delivered:p.ready], p.gone); err != nil {
		return err
	}
	for _, k := range p.batch[p.delivered:p.ready] {
		delete(w.track.values, string(k.Name))
		if k.Closed {
			w.track.Closed++
		}
	}
	p.delivered, p.gone, w.track.page = p.ready, 0, p
	return w.checkpoint()
}

// passed notes that the consumer had all of a page.
func (w *walk) passed(p *page) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cursor = p.next
	t := w.track
	t.Cursor, t.page = p.next, nil
	t.Looked, t.Denied = t.Looked+int64(len(p.ends)+len(p.had))+p.left, t.Denied+p.denied
	if p.left > 0 {
		w.left += p.left
		w.req.LeftOut(p.left)
	}
	for _, name := range p.had {
		delete(t.had, name)
	}
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

// Command represents a row of the list of commands a scan may send.
type Command struct {
	Name   string // as ACL writes it: "memory|usage"
	Why    string
	Values bool // only where values are looked at
}

// Commands returns everything the audit, `doctor` and `explain --key` send. AUTH
// needs no permission. Anything else is refused before it reaches the network.
func Commands() []Command {
	return []Command{
		{Name: "ping", Why: "is the server there, and how quickly does it answer"},
		{Name: "select", Why: "every database is scanned"},
		{Name: "info", Why: "version, role, replicas, size; whether the server restarted, failed over or was flushed"},
		{Name: "dbsize", Why: "how many keys to expect"},
		{Name: "readonly", Why: "a cluster replica answers for its own keys"},
		{Name: "cluster|nodes", Why: "shards, replicas, and whether slots move"},
		{Name: "cluster|countkeysinslot", Why: "doctor: keys in slots that the node does not own"},
		{Name: "cluster|getkeysinslot", Why: "doctor: the names of some of them"},
		{Name: "scan", Why: "the names"},
		{Name: "type", Why: "the type of a key"},
		{Name: "pttl", Why: "the TTL of a key"},
		{Name: "memory|usage", Why: "the bytes of a key"},
		{Name: "object|encoding", Why: "explain --key"},
		{Name: "xlen", Why: "entries of streams with a maxlen"},
		{Name: "getrange", Why: "--values: strings, 1 MiB at a time", Values: true},
		{Name: "lrange", Why: "--values: both ends of lists, or all of them", Values: true},
		{Name: "llen", Why: "--values: elements of a list", Values: true},
		{Name: "hrandfield", Why: "--values: random fields of hashes", Values: true},
		{Name: "hscan", Why: "--values=all: hashes", Values: true},
		{Name: "hlen", Why: "--values: fields of a hash", Values: true},
		{Name: "srandmember", Why: "--values: random members of sets", Values: true},
		{Name: "sscan", Why: "--values=all: sets", Values: true},
		{Name: "scard", Why: "--values: members of a set", Values: true},
		{Name: "zrandmember", Why: "--values: random members of sorted sets", Values: true},
		{Name: "zscan", Why: "--values=all: sorted sets", Values: true},
		{Name: "zcard", Why: "--values: members of a sorted set", Values: true},
		{Name: "xrange", Why: "--values: the beginning of streams, or all of them", Values: true},
		{Name: "xrevrange", Why: "--values: the end of streams", Values: true},
		{Name: "config|get", Why: "doctor: persistence, eviction, binding"},
		{Name: "acl|whoami", Why: "doctor: who we are"},
		{Name: "time", Why: "doctor: the server's clock"},
	}
}

// ACL returns the line that makes a least-privilege user for the audit, as ACL
// SETUSER takes it after the name and an ACL file after `user NAME`. It loads
// on Redis from 6.2 and Valkey from 7.2: a subcommand an old server does not
// know would keep it from starting, so only ones that all know are named.
func ACL(values bool) string {
	line := "on ~* resetchannels -@all"
	for _, c := range Commands() {
		if values || !c.Values {
			line += " +" + c.Name
		}
	}
	return line
}
