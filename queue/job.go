package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/queue/internal/stored"
)

// Job represents one run of a job.
type Job[T any] struct {
	ID      string
	Payload T
	Attempt int64 // 1 for the first; crashes of workers do not count
	Crashes int64 // workers that died in its handler
	// Fence grows with every run: pass it to what must not be written by an older one.
	// It is the server's clock, or one more than the run before: if the clock is put
	// back, a later job of the same id may have smaller ones.
	Fence    int64
	Enqueued time.Time // by the server's clock

	queue    Queue[T]
	raw      string
	alien    bool
	unique   string
	doubtful bool
	token    string
	timeout  time.Duration
	result   string
	ctx      context.Context

	mu       sync.Mutex
	cancel   context.CancelCauseFunc
	deadline time.Time // by the local monotonic clock
}

// alive represents the context of a job. Its Err looks at the clock: a process that was
// stopped for longer than its lease sees that at once.
type alive struct {
	context.Context
	expired func() bool
}

func (a alive) Err() error {
	if err := a.Context.Err(); err != nil {
		return err
	}
	if a.expired() {
		return a.Context.Err()
	}
	return nil
}

func (c *workerPool[T]) begin(one stored.Claimed) *Job[T] {
	j := &Job[T]{ID: one.ID, Attempt: one.Attempt, Crashes: one.Crashes, Fence: one.Fence,
		Enqueued: time.UnixMilli(one.Enqueued), queue: c.q, raw: one.Payload, alien: one.Alien, unique: one.Unique,
		doubtful: one.Doubtful,
		token:    one.Token, timeout: cmp.Or(one.Timeout, c.q.o.Timeout), deadline: deadlineOf(&one, c.q.lease())}
	inner, cancel := context.WithCancelCause(c.jobs)
	j.ctx, j.cancel = alive{inner, j.expired}, cancel
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[j.token+" "+j.ID] = j
	return j
}

// Deadline returns when the lease ends by the local clock unless it is renewed, which
// the worker does.
func (j *Job[T]) Deadline() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.deadline
}

func (j *Job[T]) expired() bool {
	if time.Now().Before(j.Deadline()) {
		return false
	}
	j.stop(ErrLost)
	return true
}

func (j *Job[T]) extend(deadline time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if deadline.After(j.deadline) && time.Now().Before(j.deadline) {
		j.deadline = deadline
	}
}

func (j *Job[T]) stop(cause error) {
	if j != nil {
		j.cancel(cause)
	}
}

func (j *Job[T]) newSettlement(verb, text string, ms int64) stored.Settlement {
	return stored.Settlement{Verb: verb, ID: j.ID, Token: j.token, Text: text, MS: ms, Name: j.unique, Fatal: errAttempts}
}

// dies settles a job that no further attempt would heal.
func (j *Job[T]) dies(reason string, cause error) stored.Settlement {
	s := j.newSettlement("dead", reason, 0)
	s.Fatal = cause
	return s
}

// SetResult is what Queue.Result gives when the job is done.
func (j *Job[T]) SetResult(text string) { j.result = text }

// Progress notes for people how far the job is. ErrLost if it is not ours any
// more. One round trip.
func (j *Job[T]) Progress(ctx context.Context, text string) error {
	n, err := j.queue.one(ctx, keywright.Idempotent, "progress", j.ID, j.token, text)
	if err == nil && n == 0 {
		j.stop(ErrLost)
		err = &keywright.Error{Class: keywright.NotApplied, Op: "progress", Entry: j.queue.entry.Name, Err: ErrLost}
	}
	return err
}

// discarded represents an error that no further attempt would heal.
type discarded struct{ err error }

func (d *discarded) Error() string { return d.err.Error() }

func (d *discarded) Unwrap() error { return d.err }

// Discard makes a handler's error final: the job is dead, with this reason.
func Discard(err error) error { return &discarded{err} }

type retryIn struct {
	err   error
	after time.Duration
	verb  string
}

func (r *retryIn) Error() string { return r.err.Error() }

func (r *retryIn) Unwrap() error { return r.err }

// RetryIn chooses when the next attempt is, instead of the queue's backoff.
func RetryIn(after time.Duration, err error) error { return &retryIn{err, after, "retry"} }

// Later puts a job off that could not be tried yet: something that it needs is used
// up or away for a while. It is no attempt, and so can be said without end.
func Later(after time.Duration, err error) error { return &retryIn{err, after, "later"} }

// reason returns an error as it is kept: a line of at most 500 bytes.
func reason(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\n", " "), "?")
	if len(text) <= 500 {
		return text
	}
	text = text[:500]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// one does something to one job by hand.
func (q Queue[T]) one(ctx context.Context, effect keywright.Effect, verb, id, token, text string) (int64, error) {
	if q.err != nil {
		return 0, q.err
	}
	if err := q.legal(id); err != nil {
		return 0, q.invalid(fmt.Errorf("the id: %w", err), "")
	}
	keys := append([]string{q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.Runs, q.keys.Job.Of(id)}, q.laneKeys()...)
	n, err := kernel.NewOp(kernel.Spec[int64]{
		Action: kernel.Action{Client: q.client, Name: verb, Entry: q.entry, Effect: effect, Key: keys[4]},
		Script: standard.job, Keys: keys, Args: parts.Args("job", 0, "verb", verb, "id", id, "token", token,
			"said", text, "channel", q.keys.Channel, "ttl", q.ttl(), "database", q.database(), "lane_names", q.laneNames()),
		Decode: readInteger,
	}).Do(ctx)
	return n, q.named(ctx, keys, err)
}

// byHand changes where a job is. It is sent once: a repetition would say that there
// was nothing to do, or do it to a later job of that id.
func (q Queue[T]) byHand(ctx context.Context, verb, id, since string) (int64, error) {
	n, err := q.one(ctx, keywright.Writes, verb, id, since, "")
	if e, ok := errors.AsType[*keywright.Error](err); ok && e.Class == keywright.UnknownOutcome {
		told := *e
		told.Hint = "State says how the job is doing; a repetition may change a later job of that id"
		return 0, &told
	}
	return n, err
}
