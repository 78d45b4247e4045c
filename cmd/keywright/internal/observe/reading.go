package observe

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/keyspace"
)

// Mark says when something was read, what it is worth, and how often it is read.
type Mark struct {
	At     time.Time     // when the reading began; zero: it was never read
	Failed *Failure      // of the latest attempt; nil: what was read is of the latest
	Every  time.Duration // from one reading to the next: by how much there is to read, and not by how long that took
}

// Age returns how old the reading is; of what was never read, for how long that has been so.
func (m *Mark) Age(began, now time.Time) time.Duration {
	if m.At.IsZero() {
		return now.Sub(began)
	}
	return now.Sub(m.At)
}

// leastPace bounds what is called old: what was read less than twice this ago is not.
const leastPace = 5 * time.Second

// Stale reports whether the reading is no figure of now: the latest attempt failed, or it is older than
// twice its pace.
func (m *Mark) Stale(began, now time.Time) bool {
	return m.Failed != nil || m.Every > 0 && m.Age(began, now) > 2*max(m.Every, leastPace)
}

// Reading represents something read from the server.
type Reading[T any] struct {
	Value *T // nil: never read
	Mark
}

// Part represents a part of a server that is read again and again.
type Part struct {
	Name string
	*Mark
}

// Parts returns what is read of the target again and again; of a file nothing is.
func (s *State) Parts() (out []Part) {
	for _, p := range []Part{{"audit", &s.Audits}, {"server", &s.Server.Mark}, {"shards", &s.Shards.Mark},
		{"queues", &s.Queues.Mark}, {"streams", &s.Streams.Mark}, {"locks", &s.Locks.Mark}, {"entities", &s.Entities.Mark},
		{"rankings", &s.Rankings.Mark}, {"migrations", &s.Moves.Mark}} {
		if p.Every > 0 {
			out = append(out, p)
		}
	}
	return out
}

// reading describes what is read again and again, at a pace of its own: none waits for another.
type reading struct {
	told   What
	of     keyspace.Construct // it is read where one is declared; "": in any case
	every  int                // from one reading to the next, at least: times Glance
	rest   int                // its part of the commands a second at rest, those of scripts included
	budget int                // commands a second while the target is looked at
	mark   func(*State) *Mark
	look   func(context.Context, *Target, *answer.Reader) (keep func(*State), err error)
}

// part makes a reading.
func part[T any](told What, of keyspace.Construct, every, rest, budget int, at func(*State) *Reading[T],
	look func(context.Context, *Target, *answer.Reader) (T, error)) reading {
	return reading{told, of, every, rest, budget, func(s *State) *Mark { return &at(s).Mark },
		func(ctx context.Context, t *Target, r *answer.Reader) (func(*State), error) {
			value, err := look(ctx, t, r)
			return func(s *State) { at(s).Value = &value }, err
		}}
}

// declares returns the entries of a construct.
func (t *Target) declares(of keyspace.Construct) (out []*keyspace.Entry) {
	for _, e := range t.Declaration.Entries {
		if e.Construct == of {
			out = append(out, e)
		}
	}
	return out
}

// turn says what a target knows of a reading.
type turn struct {
	now   chan struct{} // it is to be made before its time
	spent atomic.Int64  // commands of the latest one
	calm  atomic.Bool   // what the audit has seen was read: from now on it may take its time
}

// watch reads something again and again, until ctx ends: sooner where an audit has found what there is, or the target is
// looked at.
func (t *Target) watch(ctx context.Context, r *reading) {
	for {
		began := time.Now()
		if every := t.every(r, t.glance(ctx, r)); !waits(ctx, max(every-time.Since(began), 0), t.turns[r].now) {
			return
		}
	}
}

// glance reads something once, and returns how many commands that took. It sends twice the budget in a second at
// most, so that it takes half of the time to the next reading.
func (t *Target) glance(ctx context.Context, r *reading) (commands int) {
	began, audited := t.Now(), t.audited.Load()
	p := &pace{rate: t.rate(r)}
	t.mu.Lock() // it may get as old as the slower of two paces lets it: of the one it was due at, and of the one now
	mark := r.mark(&t.state)
	mark.Every = max(mark.Every, t.every(r, int(t.turns[r].spent.Load())))
	t.mu.Unlock()
	keep := func(*State) {}
	client, err := t.Client(ctx)
	if err == nil {
		keep, err = r.look(ctx, t, &answer.Reader{Client: client, Keyspace: t.Declaration.Keyspace,
			Instances: t.instances, Rankings: t.rankings(client), Pace: p.wait})
	}
	if ctx.Err() == nil {
		t.turns[r].spent.Store(int64(p.spent))
		t.turns[r].calm.Store(audited && err == nil)
		t.recordReading(r.told, r.mark, keep, began, t.every(r, p.spent), err)
	}
	return p.spent
}

// rate returns how many commands a second a reading sends that begins now: more as soon as the target is looked at, and
// not fewer when that ends, or what is read would be old before it is read.
func (t *Target) rate(r *reading) func() float64 {
	least := t.budget(r)
	return func() float64 { return 2 * max(least, t.budget(r)) }
}

// every returns how long it is from one reading to the next, that cost so many commands.
func (t *Target) every(r *reading, commands int) time.Duration {
	return max(time.Duration(r.every)*t.Glance, time.Duration(float64(commands)/t.budget(r)*float64(time.Second)))
}

// usualRest says how many commands a second all readings of a target cost it at rest: while it is not looked at.
const usualRest = 20

// budget returns how many commands a second a reading may cost. At rest all that are made share one budget.
func (t *Target) budget(r *reading) float64 {
	if t.Pace > 0 {
		return float64(t.Pace)
	}
	fast := float64(r.budget)
	if t.looks() || !t.turns[r].calm.Load() {
		return fast
	}
	return min(fast, float64(cmp.Or(t.Rest, usualRest)*r.rest)/float64(t.shares))
}

// lookFor says how long a look makes readings as frequent as their budgets allow.
const lookFor = time.Minute

// Look says that the target is looked at: for a minute its readings are made as often as their budgets allow.
func (t *Target) Look() {
	if now := t.Now().UnixNano(); now-t.looked.Swap(now) > int64(lookFor) {
		t.hurry()
	}
}

// looks reports whether the target was looked at lately.
func (t *Target) looks() bool { return t.Now().UnixNano()-t.looked.Load() <= int64(lookFor) }

// hurry makes readings sooner than they are due.
func (t *Target) hurry() {
	for _, own := range t.turns {
		select {
		case own.now <- struct{}{}:
		default: // it is to read already
		}
	}
}

// recordReading puts what was read into its place in the state, and reports the change. After an error
// the last reading stays there.
func (t *Target) recordReading(part What, at func(*State) *Mark, keep func(*State), began time.Time, every time.Duration,
	err error) {
	t.change(part, func(s *State) {
		if err != nil {
			at(s).Failed = failed(at(s).Failed, t.Now(), err)
			return
		}
		keep(s)
		*at(s) = Mark{began, nil, every}
	})
}

// pace lets readings pass so that they send so many commands a second, at a rate that may change meanwhile.
type pace struct {
	rate  func() float64
	owed  float64 // commands that were sent before their time
	at    time.Time
	spent int // commands so far
}

// patience bounds how long a pace keeps to a rate that is another one meanwhile.
const patience = 200 * time.Millisecond

func (p *pace) wait(ctx context.Context, commands int) error {
	p.spent += commands
	for {
		now, rate := time.Now(), p.rate()
		if !p.at.IsZero() {
			p.owed = max(p.owed-now.Sub(p.at).Seconds()*rate, 0)
		}
		p.at = now
		if p.owed < 1e-6 {
			p.owed = float64(commands)
			return ctx.Err()
		}
		if !waits(ctx, min(patience, time.Duration(p.owed/rate*float64(time.Second))+1), nil) {
			return ctx.Err()
		}
	}
}
