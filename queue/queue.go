// Package queue is a queue of jobs on a Redis or Valkey server: priority lanes,
// delayed jobs, leases that workers renew, retries, dead letters, results,
// unique jobs.
//
// What it promises (docs/queues.md has the whole table): at least once. A job is
// in exactly one place at any moment (a lane, a lease, the delayed ones, the dead
// ones), since every move is one script. A worker that dies loses nothing: its
// jobs run again within one lease and a second. A job runs twice only after a
// crash, a lost lease or a lost reply, and never at the same time in two workers
// that look at their contexts: that ends before the lease does. Job.Fence grows
// with every run, for what must not be written twice.
//
// It is not a log (use a stream for events), and no scheduler of recurring jobs.
//
// API: may change until 1.0.
package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/queue/internal/stored"
	"github.com/keywright/keywright/value"
)

// Errors that callers act on.
var (
	// ErrExists reports a job that was not put into the queue, since one with its id,
	// or one with its unique name, is there.
	ErrExists = errors.New("such a job is there already")
	// ErrLost reports a job that is not this worker's any more: its lease was lost.
	ErrLost = errors.New("the job belongs to another worker by now")
	// ErrCancelled reports the cause of the end of a job's context when a caller has
	// cancelled it.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrTimeout reports the cause when a run has taken longer than its time limit.
	ErrTimeout = errors.New("the time limit of the run is over")
	// ErrShutdown reports the cause when its worker had to stop.
	ErrShutdown = errors.New("the worker stops")
)

// Options of a queue. The zero value is a good choice. All that use one queue
// should have the same ones.
type Options struct {
	// Lease bounds how long a job stays with a worker that does not renew it. Workers renew it after a third of it, for
	// as long as the job runs. 0: 15 s.
	Lease time.Duration
	// Retry bounds how often a job is tried before it is dead. Crashes of workers do not count. 0: 25.
	Retry int
	// Crashes bounds how many workers may die while they run a job before it is dead. The first two deaths do not
	// count, since only from the third one on it is known whether the handler had begun. 0: 5.
	Crashes int
	// Timeout bounds how long one run of a job may take. Then its context ends with ErrTimeout, and the run has failed
	// unless the handler returns nil. A handler that does not return keeps its job, and Stats counts the job as
	// overdue. 0: no limit, and overdue after 1 h.
	Timeout time.Duration
	// Backoff sets the wait before the second attempt. It doubles with each attempt, half of it at random, up to
	// MaxBackoff. 0: 1 s and 1 h.
	Backoff, MaxBackoff time.Duration
	// Weights divides the claims among the lanes: with 6, 3, 1 the first lane is looked at first in six of ten claims.
	// nil: strictly in the order of the lanes, so that a full lane starves the ones after it.
	Weights []int
	// Rate bounds how many jobs may begin per Per. A hundredth of it stays unused, for workers that are late. 0: no
	// limit.
	Rate int
	// Per sets the period of Rate. It must be above 0 if Rate is.
	Per time.Duration
	// Burst bounds how many jobs of Rate may begin at the same time. 0: 1.
	Burst int
	// MaxPayload bounds the size of a payload, in bytes. 0: 1 MiB.
	MaxPayload int
	// MaxDead bounds how many dead jobs are kept; the oldest are deleted. 0: 10,000.
	MaxDead int
	// ResultTTL sets how long results are kept, at least a millisecond. 0: a day.
	ResultTTL time.Duration
}

// Queue represents one queue of jobs with payloads of type T. It is a small value and
// safe for concurrent use.
type Queue[T any] struct {
	client *keywright.Client
	entry  *keywright.Entry
	keys   *Keys
	codec  *value.Codec[T]
	o      *Options
	err    error

	senders *byForm
}

// Open returns a queue without a declaration: its keys are derived from name.
func Open[T any](c *keywright.Client, name string, codec value.Codec[T], o Options, lanes ...string) Queue[T] {
	k := KeysOf(name, lanes...)
	b := keywright.Binding{Client: c, Entry: &keywright.Entry{Name: "queue", Pattern: name, Type: "list"}}
	if name == "" {
		b.Err = errors.New("the queue has no name")
	}
	return New(b, k, &codec, &o)
}

// New returns a queue of a declared entry. Generated code calls it.
func New[T any](b keywright.Binding, k Keys, codec *value.Codec[T], o *Options) Queue[T] {
	q := Queue[T]{client: b.Client, entry: b.Entry, keys: &k, codec: codec, o: o, senders: new(byForm)}
	q.err = q.check(b.Invalid(""))
	return q
}

// With returns the same queue with other options.
func (q Queue[T]) With(o Options) Queue[T] {
	return New(keywright.Binding{Client: q.client, Entry: q.entry, Err: q.err}, *q.keys, q.codec, &o)
}

func (q Queue[T]) lease() time.Duration { return cmp.Or(q.o.Lease, 15*time.Second) }

// The bounds of what may be asked for.
const (
	minLease   = 50 * time.Millisecond
	maxBatch   = 1000
	maxFull    = 100 // the full form takes the server several times as long
	maxPayload = 1 << 20
	maxLane    = 100 // bytes of a lane's name
	maxLanes   = 100
)

func (q Queue[T]) check(err error) error {
	o := q.o
	switch {
	case err != nil:
		return q.invalid(err, "")
	case slices.Contains([]string{q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.State, q.keys.Workers, q.keys.Runs,
		q.keys.Channel}, ""):
		return q.invalid(errors.New("one of its keys has no name"), "run `keywright gen` again, or take KeysOf")
	case q.lease() < minLease:
		return q.invalid(fmt.Errorf("a lease of %v", o.Lease), "at least 50ms")
	case len(q.keys.Lanes) == 0 || len(q.keys.Lanes) > maxLanes:
		return q.invalid(fmt.Errorf("%d lanes", len(q.keys.Lanes)), "one to a hundred")
	case len(o.Weights) > 0 && len(o.Weights) != len(q.keys.Lanes):
		return q.invalid(fmt.Errorf("%d weights for %d lanes", len(o.Weights), len(q.keys.Lanes)), "one for each")
	case o.Rate > 0 && o.Per <= 0, o.Rate < 0, o.Burst < 0, o.Retry < 0, o.Crashes < 0, o.MaxDead < 0, o.MaxPayload < 0,
		o.Backoff < 0, o.MaxBackoff < 0, o.Timeout < 0, o.ResultTTL < 0,
		slices.ContainsFunc(o.Weights, func(w int) bool { return w < 0 }):
		return q.invalid(errors.New("an option is negative, or Rate is without Per"), "")
	}
	if d := q.keys.Default; d != "" && q.keys.plain().Name != d {
		return q.invalid(fmt.Errorf("there is no lane %q, which is the default", d), "name one of the lanes")
	}
	for i := range q.keys.Lanes {
		if err := q.clash(i); err != nil {
			return q.invalid(err, "give the lane another name")
		}
	}
	return nil
}

// clash returns why a lane cannot be one: its key is another one of the queue's, or it
// has no name that can be stored with a job.
func (q Queue[T]) clash(i int) error {
	k, lane := q.keys, q.keys.Lanes[i]
	for n, key := range [...]string{k.Leases, k.Delayed, k.Dead, k.State, k.Workers, k.Runs} {
		if lane.Key == key {
			return fmt.Errorf("the lane %q has the key of the queue's %s", lane.Name, [...]string{"leases", "delayed jobs",
				"dead jobs", "state", "workers", "runs"}[n])
		}
	}
	for _, family := range [...]Name{k.Job, k.Result, k.Unique} {
		if id, ok := strings.CutPrefix(lane.Key, family.Before); ok && strings.HasSuffix(id, family.After) {
			return fmt.Errorf("the lane %q has a key that a job, a result or a unique name may have", lane.Name)
		}
	}
	if lane.Name == stored.NoName || len(lane.Name) > maxLane || strings.ContainsFunc(lane.Name,
		func(r rune) bool { return r <= ' ' || r == 0x7f }) || lane.Name == "" && len(k.Lanes) > 1 {
		return fmt.Errorf("the lane %q: a name is a word of at most %d bytes", lane.Name, maxLane)
	}
	for _, other := range k.Lanes[:i] {
		if other.Name == lane.Name || other.Key == lane.Key {
			return fmt.Errorf("the lane %q is there twice", lane.Name)
		}
	}
	return nil
}

func (q Queue[T]) invalid(err error, hint string) error {
	if e, ok := errors.AsType[*keywright.Error](err); ok {
		return e
	}
	return &keywright.Error{Class: keywright.Invalid, Op: "queue", Entry: q.entry.Name, Err: err, Hint: hint}
}
