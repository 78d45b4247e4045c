package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel/notice"
)

// Lease represents a lock that is held, until it is released or lost. It is safe for
// concurrent use.
type Lease struct {
	lock  Lock
	kind  kind
	token string
	fence int64
	life  *life

	once  sync.Once // of Release of this handle
	outer *Lease    // of the context it was acquired with
}

// life represents the state that a lease and those that enter it again share.
type life struct {
	room   *lockWaiters // nil for leases of Try, and those held together
	first  *Lease
	parent context.Context
	queued bool // it was waited for, so others may wait too: a hint, which saves a call at the release

	since   time.Time // when it began to be held
	touched time.Time // when the TTL of the fence was renewed last

	mu       sync.Mutex
	ctx      context.Context // of the holder, once a caller has asked for it
	end      context.CancelCauseFunc
	cause    error         // why it is over
	deadline time.Time     // by the local monotonic clock
	whole    time.Duration // of the lease, or the claim, that ends then
	holders  int
	over     bool
	detached bool // the lock was kept at the server for Resume
	renewal  *time.Timer
	last     *time.Timer // fires at the deadline
}

// held represents the context of a holder. Its Err looks at the clock: a process that
// was stopped for longer than its lease sees that at once, before any timer of
// it has fired.
type held struct {
	context.Context
	life *life
}

func (h held) Err() error {
	if err := h.Context.Err(); err != nil {
		return err
	}
	if h.life.expired() {
		h.life.lose()
	}
	return h.Context.Err()
}

type leaseKey struct{}

// margin says how much earlier than the server the holder ends its lease: for two
// clocks that do not run alike (1 %), and for the grain of both. A variable so
// that a test can see what happens without.
var margin = func(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// begin makes the lease of a lock that was taken; deadline is by the local
// clock, and whole is how long the lease, or the claim, lasts from its beginning.
func (w *waiter) begin(ctx context.Context, fence int64, deadline time.Time, whole time.Duration) *Lease {
	began := time.Now()
	lf := &life{parent: ctx, deadline: deadline, whole: whole, holders: 1, since: began, touched: began}
	if w.kind == alone {
		lf.room = w.peers
	}
	lease := &Lease{lock: w.lock, kind: w.kind, token: w.token, fence: fence, life: lf}
	lease.outer, _ = ctx.Value(leaseKey{}).(*Lease)
	lf.first = lease
	lf.mu.Lock()
	defer lf.mu.Unlock()
	if w.lock.o.NoRenewal {
		lf.last = time.AfterFunc(deadline.Sub(began), lf.timeUp)
	} else {
		lf.renewal = time.AfterFunc(min(lf.due().Sub(began), unwatched), lease.keep)
	}
	return lease
}

// Context ends when the lease is lost, released, or the context it was acquired
// with ends; context.Cause says ErrLost in the first case. It ends by the local
// clock, before the server can give the lock to another one, whatever the
// network does. A renewal that got no answer does not count.
func (lease *Lease) Context() context.Context { return lease.life.context() }

// context is made when it is asked for: short holds never ask.
func (lf *life) context() context.Context {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	if lf.ctx != nil {
		return lf.ctx
	}
	parent := lf.parent
	if lf.over {
		parent = context.WithoutCancel(parent) // it ended before the parent could
	}
	inner, end := context.WithCancelCause(context.WithValue(parent, leaseKey{}, lf.first))
	if lf.ctx, lf.end = (held{inner, lf}), end; lf.over {
		end(lf.cause)
	}
	return lf.ctx
}

// Fence returns the fencing token: greater than that of every earlier holder. Pass it
// to what the lock protects, and let that refuse an older one.
func (lease *Lease) Fence() int64 { return lease.fence }

// Token returns the value of the lock's key.
func (lease *Lease) Token() string { return lease.token }

// Deadline returns when the lease ends by the local clock unless it is renewed.
func (lease *Lease) Deadline() time.Time {
	lease.life.mu.Lock()
	defer lease.life.mu.Unlock()
	return lease.life.deadline
}

// Renew makes the lease last as long again. The holder does that by itself; by hand it is
// for Options.NoRenewal, or to see that the lock is held: ErrLost if it is not.
// One round trip.
func (lease *Lease) Renew(ctx context.Context) error {
	if lease.life.done() {
		return lease.lost()
	}
	r, err := lease.lock.renew(ctx, lease.kind, lease.token, lease.life.touch())
	switch {
	case err != nil:
		return err
	case !r.held || !lease.life.extend(lease.lock.deadline(r), lease.lock.lease()):
		lease.life.lose()
		return lease.lost()
	}
	return nil
}

func (lease *Lease) lost() error {
	return &keywright.Error{Class: keywright.NotApplied, Op: "lock", Entry: lease.lock.entry.Name, Err: ErrLost,
		Hint: "stop what the lock protects: another holder may have it"}
}

// Release gives the lock back and hands it to the next. It returns ErrLost if the lock was lost before: then nothing
// is released, in particular no lock of another holder. A second call does nothing. After a lost reply the release is
// sent again and may then return ErrLost although the first one succeeded. When ctx ends, or has ended, it returns,
// and the lock is given back in the background. One round trip.
func (lease *Lease) Release(ctx context.Context) error {
	var err error
	lease.once.Do(func() { err = lease.giveBack(ctx) })
	return err
}

// grace says how long Release with a context that is over waits for the server.
const grace = 50 * time.Millisecond

func (lease *Lease) giveBack(ctx context.Context) error {
	lf := lease.life
	lf.mu.Lock()
	lf.holders--
	kept := lf.holders > 0 || lf.detached
	lf.mu.Unlock()
	if kept {
		return nil
	}
	var next *waiter
	wasOver := !lf.finish(context.Canceled)
	if !wasOver {
		next = lf.room.next()
	}
	r, err := lease.handOn(ctx, next)
	switch {
	case err != nil:
		return err
	case !r.held && !wasOver:
		lf.notice(notice.LockLost, ErrLost)
		return lease.lost()
	case !r.held || wasOver && lf.lost():
		return lease.lost()
	case lease.lock.client.Noticed(notice.LockReleased):
		lf.notice(notice.LockReleased, nil)
	}
	return nil
}

// handOn gives the lock back to the server, with next in the queue; in the
// background if ctx ends.
func (lease *Lease) handOn(ctx context.Context, next *waiter) (r reply, err error) {
	l := lease.lock
	if ctx.Err() == nil {
		if r, err = l.giveBack(ctx, lease.kind, lease.token, next, lease.life.queued); err == nil || ctx.Err() == nil {
			next.wakeWith(r, err)
			return r, err
		}
	}
	done := make(chan struct{})
	var late reply
	var failed error
	l.localWaiters().chore(nil, func(ctx context.Context) {
		defer close(done)
		late, failed = l.giveBack(ctx, lease.kind, lease.token, next, lease.life.queued)
		next.wakeWith(late, failed)
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return late, failed
	case <-timer.C:
		return r, &keywright.Error{Class: keywright.UnknownOutcome, Op: "release", Entry: l.entry.Name, Err: ctx.Err(),
			Hint: "it is given back in the background, or its lease ends"}
	}
}

// enter gives the lease once more to a caller further down in the same call.
func (lease *Lease) enter() (*Lease, bool) {
	lf := lease.life
	lf.mu.Lock()
	defer lf.mu.Unlock()
	if lf.over || lf.holders == 0 || !time.Now().Before(lf.deadline) {
		return nil, false
	}
	lf.holders++
	return &Lease{lock: lease.lock, kind: lease.kind, token: lease.token, fence: lease.fence, life: lf}, true
}

// keep renews until the lease is over, and is notified of changes of the key
// meanwhile. It runs on its own goroutine, first when the hold has lasted a
// while: a short one never gets here.
func (lease *Lease) keep() {
	lf := lease.life
	lf.mu.Lock()
	if lf.over {
		lf.mu.Unlock()
		return
	}
	lf.last = time.AfterFunc(time.Until(lf.deadline), lf.timeUp)
	due := lf.due()
	lf.mu.Unlock()
	watched := lease.listen()
	defer watched.end()
	var renewals sync.WaitGroup
	defer renewals.Wait()
	for {
		watched.look() // in the background: a slow reply does not hold up the renewal
		switch woken, alive := lf.sleep(time.Until(due), watched.changed); {
		case !alive || lf.parent.Err() != nil:
			return // who asked for the lock is gone: there is no holder any more
		case woken:
			continue
		}
		err := lease.renewal(&renewals)
		if due = lease.nextRenewal(); err != nil {
			due = time.Now().Add(max(time.Until(lease.Deadline())/4, 5*time.Millisecond))
		}
	}
}

// renewal renews the lease. One without a reply goes on after it, until the lease
// is over: the next one is sent half a lease later, so there are two at most.
func (lease *Lease) renewal(running *sync.WaitGroup) error {
	ctx, cancel := context.WithTimeout(lease.life.context(), lease.lock.lease())
	done := make(chan error, 1)
	running.Go(func() {
		defer cancel()
		done <- lease.Renew(ctx)
	})
	timer := time.NewTimer(lease.lock.lease() / 2)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return nil
	}
}

func (lease *Lease) nextRenewal() time.Time {
	lease.life.mu.Lock()
	defer lease.life.mu.Unlock()
	return lease.life.due()
}

// due returns when a third of the lease has passed since it was asked for: at once, if
// the reply took longer. The caller holds mu.
func (lf *life) due() time.Time { return lf.deadline.Add(-lf.whole * 2 / 3) }

// touch reports whether the TTL of the fence is to be renewed, too.
func (lf *life) touch() bool {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	old := time.Since(lf.touched) > helpers/24
	if old {
		lf.touched = time.Now()
	}
	return old
}

// lose ends a lease that is over; the next of this process asks for itself.
func (lf *life) lose() {
	if lf.finish(ErrLost) {
		lf.room.next().wakeWith(reply{}, ErrLost)
		if lf.lost() {
			lf.notice(notice.LockLost, ErrLost)
		}
	}
}

// notice tells what has become of the lease, and how long it was held.
func (lf *life) notice(kind notice.Kind, err error) {
	l := lf.first.lock
	l.client.Notice(lf.parent, keywright.Notice{Kind: kind, Entry: l.entry.Name, Elapsed: time.Since(lf.since), Err: err})
}

// deadline returns when a reply's lease ends by the local clock: counted from the
// sending, since the server began it later.
func (l Lock) deadline(r reply) time.Time {
	lease := l.lease()
	return r.sent.Add(lease - margin(lease))
}

func (lf *life) done() bool {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	return lf.over || !time.Now().Before(lf.deadline)
}

func (lf *life) expired() bool {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	return !lf.over && !time.Now().Before(lf.deadline)
}

// extend moves the deadline, by a lease that lasts so long in the whole; false if
// the lease was over already.
func (lf *life) extend(deadline time.Time, whole time.Duration) bool {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	now := time.Now()
	if lf.over || late(now, lf.deadline) || !now.Before(deadline) {
		return false
	}
	if deadline.After(lf.deadline) {
		lf.deadline, lf.whole = deadline, whole
		if lf.last != nil {
			lf.last.Reset(time.Until(deadline))
		}
	}
	return true
}

// late reports whether a renewal came too late: the lease was over, also if no
// timer has said so yet. A variable so that a test can take it out.
var late = func(now, deadline time.Time) bool { return !now.Before(deadline) }

// timeUp is the timer of the deadline.
func (lf *life) timeUp() {
	if lf.done() {
		lf.lose()
	}
}

// finish ends the lease, once.
func (lf *life) finish(cause error) bool {
	cause = lf.causeOr(cause)
	lf.mu.Lock()
	defer lf.mu.Unlock()
	return lf.ends(cause)
}

// detach ends the lease without giving the lock back, unless it is being given back.
func (lf *life) detach() bool {
	cause := lf.causeOr(context.Canceled)
	lf.mu.Lock()
	defer lf.mu.Unlock()
	lf.detached = lf.holders > 0 && lf.ends(cause)
	return lf.detached
}

// causeOr returns why the parent has ended, if it has. It is not asked with mu held: it may be
// the context of another lease.
func (lf *life) causeOr(cause error) error {
	if lf.parent.Err() != nil {
		return context.Cause(lf.parent)
	}
	return cause
}

// ends is finish for a caller that holds mu.
func (lf *life) ends(cause error) bool {
	if lf.over {
		return false
	}
	lf.over, lf.cause = true, cause
	if lf.last != nil {
		lf.last.Stop()
	}
	if lf.renewal != nil {
		lf.renewal.Stop()
	}
	if lf.end != nil {
		lf.end(cause) // under the lock: none sees a lease that is over and a context that is not
	}
	return true
}

// lost reports whether the lease ended before it was given back, and before its parent.
func (lf *life) lost() bool {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	return errors.Is(lf.cause, ErrLost)
}

// sleep waits; woken early when something has changed, not alive when the lease
// is over.
func (lf *life) sleep(d time.Duration, changed <-chan struct{}) (woken, alive bool) {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, true
	case <-changed:
		return true, true
	case <-lf.context().Done():
		return false, false
	}
}
