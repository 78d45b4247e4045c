package queue

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/queue/internal/stored"
)

// Stats describes what a queue holds.
type Stats struct {
	Paused  bool
	Lanes   []LaneStats
	Leased  int64 // being worked on
	Zombies int64 // of these, whose lease is over: their workers are dead, and no other one has looked yet
	// Overdue is how many of the leased jobs were claimed longer ago than the queue's
	// Timeout, or than an hour if it has none; OldestRun how long ago the oldest one was.
	Overdue   int64
	OldestRun time.Duration
	Unseen    int64 // leased jobs that these two do not know of: they look at a thousand
	Delayed   int64
	NextDue   time.Duration // until the first delayed job is due; negative: overdue
	Dead      int64
	// Enqueued is how many jobs were put into the queue, with those that are done. It grows until the last worker leaves,
	// the TTL of the queue is over, or the server loses the key: then it begins with 0 again.
	Enqueued int64
	Workers  []WorkerStats
}

// LaneStats represents one lane.
type LaneStats struct {
	Name   string
	Length int64
	Oldest time.Duration // how long the first one has waited; 0: none of the first ten ids has a job
}

// WorkerStats represents one process, or more exactly one Run.
type WorkerStats struct {
	Name string
	Dead bool // no sign of life for three leases, or half a minute
}

// Waiting returns how many jobs wait in all lanes.
func (s Stats) Waiting() (n int64) {
	for _, l := range s.Lanes {
		n += l.Length
	}
	return n
}

// Oldest returns how long the first job has waited, over all lanes: since it was put
// into the queue, also if it has failed or was delayed meanwhile.
func (s Stats) Oldest() (oldest time.Duration) {
	for _, l := range s.Lanes {
		oldest = max(oldest, l.Oldest)
	}
	return oldest
}

// Stats says what the queue holds. One round trip, whose cost does not grow with
// the jobs: it may be asked for metrics.
func (q Queue[T]) Stats(ctx context.Context) (s Stats, err error) {
	if q.err != nil {
		return s, q.err
	}
	keys := append([]string{q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.State, q.keys.Workers, q.keys.Runs},
		q.laneKeys()...)
	out, err := q.run(ctx, "stats", standard.stats, keywright.Reads, keys, []string{q.keys.Job.Before, q.keys.Job.After,
		milliseconds(cmp.Or(q.o.Timeout, time.Hour))})
	if err != nil {
		return s, err
	}
	return q.readStats(out)
}

func (q Queue[T]) readStats(out []kernel.Value) (s Stats, err error) {
	const own = 12
	if len(out) != own+2*len(q.keys.Lanes) {
		return s, fmt.Errorf("the script answered %d values", len(out))
	}
	number := func(i int) int64 {
		n, failed := out[i].AsInt64()
		if failed != nil && err == nil {
			err = failed
		}
		return n
	}
	now := number(0)
	paused, _ := out[1].ToString()
	s = Stats{Paused: paused != "", Leased: number(2), Zombies: number(3), Delayed: number(4), Dead: number(6),
		Overdue: number(8), OldestRun: time.Duration(number(9)) * time.Microsecond, Unseen: number(10), Enqueued: number(11)}
	if due := number(5); s.Delayed > 0 {
		s.NextDue = time.Duration(due-now) * time.Millisecond
	}
	workers := stored.Texts(out[7])
	for i := 0; i+1 < len(workers); i += 2 {
		until, _ := strconv.ParseFloat(workers[i+1], 64)
		s.Workers = append(s.Workers, WorkerStats{workers[i], int64(until) < now})
	}
	for i, lane := range q.keys.Lanes {
		l := LaneStats{Name: lane.Name, Length: number(own + 2*i)}
		if first := number(own + 1 + 2*i); first > 0 {
			l.Oldest = time.Duration(max(now-first, 0)) * time.Millisecond
		}
		s.Lanes = append(s.Lanes, l)
	}
	return s, err
}

// Dead represents a job that was given up.
type Dead struct {
	ID       string
	Reason   string
	Attempts int64
	Crashes  int64
	Since    time.Time // when it was given up, to the millisecond
}

// Dead lists dead jobs, the latest first, at most 1000. Two round trips.
func (q Queue[T]) Dead(ctx context.Context, offset, n int64) ([]Dead, error) {
	if q.err != nil {
		return nil, q.err
	}
	n = min(max(n, 1), maxBatch)
	buried, err := kernel.NewOp(kernel.Spec[[]kernel.ZScore]{
		Action: kernel.Action{Client: q.client, Name: "dead", Entry: q.entry, Effect: keywright.Reads, Key: q.keys.Dead},
		Build: func(b kernel.Builder) kernel.Command {
			return b.Zrange().Key(q.keys.Dead).Min(strconv.FormatInt(offset, 10)).Max(strconv.FormatInt(offset+n-1,
				10)).Rev().Withscores().Build()
		},
		Decode: func(r kernel.Reply) ([]kernel.ZScore, error) { return r.AsZScores() },
	}).Do(ctx)
	if err != nil {
		return nil, q.named(ctx, []string{q.keys.Dead}, err)
	}
	out := make([]Dead, len(buried))
	for i, b := range buried {
		out[i] = Dead{ID: b.Member, Since: time.UnixMilli(int64(b.Score))}
	}
	return out, q.tellWhy(ctx, out)
}

// DeadOf returns those of the named jobs that are dead, however many others are; at most 1000 names. Two round trips.
func (q Queue[T]) DeadOf(ctx context.Context, ids ...string) (out []Dead, err error) {
	err = q.scored(ctx, q.keys.Dead, ids, func(id string, at time.Time) { out = append(out, Dead{ID: id, Since: at}) })
	if err != nil {
		return nil, err
	}
	return out, q.tellWhy(ctx, out)
}

// tellWhy adds to dead jobs why they are that.
func (q Queue[T]) tellWhy(ctx context.Context, dead []Dead) error {
	if len(dead) == 0 {
		return nil
	}
	ids := make([]string, len(dead))
	for i := range dead {
		ids[i] = dead[i].ID
	}
	known, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: kernel.Action{Client: q.client, Name: "dead", Entry: q.entry, Effect: keywright.Reads, Key: q.keys.Runs},
		Build:  func(b kernel.Builder) kernel.Command { return b.Hmget().Key(q.keys.Runs).Field(ids...).Build() },
		Decode: list,
	}).Do(ctx)
	if err != nil {
		return q.named(ctx, []string{q.keys.Runs}, err)
	}
	for i, m := range known {
		text, _ := m.ToString()
		s, err := stored.ReadRun(text)
		if err != nil {
			return q.faulty("dead", "NEWER "+url.PathEscape(q.keys.Runs))
		}
		dead[i].Reason, dead[i].Attempts, dead[i].Crashes = s.Error, s.Attempt, s.Crashes
	}
	return nil
}

// Retry brings a dead job back into its lane, with all its attempts; false if it
// is not among the dead ones. A job with a unique name takes that again: ErrExists
// if another job has it. One round trip; it is sent once.
func (q Queue[T]) Retry(ctx context.Context, id string) (bool, error) { return q.retry(ctx, id, "") }

// RetryDead is Retry of a job that is dead since the moment that Dead has listed: one
// that was retried meanwhile and died again is left alone.
func (q Queue[T]) RetryDead(ctx context.Context, d Dead) (bool, error) {
	return q.retry(ctx, d.ID, d.since())
}

func (q Queue[T]) retry(ctx context.Context, id, since string) (bool, error) {
	n, err := q.byHand(ctx, "retry", id, since)
	if err == nil && n == 3 {
		return false, &keywright.Error{Class: keywright.NotApplied, Op: "retry", Entry: q.entry.Name, Err: ErrExists}
	}
	return n == 1, err
}

// Discard removes a dead job; false if it is not among the dead ones. One round
// trip; it is sent once.
func (q Queue[T]) Discard(ctx context.Context, id string) (bool, error) {
	n, err := q.byHand(ctx, "discard", id, "")
	return n == 1, err
}

// DiscardDead is Discard of a job that is dead since the moment that Dead has listed.
func (q Queue[T]) DiscardDead(ctx context.Context, d Dead) (bool, error) {
	n, err := q.byHand(ctx, "discard", d.ID, d.since())
	return n == 1, err
}

// since returns the moment as scripts compare it.
func (d *Dead) since() string { return strconv.FormatInt(d.Since.UnixMilli(), 10) }

// Cancel removes a job that waits. If it runs, its worker is notified: the context of
// its handler ends with ErrCancelled, and the job with it. It never runs again,
// also when its worker dies first. False if there is no such job. One round trip,
// which is sent once: when the reply is lost the error is UnknownOutcome, and State
// says more. O(length of lanes of up to 10,000 jobs, and of the dead); in a longer
// lane the id stays, without a job, until its turn comes.
func (q Queue[T]) Cancel(ctx context.Context, id string) (bool, error) {
	n, err := q.byHand(ctx, "cancel", id, "")
	return n > 0, err
}

// RunNow brings a job that waits for its time, or for another attempt, into its lane; false if it is not one of those.
// Its attempts stay as they are. One round trip; it is sent once.
func (q Queue[T]) RunNow(ctx context.Context, id string) (bool, error) {
	n, err := q.byHand(ctx, "run", id, "")
	return n == 1, err
}

// Pause lets no job begin any more until Resume; those that run go on. Those that a
// worker has claimed and not begun are given back when it is notified of the pause: at
// once by a message, else with its next call, within a third of a lease. One round
// trip.
func (q Queue[T]) Pause(ctx context.Context) error { return q.pause(ctx, "pause") }

// Resume ends Pause. One round trip.
func (q Queue[T]) Resume(ctx context.Context) error { return q.pause(ctx, "resume") }

func (q Queue[T]) pause(ctx context.Context, verb string) error {
	if q.err != nil {
		return q.err
	}
	_, err := q.run(ctx, verb, standard.pause, keywright.Idempotent, []string{q.keys.State}, []string{verb, q.ttl(),
		q.keys.Channel, q.database()})
	return err
}

// Result returns what the handler of a job has set; ErrNotFound while it is not done,
// had no result, or its time is over. One round trip.
func (q Queue[T]) Result(ctx context.Context, id string) (string, error) {
	if q.err != nil {
		return "", q.err
	}
	key := q.keys.Result.Of(id)
	text, err := kernel.NewOp(kernel.Spec[string]{
		Action: kernel.Action{Client: q.client, Name: "result", Entry: q.entry, Effect: keywright.Reads, Key: key},
		Build:  func(b kernel.Builder) kernel.Command { return b.Get().Key(key).Build() },
		Decode: found,
	}).Do(ctx)
	return text, q.named(ctx, []string{key}, err)
}

func found(r kernel.Reply) (string, error) {
	text, err := r.ToString()
	if kernel.IsNil(err) {
		return "", keywright.ErrNotFound
	}
	return text, err
}

// State describes where a job is, for people.
type State struct {
	Attempt  int64
	Crashes  int64
	Owner    string // "" while it waits
	Progress string
	Error    string // of its last attempt
}

// State says how a job is doing; ErrNotFound when it is done, or never was. One
// round trip.
func (q Queue[T]) State(ctx context.Context, id string) (State, error) {
	if q.err != nil {
		return State{}, q.err
	}
	out, err := q.run(ctx, "state", standard.state, keywright.Reads, []string{q.keys.Job.Of(id), q.keys.Runs},
		[]string{id})
	if err != nil {
		return State{}, err
	}
	if len(out) != 2 {
		return State{}, fmt.Errorf("the script answered %d values", len(out))
	}
	if there, _ := out[0].AsInt64(); there == 0 {
		return State{}, keywright.ErrNotFound
	}
	text, _ := out[1].ToString()
	s, err := stored.ReadRun(text)
	if err != nil {
		return State{}, q.faulty("state", "NEWER "+url.PathEscape(q.keys.Runs))
	}
	return State(s), nil
}

// StateKey returns the key that says whether the queue is paused.
func (q Queue[T]) StateKey() string { return q.keys.State }
