package queue

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/queue/internal/stored"
)

const (
	// poll says how long a lost wake-up may cost.
	poll = time.Second
	// presence says how often a worker without jobs says that it is there.
	presence = 10 * time.Second
	// registry says how long the names of workers are kept.
	registry = 24 * time.Hour
)

// mostBeats says how many signs of life are under way: a slow reply to one is no reason
// to send none.
const mostBeats = 4

// keep renews the leases of the jobs that run, ends the contexts of those whose
// lease cannot be relied on, wakes a runner when something is due, and looks at an
// idle queue once a second. It never waits for the server itself.
func (c *workerPool[T]) keep(over <-chan struct{}) {
	tick := min(c.q.lease()/8, 250*time.Millisecond)
	timer := time.NewTimer(tick)
	defer timer.Stop()
	beating, polling, telling := make(slots, mostBeats), make(slots, 1), make(slots, 1)
	var chores sync.WaitGroup
	defer chores.Wait()
	beat, look := time.Time{}, time.Now()
	background := func(free slots, f func()) bool {
		select {
		case free <- struct{}{}:
			chores.Go(func() { defer func() { <-free }(); f() })
			return true
		default:
			return false
		}
	}
	for now := time.Now(); ; {
		c.expire(now.Add(tick))
		if pause := c.pause(); now.Sub(beat) >= pause && background(beating, func() {
			if err := c.renewLeases(); err != nil { // OnError may take its time, and the next renewal does not wait
				background(telling, func() { c.tell(err) })
			}
		}) {
			beat = now
		}
		wait, idle := c.dueNow(now)
		if idle && now.Sub(look) >= poll {
			look = now
			background(polling, c.peek)
		}
		timer.Reset(min(wait, tick))
		select {
		case <-timer.C:
		case <-c.early:
		case <-c.flags:
			beat = time.Time{}
		case <-over:
			return
		}
		now = time.Now()
	}
}

// slots describes how many of a kind are under way at most.
type slots chan struct{}

// pause returns the time between two signs of life.
func (c *workerPool[T]) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) == 0 {
		return presence
	}
	return c.q.lease() / 3
}

// expire ends jobs whose lease may be over before the next look.
func (c *workerPool[T]) expire(next time.Time) {
	c.end(func(j *Job[T]) bool { return next.After(j.Deadline()) }, ErrLost)
}

// dueNow wakes a runner if something is due, and says how long it is until then.
func (c *workerPool[T]) dueNow(now time.Time) (wait time.Duration, idle bool) {
	c.mu.Lock()
	at := c.dueAt
	if idle = c.idle > 0; !at.IsZero() && !now.Before(at) {
		c.dueAt = time.Time{}
	}
	c.mu.Unlock()
	switch {
	case at.IsZero():
		return poll, idle
	case now.Before(at):
		return at.Sub(now), idle
	}
	c.due()
	return poll, idle
}

// expect notes when something is due, as the server said in a call; all is whether
// the call has looked at everything. Answers may overtake each other: only a call that
// was sent after a time was noted can put a later one in its place. The caller holds mu.
func (c *workerPool[T]) expect(call int64, due time.Duration, all bool) {
	if c.more = due == 0 || c.more && !all; due == 0 {
		c.wakeOne()
	}
	if due <= 0 {
		return
	}
	at := time.Now().Add(due)
	if later := all && call > c.dueSeq; !later && !c.dueAt.IsZero() && c.dueAt.Before(at) {
		return
	}
	c.dueAt, c.dueSeq = at, c.seq
	select {
	case c.early <- struct{}{}:
	default:
	}
}

// look reports whether a call looks for what is due: ten times a second, and as long as
// the last one has not seen all of it. The caller holds mu.
func (c *workerPool[T]) look(wanted int) string {
	now := time.Now()
	switch {
	case wanted == 0:
		return ""
	case !now.Before(c.nextTidy):
		c.nextTidy = now.Add(100 * time.Millisecond)
		return "tidy"
	case c.more:
		return "more"
	}
	return ""
}

// peek asks whether there is anything at all: one command.
func (c *workerPool[T]) peek() {
	keys := append(c.q.laneKeys(), c.q.keys.Leases, c.q.keys.Delayed)
	ctx, cancel := c.call(poll)
	defer cancel()
	n, err := kernel.NewOp(kernel.Spec[int64]{
		Action: kernel.Action{Client: c.q.client, Name: "look", Entry: c.q.entry, Effect: keywright.Reads, Key: keys[0]},
		Build:  func(b kernel.Builder) kernel.Command { return b.Exists().Key(keys...).Build() },
		Decode: func(r kernel.Reply) (int64, error) { return r.ToInt64() },
	}).Do(ctx)
	if err == nil && n > 0 {
		c.due()
	}
}

// mostBeaten says how many leases are renewed in one call.
const mostBeaten = 1000

// renewLeases renews the leases of all jobs of this process, and learns which of them are
// lost or cancelled. Without jobs it only says that the worker lives.
func (c *workerPool[T]) renewLeases() (err error) {
	c.mu.Lock()
	beaten := slices.Collect(maps.Values(c.running)) // a job that was lost and came back is there twice
	c.mu.Unlock()
	for {
		n := min(len(beaten), mostBeaten)
		if failed := c.renew(beaten[:n]); err == nil {
			err = failed
		}
		if beaten = beaten[n:]; len(beaten) == 0 {
			return err
		}
	}
}

// renew renews the leases of some jobs in one call, which may take as long as a lease.
func (c *workerPool[T]) renew(beaten []*Job[T]) error {
	args := []string{c.name, milliseconds(c.q.lease()), milliseconds(max(3*c.q.lease(), 3*presence)),
		milliseconds(registry), c.q.ttl()}
	for _, j := range beaten {
		args = append(args, j.ID, j.token)
	}
	ctx, cancel := c.call(c.q.lease())
	defer cancel()
	sent := time.Now()
	out, err := c.q.run(ctx, "beat", standard.beat, keywright.Idempotent, []string{c.q.keys.Leases, c.q.keys.Workers,
		c.q.keys.Runs, c.q.keys.State}, args)
	if err != nil || len(out) < 3 {
		return err
	}
	paused, _ := out[2].ToString()
	c.paused.Store(paused != "")
	lost := numbers(out[0], len(beaten))
	for _, n := range numbers(out[1], len(beaten)) {
		beaten[n-1].stop(ErrCancelled)
	}
	for _, n := range lost {
		beaten[n-1].stop(ErrLost)
	}
	for i, j := range beaten {
		if !slices.Contains(lost, int64(i+1)) {
			j.extend(sent.Add(c.q.lease() - margin(c.q.lease())))
		}
	}
	return nil
}

// numbers returns those of a list from 1 to most.
func numbers(m kernel.Value, most int) []int64 {
	all, _ := m.AsIntSlice()
	return slices.DeleteFunc(all, func(n int64) bool { return n < 1 || n > int64(most) })
}

// margin says how much earlier than the server a worker ends a lease: for clocks
// that do not run alike, and their grain. A variable so that a test can see what
// happens without.
var margin = func(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// leave takes the worker off the list of those that live, if there is time for it. The last one takes the count of jobs
// with it, so that it is not left where there are neither jobs nor workers.
func (c *workerPool[T]) leave() {
	if c.calling.Err() != nil {
		return
	}
	ctx, cancel := c.call(lastSecond)
	defer cancel()
	raw, answers := c.q.client.Raw(), make([]string, flights)
	for n := range answers {
		answers[n] = answerOf + c.seat(n)
	}
	// What fails here is forgotten in a day.
	replies := raw.DoMulti(ctx, raw.B().Zrem().Key(c.q.keys.Workers).Member(c.name).Build(),
		raw.B().Hdel().Key(c.q.keys.State).Field(answers...).Build(),
		raw.B().Exists().Key(c.q.keys.Workers).Build())
	if others, err := replies[2].AsInt64(); err == nil && others == 0 {
		_ = raw.Do(ctx, raw.B().Hdel().Key(c.q.keys.State).Field("enqueued").Build()).Error()
	}
}

// deadlineOf returns when its lease ends by the local clock.
func deadlineOf(c *stored.Claimed, lease time.Duration) time.Time {
	return c.Sent.Add(lease - margin(lease))
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
