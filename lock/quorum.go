package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
)

// Quorum represents the same lock on several independent servers, held when most of
// them have given it (Redlock, https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
// It outlives the loss of a minority.
//
// Its caveats: it relies on clocks that run alike, and on servers that keep
// their locks through a restart (appendfsync always, or a restart later than the
// longest lease). The servers give no common order, so there is no fencing
// token: where a late write does harm, use one server's Lock with its token.
// Waiting is by asking again; there is no queue and no fairness.
type Quorum struct{ locks []Lock }

// NewQuorum returns a lock over servers that know nothing of each other, an odd
// number of them. Replicas of one server, or nodes of one cluster, are not that.
func NewQuorum(locks ...Lock) (Quorum, error) {
	if len(locks) < 3 || len(locks)%2 == 0 {
		return Quorum{},
			&keywright.Error{Class: keywright.Invalid, Op: "lock", Err: fmt.Errorf("a quorum of %d servers", len(locks)),
				Hint: "use 3 or 5"}
	}
	for _, l := range locks {
		if err := l.check(); err != nil {
			return Quorum{}, err
		}
	}
	return Quorum{locks}, nil
}

// QuorumLease represents a lock that most servers have given.
type QuorumLease struct {
	leases []*Lease
	ctx    context.Context
	end    context.CancelCauseFunc
	most   int
}

// Try takes the lock on most servers, else ErrHeld, and gives back what it has
// got. All are asked at once; one that does not answer within a third of the
// lease counts as one that refused.
func (q Quorum) Try(ctx context.Context) (*QuorumLease, error) {
	if ctx.Err() != nil {
		return nil, q.locks[0].stopped(ctx, "")
	}
	type given struct {
		lease *Lease
		err   error
	}
	answers := make(chan given, len(q.locks))
	asking, cancel := context.WithTimeout(ctx, q.locks[0].lease()/3)
	defer cancel()
	for _, l := range q.locks {
		go func() {
			w := &waiter{lock: l, kind: alone, token: l.token()}
			r, err := w.ask(asking, "try")
			if err == nil && r.held && time.Now().Before(l.deadline(r)) {
				answers <- given{lease: w.lease(ctx, r)}
				return
			}
			if err != nil || r.held {
				w.abandon()
			}
			answers <- given{err: err}
		}()
	}
	out := &QuorumLease{most: len(q.locks)/2 + 1}
	var errs []error
	for range q.locks {
		a := <-answers
		if a.lease != nil {
			out.leases = append(out.leases, a.lease)
		}
		errs = append(errs, a.err)
	}
	if len(out.leases) < out.most {
		_ = out.giveBack(ctx)
		return nil, &keywright.Error{Class: keywright.NotApplied, Op: "lock", Err: errors.Join(append(errs, ErrHeld)...)}
	}
	out.hold(ctx)
	return out, nil
}

// Acquire tries until it holds the lock or ctx ends.
func (q Quorum) Acquire(ctx context.Context) (*QuorumLease, error) {
	if ctx.Err() != nil {
		return nil, q.locks[0].stopped(ctx, "")
	}
	hint := partly
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, poll) {
		lease, err := q.Try(ctx)
		if err == nil || ctx.Err() == nil && (!errors.Is(err, ErrHeld) || errors.Is(err, keywright.ErrClosed)) {
			return lease, err
		}
		if ctx.Err() == nil { // else the servers may not have had the time to answer
			hint = reason(err)
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, q.locks[0].stopped(ctx, hint)
		}
	}
}

// reason returns the hint of a caller that waits no longer, after the last error of Try.
func reason(err error) string {
	var e *keywright.Error
	if errors.As(err, &e) {
		if all, ok := e.Err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) == 1 {
			return elsewhere
		}
	}
	return partly
}

// hold ends the context when too few servers still give the lock. The
// leases' contexts carry it: nothing runs meanwhile.
func (l *QuorumLease) hold(ctx context.Context) {
	l.ctx, l.end = context.WithCancelCause(ctx)
	var left atomic.Int64 // that may be lost before the lock is
	left.Store(int64(len(l.leases) - l.most))
	for _, lease := range l.leases {
		context.AfterFunc(lease.Context(), func() {
			if left.Add(-1) < 0 && ctx.Err() == nil {
				l.end(ErrLost)
			}
		})
	}
}

// Context ends when most servers do not give the lock any more, or it is
// released.
func (l *QuorumLease) Context() context.Context { return l.ctx }

// Release gives the lock back on all servers; ErrLost if most had taken it away
// before.
func (l *QuorumLease) Release(ctx context.Context) error {
	l.end(context.Canceled)
	if errors.Is(context.Cause(l.ctx), ErrLost) {
		_ = l.giveBack(ctx)
		return l.leases[0].lost()
	}
	return l.giveBack(ctx)
}

// giveBack releases everywhere; a minority that cannot be reached is no error:
// its leases run out.
func (l *QuorumLease) giveBack(ctx context.Context) error {
	results := make(chan error, len(l.leases))
	for _, lease := range l.leases {
		go func() { results <- lease.Release(ctx) }()
	}
	var errs []error
	for range l.leases {
		if err := <-results; err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > len(l.leases)-l.most {
		return errors.Join(errs...)
	}
	return nil
}
