package lease

import (
	"context"
	"errors"
	"time"
)

// Hold renews a lease three times in its TTL, until stop. The context that it returns
// ends with ErrLost as its cause, at the latest when the lease ends: what acts under the
// lease must look at it. stop waits for the renewals and leaves the lease to Release.
func (l *Lease) Hold(ctx context.Context, t Term) (held context.Context, stop func()) {
	held, end := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		end(l.renewing(held, t))
	}()
	return held, func() { end(context.Canceled); <-done }
}

// renewing is over when the lease is lost, or ctx ends.
func (l *Lease) renewing(ctx context.Context, t Term) error {
	next := time.NewTimer(l.ttl / 3)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-next.C:
		}
		within, cancel := context.WithDeadline(ctx, t.Until)
		renewed, err := l.Renew(within, t)
		cancel()
		switch {
		case err == nil:
			t = renewed
		case errors.Is(err, ErrLost), !time.Now().Before(t.Until):
			l.Took(ctx, false)
			return ErrLost
		}
		next.Reset(max(min(l.ttl/3, time.Until(t.Until)/2), time.Millisecond))
	}
}
