package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/notice"
)

// buried represents a job that has died with a call, as the server says.
type buried struct {
	Dead
	cause error // of its settlement; nil: its workers died
}

// of takes out of what a call has brought what is about some settlements: the ids
// that were not their worker's any more, and the jobs that have died.
func (f *fetched) of(settled []settlement) (lost []string, dead []buried) {
	if len(f.lost)+len(f.dead) == 0 {
		return nil, nil
	}
	for _, s := range settled {
		if i := slices.Index(f.lost, s.id); i >= 0 {
			lost, f.lost = append(lost, s.id), slices.Delete(f.lost, i, i+1)
			continue
		}
		if i := slices.IndexFunc(f.dead, func(d buried) bool { return d.ID == s.id && s.fatal != nil }); i >= 0 {
			f.dead[i].cause = s.fatal
			dead, f.dead = append(dead, f.dead[i]), slices.Delete(f.dead, i, i+1)
		}
	}
	return lost, dead
}

// report tells what the server has made of the settlements, which are then done.
// No lock is held: hooks and handlers may take their time.
func (r *workerLoop[T]) report(f fetched) {
	settled := r.settled
	r.settled = nil
	for _, fault := range f.faults {
		r.tell(r.q.faulty("claim", fault))
	}
	for _, id := range f.lost {
		settled = slices.DeleteFunc(settled, func(s settlement) bool { return s.id == id })
		r.lost(id)
	}
	for _, d := range f.dead {
		settled = slices.DeleteFunc(settled, func(s settlement) bool { return s.id == d.ID })
		if d.cause == nil {
			d.cause = errCrashes
		}
		r.notice(keywright.Notice{Kind: notice.JobDead, Err: d.cause})
		r.tellOfDead(d.Dead)
	}
	if !r.q.client.Noticed(notice.JobRetried) {
		return
	}
	for _, s := range settled {
		if s.verb == "retry" || s.verb == "later" {
			r.notice(keywright.Notice{Kind: notice.JobRetried, Elapsed: time.Duration(s.ms) * time.Millisecond})
		}
	}
}

// handled tells that a handler has returned.
func (r *workerLoop[T]) handled(j *Job[T], err error, took time.Duration) {
	kind := notice.JobDone
	if err != nil {
		kind = notice.JobFailed
	}
	if r.q.client.Noticed(kind) {
		r.notice(keywright.Notice{Kind: kind, Elapsed: took, Err: err})
	}
}

// lost tells that a job is not this worker's any more.
func (c *workerPool[T]) lost(id string) {
	c.notice(keywright.Notice{Kind: notice.JobLost, Err: ErrLost})
	if c.w.o.OnError != nil { // else the notice tells the logger
		c.tell(fmt.Errorf("job %s: %w", id, ErrLost))
	}
}

func (c *workerPool[T]) notice(n keywright.Notice) {
	n.Entry = c.q.entry.Name
	c.harmless(func() { c.q.client.Notice(context.WithoutCancel(c.ctx), n) })
}

func (c *workerPool[T]) tell(err error) {
	if c.w.o.OnError != nil && err != nil {
		c.harmless(func() { c.w.o.OnError(err) })
	} else {
		c.q.client.Unheard("run", c.q.entry, err)
	}
}

// tellAside is tell for what other runners wait for: OnError may take its time. While it
// does, further errors of this kind are passed over.
func (c *workerPool[T]) tellAside(err error) {
	select {
	case c.aside <- struct{}{}:
		c.loops.Go(func() { defer func() { <-c.aside }(); c.tell(err) })
	default:
	}
}

func (c *workerPool[T]) tellOfDead(d Dead) {
	if c.w.o.OnDead != nil {
		c.harmless(func() { c.w.o.OnDead(d) })
	}
}

// harmless calls what a user has given: it may panic.
func (c *workerPool[T]) harmless(f func()) {
	defer func() { _ = recover() }()
	f()
}
