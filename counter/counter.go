// Package counter counts: numbers with bounds, numbers that are exact although replies get lost, different members
// (HyperLogLog), and active ids of a day (bitmap). Each key gets its declared TTL in the step that first writes it.
//
// A plain increment whose reply was lost is an *Error of class UnknownOutcome: it may have been counted, and sending
// it again may count twice. Use Exact where that is not good enough: it stores an id per increment.
//
// It is not a time series and not a metrics system, and it keeps no history.
//
// API: may change until 1.0.
package counter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// Counter represents a typed.Counter with bounds. It is a small value and keeps nothing.
type Counter struct {
	typed.Counter
	client *keywright.Client
	script *keywright.Script
}

var codec = value.Int(math.MinInt64, math.MaxInt64)

var addScript = keywright.NewScript("counter add", parts.Later("add"))

// New makes a counter.
func New(b keywright.Binding) Counter {
	return Counter{typed.NewCounter(b, &codec), b.Client, addScript}
}

// Added describes what an increment has done.
type Added struct {
	Sum      int64 // the number as it is now
	Applied  bool  // by this call, or by an earlier one with the same id
	Repeated bool  // by an earlier one
}

// Bounds holds the lowest and highest sum that an increment may reach: any of 64
// bits, both included.
type Bounds struct{ Low, High int64 }

// AddWithin adds n if the sum stays within the bounds, and else changes nothing:
// a stock that must not fall below 0 is Bounds{0, math.MaxInt64}. One round trip.
func (c Counter) AddWithin(ctx context.Context, n int64, b Bounds, options ...keywright.WriteOption) (Added, error) {
	return c.add(n, &b, nil, "", options).Do(ctx)
}

// Drain gives the number and removes it, in one step; 0 if it is not there. When
// its reply is lost (UnknownOutcome) the number is lost with it: where that
// matters, count by Exact into a number that only grows. One round trip.
func (c Counter) Drain(ctx context.Context) (int64, error) { return zero(c.Take().Do(ctx)) }

func zero(n int64, err error) (int64, error) {
	if err == keywright.ErrNotFound {
		return 0, nil
	}
	return n, err
}

// Change represents a counter and by how much it changes.
type Change struct {
	Counter Counter
	By      int64
}

// AddAll adds to many counters and gives their sums: one pipeline, so one round
// trip per server. Each succeeds or fails alone; of a failed one the sum is 0 and
// the error joins all failures.
func AddAll(ctx context.Context, changes ...Change) ([]int64, error) {
	ops := make([]keywright.Op[int64], len(changes))
	for i, change := range changes {
		ops[i] = change.Counter.Add(change.By)
	}
	return pipelineAll(ctx, ops)
}

// GetAll reads many counters, 0 for one that is not there. One round trip per
// server.
func GetAll(ctx context.Context, counters ...Counter) ([]int64, error) {
	ops := make([]keywright.Op[int64], len(counters))
	for i, counter := range counters {
		ops[i] = counter.Peek()
	}
	return pipelineAll(ctx, ops)
}

func pipelineAll(ctx context.Context, ops []keywright.Op[int64]) ([]int64, error) {
	var b keywright.Batch
	pending := make([]*keywright.Pending[int64], len(ops))
	for i, op := range ops {
		pending[i] = keywright.Queue(&b, op)
	}
	err := b.Run(ctx)
	for i, p := range pending { // beside one that is invalid, none was sent
		if _, failed := p.Result(); errors.Is(failed, keywright.ErrNotRun) {
			pending[i] = keywright.Queue(&b, ops[i])
		}
	}
	err = errors.Join(err, b.Run(ctx))
	sums := make([]int64, len(ops))
	for i, p := range pending {
		sums[i], _ = p.Result()
	}
	return sums, err
}

// Exact represents a counter whose increments have ids: one that is sent twice counts
// once. The ids are kept beside the counter for as long as their entry's TTL
// says; within that time the count is exact whatever replies get lost and
// whichever process is killed, if the caller repeats what it does not know the outcome of.
type Exact struct {
	Counter
	ids typed.Key
}

// Exactly makes c exact. b is of the declared sorted set that remembers ids; it must
// expire, after longer than any caller keeps trying, and be in c's cluster slot. It
// grows by about 100 bytes per increment within its TTL.
func (c Counter) Exactly(b keywright.Binding) Exact {
	if b.Err == nil && b.Entry.TTL.Policy != keywright.Expires {
		b.Err = errors.New("the ids of a counter must expire, and the declaration says " + b.Entry.TTL.Text)
	}
	return Exact{c, typed.NewKey(b)}
}

// AddOnce adds n unless it has done so under this id, which is any text of 1 to
// 200 bytes: of a request, an order, an event. It is sent again when its reply
// was lost. One round trip.
func (x Exact) AddOnce(ctx context.Context, id string, n int64, options ...keywright.WriteOption) (Added, error) {
	return x.add(n, nil, &x.ids, id, options).Do(ctx)
}

// AddOnceWithin is AddOnce and AddWithin. A refusal is not remembered: the same
// id may be tried again.
func (x Exact) AddOnceWithin(ctx context.Context, id string, n int64, b Bounds,
	options ...keywright.WriteOption) (Added, error) {
	return x.add(n, &b, &x.ids, id, options).Do(ctx)
}

func (c Counter) add(n int64, b *Bounds, ids *typed.Key, id string,
	options []keywright.WriteOption) keywright.Op[Added] {
	ms, asked, err := c.Entry().Choose(options)
	low, high := "", ""
	if b != nil {
		low, high, err = strconv.FormatInt(b.Low, 10), strconv.FormatInt(b.High, 10), firstOf(err, b.check())
	}
	s := kernel.Spec[Added]{
		Action: kernel.Action{Client: c.client, Name: "add", Entry: c.Entry(), Effect: keywright.Writes, Key: c.Name()},
		Script: c.script, Keys: []string{c.Name()},
		Args:   []string{strconv.FormatInt(ms, 10), typed.Rule(c.Entry(), asked), strconv.FormatInt(n, 10), low, high},
		Decode: added,
	}
	if ids != nil {
		remember, _, bad := ids.Entry().Choose(nil)
		if bad == nil && (id == "" || len(id) > 200) {
			bad = fmt.Errorf("an id of %d bytes; it has 1 to 200", len(id))
		}
		err = firstOf(ids.Err(), err, bad)
		s.Effect, s.Keys, s.Args = keywright.Idempotent, append(s.Keys, ids.Name()),
			append(s.Args, id, strconv.FormatInt(remember, 10))
	}
	s.Err = invalid(c.Entry(), firstOf(c.Err(), err))
	return kernel.NewOp(s)
}

func (b Bounds) check() error {
	if b.Low > b.High {
		return fmt.Errorf("the bounds %d to %d leave nothing", b.Low, b.High)
	}
	return nil
}

func added(r kernel.Reply) (a Added, err error) {
	texts, err := r.AsStrSlice()
	if err != nil {
		return a, err
	}
	if a.Sum, err = codec.Parse(texts[1]); err != nil {
		return a, &keywright.DecodeError{Err: err}
	}
	a.Repeated = texts[0] == "repeated"
	a.Applied = a.Repeated || texts[0] == "added"
	return a, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func invalid(e *keywright.Entry, err error) error {
	if _, ours := err.(*keywright.Error); ours || err == nil {
		return err
	}
	return &keywright.Error{Class: keywright.Invalid, Entry: e.Name, Err: err}
}
