package pages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/pages/appkeys"
	"github.com/keywright/keywright/lock"
)

// A lock around what one process may do at a time.
func Example_lock() {
	ctx, client, app, done := open(keywright.Options{})
	defer done()
	issue := func(context.Context, int) error { return nil }
	//doc:begin lock
	err := app.CouponIssue(42).Do(ctx, func(ctx context.Context) error { // waits its turn
		return issue(ctx, 42) // ctx ends when the lock is lost
	})
	check(err)

	lease, err := app.CouponIssue(42).Try(ctx) // lock.ErrHeld if another caller has it
	check(err)
	_, err = app.CouponIssue(42).Try(ctx)
	held := errors.Is(err, lock.ErrHeld)
	err = lease.Release(ctx)
	//doc:end
	check(err)
	//doc:begin undeclared-lock
	l := lock.Open(client, "lock:coupon:42", lock.Options{})
	//doc:end
	check(l.Do(ctx, func(context.Context) error { return nil }))
	fmt.Println(held)
	// Output: true
}

// What a lock protects compares fencing tokens.
func Example_fence() {
	ctx, client, app, done := open(keywright.Options{})
	defer done()
	//doc:begin gate
	key, err := appkeys.ReportKey(42)
	check(err)
	gate := lock.NewGate(client, key, 0)
	err = app.CouponIssue(42).Do(ctx, func(ctx context.Context) error {
		lease, err := app.CouponIssue(42).Acquire(ctx) // once more in the same call: no round trip
		if err != nil {
			return err
		}
		_, err = gate.Do(ctx, lease.Fence(), "SET", "ready") // lock.ErrStale if a later holder has written
		return errors.Join(err, lease.Release(ctx))
	})
	//doc:end
	check(err)
	_, err = gate.Do(ctx, 1, "SET", "late")
	left, err2 := app.ReportSeen(42).TTL().Do(ctx) // as it is declared
	check(err2)
	fmt.Println(errors.Is(err, lock.ErrStale), left > 0 && left <= 24*time.Hour)
	// Output: true true
}
