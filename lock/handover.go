package lock

import (
	"context"
	"time"

	"github.com/keywright/keywright/kernel/notice"
)

// Detach ends the lease in this process without giving the lock back, and returns the
// token by which Resume takes it up, here or in another process, within what is left of
// the lease. The context of the lease ends, and Release does nothing any more. ErrLost if
// the lease is over, or is being released; a lease that is held together with others
// cannot be detached.
func (lease *Lease) Detach() (token string, err error) {
	if lease.kind != alone {
		return "", lease.lock.refuse("a lease that is held together with others was detached",
			"release it, and acquire it again elsewhere")
	}
	lf := lease.life
	if lf.done() {
		return "", lease.lost()
	}
	if !lf.detach() { // it ended in this moment
		return "", lease.lost()
	}
	lf.room.next().wakeWith(reply{}, ErrLost) // the next of this process asks for itself
	return lease.token, nil
}

// Resume takes up the lease of a token: of one that was detached, or of one whose process
// has ended without giving it back. It lasts as long again, and keeps its fencing token.
// ErrLost if the lock is not held by that token any more. The caller sees to it that no
// other holder uses the token. Two round trips.
func (l Lock) Resume(ctx context.Context, token string) (*Lease, error) {
	h, err := l.Holder(ctx)
	if err != nil {
		return nil, err
	}
	w := &waiter{lock: l, kind: alone, token: token}
	lost := (&Lease{lock: l}).lost
	if token == "" || h.Token != token || h.Fence == 0 {
		return nil, lost()
	}
	r, err := l.renew(ctx, alone, token, true)
	switch {
	case err != nil:
		return nil, err
	case !r.held || !time.Now().Before(l.deadline(r)):
		return nil, lost()
	}
	lease := w.lease(ctx, reply{fence: h.Fence, sent: r.sent})
	if l.client.Noticed(notice.LockAcquired) {
		lease.life.notice(notice.LockAcquired, nil)
	}
	return lease, nil
}
