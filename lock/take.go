package lock

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/coalesce"
	"github.com/keywright/keywright/kernel/notice"
)

// poll says how long a waiter sleeps at most: what a lost wake-up costs. It is a variable, so that a test can see what
// wakes it.
var poll = time.Second

// take acquires the lock.
func (l Lock) take(ctx context.Context, k kind, wait bool) (*Lease, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if lease, err := l.again(ctx, k); lease != nil || err != nil {
		return lease, err
	}
	if !l.client.Noticed(notice.LockAcquired) {
		return l.get(ctx, k, wait)
	}
	began := time.Now()
	lease, err := l.get(ctx, k, wait)
	if err == nil {
		l.client.Notice(ctx, keywright.Notice{Kind: notice.LockAcquired, Entry: l.entry.Name, Elapsed: time.Since(began)})
	}
	return lease, err
}

func (l Lock) get(ctx context.Context, k kind, wait bool) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, l.stopped(ctx, "")
	}
	w := &waiter{lock: l, kind: k, token: l.token()}
	if !wait {
		return w.try(ctx)
	}
	if k == together && !l.busy() { // where none waits readers do not wait for each other either
		lease, err := w.try(ctx)
		if err == nil || !errors.Is(err, ErrHeld) && !l.localWaiters().passing(ctx, err) {
			return lease, err
		}
		w = &waiter{lock: l, kind: k, token: l.token()}
	}
	w.join()
	if w.turn != now {
		select {
		case <-w.turn:
		case <-l.localWaiters().ctx.Done():
			return nil, w.goAway(w.closed())
		case <-ctx.Done():
			return nil, w.goAway(l.stopped(ctx, inLine))
		}
	}
	lease, err := w.await(ctx)
	if err != nil {
		return nil, w.giveUp(ctx, err)
	}
	if k == together {
		w.bring(ctx)
	}
	return lease, w.quit(nil)
}

// again returns a lease that the caller's caller holds already.
func (l Lock) again(ctx context.Context, k kind) (*Lease, error) {
	for lease, _ := ctx.Value(leaseKey{}).(*Lease); lease != nil; lease = lease.outer {
		if lease.lock.client != l.client || lease.lock.keys.Main != l.keys.Main {
			continue
		}
		if lease.kind == together && k == alone {
			return nil, l.refuse("the caller holds the lock together with others and would wait for itself",
				"release it first, or take it alone from the beginning")
		}
		if inner, ok := lease.enter(); ok {
			return inner, nil
		}
	}
	return nil, nil
}

func (w *waiter) try(ctx context.Context) (*Lease, error) {
	r, err := w.ask(ctx, "try")
	if err == nil && r.held && time.Now().Before(w.lock.deadline(r)) {
		return w.lease(ctx, r), nil
	}
	if err != nil || r.held {
		w.abandon()
	}
	if err == nil {
		err = ErrHeld
		if r.held {
			err = errOver(w.lock.lease())
		}
		err = &keywright.Error{Class: keywright.NotApplied, Op: "lock", Entry: w.lock.entry.Name, Err: err}
	}
	return nil, err
}

// lease returns the one of a reply.
func (w *waiter) lease(ctx context.Context, r reply) *Lease {
	return w.begin(ctx, r.fence, w.lock.deadline(r), w.lock.lease())
}

// ask asks the server for the lock. When ctx ends first, the call goes on: a
// release that overtook it on another connection would leave a lock that
// no caller knows of. abandon waits for it.
func (w *waiter) ask(ctx context.Context, how string) (reply, error) {
	if ctx.Err() != nil {
		return reply{}, w.lock.stopped(ctx, w.why())
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	r, err := w.request(ctx, how)
	w.learn(err)
	if err == nil {
		w.lock.localWaiters().took(time.Since(r.sent))
	}
	if err != nil && ctx.Err() == nil && w.lock.localWaiters().ctx.Err() != nil {
		err = w.cutOff(err)
	}
	return r, err
}

func (w *waiter) request(ctx context.Context, how string) (reply, error) {
	// who listens has had to wait a moment ago
	if w.kind == alone && how != "again" && !w.subscribed && w.lock.o.Replicas == 0 {
		r, late, err := w.lock.takeFree(ctx, w.token)
		if w.asked = late; err != nil || r.held || how == "wait" {
			r.busy = !r.held
			return r, err
		}
	}
	w.claims() // before another goroutine reads it
	if ctx.Done() == nil {
		return w.acquire(ctx, how)
	}
	all := w.lock.localWaiters()
	g := coalesce.Each(func(f context.Context, _ []struct{}) []answer {
		var a answer
		done := make(chan struct{})
		if !all.run(func() {
			defer close(done)
			call, end := context.WithCancel(flight{context.WithoutCancel(ctx), f})
			defer end()
			defer context.AfterFunc(all.ctx, end)() // Close does not wait for a server that is frozen
			a.reply, a.err = w.acquire(call, how)
		}) {
			return []answer{{err: w.closed()}}
		}
		<-done
		return []answer{a}
	}).Until(all.ctx)
	a, late, err := g.Do(ctx, struct{}{})
	w.asked = late
	never, unsent := errors.AsType[*coalesce.NotAsked](err)
	switch {
	case err == nil:
		return a.reply, a.err
	case ctx.Err() == nil && unsent:
		return reply{}, w.closed()
	case ctx.Err() == nil: // the call may be making a connection, and does not see it
		return reply{}, w.cutOff(err)
	case unsent:
		return reply{}, &keywright.Error{Class: keywright.NotApplied, Op: "lock", Entry: w.lock.entry.Name, Err: never,
			Hint: w.why()}
	}
	return reply{}, &keywright.Error{Class: keywright.UnknownOutcome, Op: "lock", Entry: w.lock.entry.Name, Err: ctx.Err(),
		Hint: "what it takes is given back in the background"}
}

// answer is the reply to a call, or why there is none.
type answer struct {
	reply reply
	err   error
}

// flight is the context of a call that its caller may leave: with the values of the caller's. What sends the call asks
// whether it is still wanted.
type flight struct {
	context.Context
	call context.Context
}

// Value implements context.Context.
func (f flight) Value(key any) any {
	if v := f.call.Value(key); v != nil {
		return v
	}
	return f.Context.Value(key)
}

// stopped returns the error of a caller that waits no longer, and for which no call is under way.
func (l Lock) stopped(ctx context.Context, hint string) *keywright.Error {
	return &keywright.Error{Class: keywright.NotApplied, Op: "lock", Entry: l.entry.Name, Err: ctx.Err(), Hint: hint}
}

// What a caller that waits no longer can know of the reason.
const (
	elsewhere = "another holder had the lock until then; `keywright locks` shows which"
	inLine    = "until then a caller of this process that came before had the lock, or waited for it"
	silent    = "the server did not answer; `keywright doctor` shows whether it is up"
	partly    = "not all of its servers answered; `keywright doctor` shows which are up"
)

// why returns the hint of a waiter that waits no longer, "" if it has asked nothing. A question that has just been
// sent is no sign that the server is silent.
func (w *waiter) why() string {
	switch {
	case w.seen && (w.since.IsZero() || time.Since(w.since) < poll):
		return elsewhere
	case w.since.IsZero():
		return ""
	}
	return silent
}

// learn notes what the server has answered last.
func (w *waiter) learn(err error) {
	if err == nil {
		w.seen, w.since = true, time.Time{}
	}
}

// quit ends the listening of a waiter.
func (w *waiter) quit(err error) error {
	w.lock.localWaiters().unsubscribe(w)
	return err
}

// cutOff returns the error of a call that the end of the client has ended. What is known
// not to have been applied stays so.
func (w *waiter) cutOff(err error) error {
	switch class, ok := keywright.ClassOf(err); {
	case ok && class == keywright.NotApplied:
		return w.closed()
	case ok && class != keywright.UnknownOutcome:
		return err
	}
	return &keywright.Error{Class: keywright.UnknownOutcome, Op: "lock", Entry: w.lock.entry.Name,
		Err: keywright.ErrClosed, Hint: "it may be held until its lease ends"}
}

func (w *waiter) closed() error {
	return &keywright.Error{Class: keywright.NotApplied, Op: "lock", Entry: w.lock.entry.Name, Err: keywright.ErrClosed}
}

// goAway takes out a waiter that has not had its turn. If that is just coming,
// with the release of the one before, there may be a place in the queue by then:
// it is given back after that call, and none waits for it here.
func (w *waiter) goAway(err error) error {
	if w.leave() {
		return err
	}
	w.asked = w.turn
	w.abandon()
	return w.quit(err)
}

// giveUp gives the waiter's place back, whether it is in the queue, was
// served meanwhile, or was never there. The next of this process takes it.
func (w *waiter) giveUp(ctx context.Context, err error) error {
	w.abandon()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = w.unanswered(ctx, err)
	}
	return w.quit(err)
}

// unanswered returns the error of a waiter whose context has ended. The call under way, if there is one, may take the
// lock.
func (w *waiter) unanswered(ctx context.Context, err error) error {
	out := w.lock.stopped(ctx, w.why())
	if class, _ := keywright.ClassOf(err); class == keywright.UnknownOutcome {
		out.Class = class
	}
	return out
}

// abandon releases in the background what may have been taken, after the last
// call that was to take it.
func (w *waiter) abandon() {
	var next *waiter
	if !w.group.in {
		next = w.peers.next()
	}
	w.lock.localWaiters().chore(w.asked, func(ctx context.Context) {
		if w.group.leads {
			w.bring(ctx)
		}
		place, err := w.lock.release(ctx, w.kind, w.token, next.member(), "wait", w.claims())
		place.held = true // it is in the queue, whether or not something was held
		next.wakeWith(place, err)
	})
}

// await waits in the server's queue until the lock is held.
func (w *waiter) await(ctx context.Context) (*Lease, error) {
	all := w.lock.localWaiters()
	r, how := w.place, "wait"
	if w.group.in { // it may have been let in
		how = "again"
	}
	if w.group.given && time.Now().Before(w.lock.deadline(r)) {
		return w.lease(ctx, r), nil
	}
	if w.known {
		w.learn(nil)
	}
	for asked := w.known && !w.group.in; ; asked = false {
		var err error
		waited := how == "again"
		if !asked {
			if r, err = w.ask(ctx, how); err != nil && !all.passing(ctx, err) {
				return nil, err
			}
		}
		if err == nil && r.busy { // it is in no queue yet: who listens first need not ask once more
			if err := all.listen(ctx, w); err != nil && !all.passing(ctx, err) {
				return nil, err
			}
			continue
		}
		how = "again"
		if err == nil && r.held && !asked {
			if time.Now().Before(w.lock.deadline(r)) {
				lease := w.lease(ctx, r)
				lease.life.queued = waited
				return lease, nil
			}
			continue // the reply took longer than the lease
		}
		if !w.subscribed {
			if err := all.listen(ctx, w); err != nil && !all.passing(ctx, err) {
				return nil, err
			}
			continue // what was said before is not known
		}
		if lease, err := w.wait(ctx, r, err); lease != nil || err != nil {
			return lease, err
		}
	}
}

// passing is a failure that a waiter outlasts: the server is away.
func (all *localWaiters) passing(ctx context.Context, err error) bool {
	class, ok := keywright.ClassOf(err)
	return ctx.Err() == nil && all.ctx.Err() == nil && ok && class != keywright.Invalid && class != keywright.Refused &&
		!errors.Is(err, ErrReplicas)
}

// wait sleeps until there is a reason to ask again: a message, the end of the
// holder's lease, a second, ctx, or Close. A message that hands the lock over gives it
// without asking.
func (w *waiter) wait(ctx context.Context, r reply, failed error) (*Lease, error) {
	pause := poll
	switch {
	case failed != nil:
		pause = poll / 4
	case r.left >= 0:
		pause = min(r.left+time.Millisecond, poll)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case text := <-w.inbox:
		return w.granted(ctx, text, r), nil
	case <-timer.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.lock.localWaiters().ctx.Done():
		return nil, w.closed()
	}
}

// granted returns the lease that a message hands over, nil if it does not, or if it
// came too late to be sure.
//
// The message tells when, by the server's clock, the claim began. The last reply
// says what that clock was, not before the local time of asking. So the claim
// ends no earlier than reckoned here, however long the message was under way.
func (w *waiter) granted(ctx context.Context, text string, r reply) *Lease {
	words := strings.Fields(text) // granted TOKEN FENCE MICROS CLAIM
	if len(words) != 5 || words[0] != "granted" || words[1] != w.token || r.server == 0 || mustAsk(w.lock.o) ||
		foreign(w, words[4]) {
		return nil
	}
	fence, err1 := strconv.ParseInt(words[2], 10, 64)
	micros, err2 := strconv.ParseInt(words[3], 10, 64)
	ms, err3 := strconv.ParseInt(words[4], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil
	}
	claim := time.Duration(ms) * time.Millisecond
	now := time.Now()
	ends := r.sent.Add(time.Duration(micros-r.server) * time.Microsecond)
	if ends.After(now) {
		ends = now // the server's clock was put forward
	}
	ends = ends.Add(claim - margin(claim))
	if !now.Before(ends) {
		return nil
	}
	lease := w.begin(ctx, fence, ends, claim)
	lease.life.queued = true
	return lease
}

// foreign reports whether a message names another claim than the waiter asked for: no
// release hands a lock over so. A variable so that a test can take it out.
var foreign = func(w *waiter, claim string) bool { return claim != w.claims() }

// mustAsk reports whether a message that hands the lock over is only a reason to
// ask: where replicas must confirm it, or the claim is not made a lease later. A
// variable so that a test can take it out.
var mustAsk = func(o *Options) bool { return o.Replicas > 0 || o.NoRenewal }
