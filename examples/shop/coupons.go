package shop

import (
	"context"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/shop/shopkeys"
)

// Coupons issues coupons.
type Coupons struct {
	keys  *shopkeys.Keyspace
	store CouponStore
}

// NewCoupons makes the coupons program on a client.
func NewCoupons(c *keywright.Client, l CouponStore) *Coupons { return &Coupons{shopkeys.New(c), l} }

// Issue gives a coupon to a user, one at a time over all processes, in the order in which
// they came; a user gets one, however often it is asked. It says how many are left. A
// process that was too slow and has lost the lock is refused by the database: its fencing token
// is too old.
func (c *Coupons) Issue(ctx context.Context, coupon, user int64) (left int64, err error) {
	l := c.keys.CouponIssue(coupon)
	err = locked(ctx, l, func(ctx context.Context, fence int64) error {
		now, err := c.store.Coupon(ctx, coupon, user)
		if left = now.Left; err != nil || now.Has {
			return err
		}
		if left == 0 {
			return ErrSoldOut
		}
		left--
		return c.store.Issue(ctx, coupon, user, left, fence)
	}, func(ctx context.Context) error {
		return c.keys.CouponReleasedTopic(coupon).Publish(ctx, shopkeys.CouponReleasedMessage{Lock: l.Name()})
	})
	return left, err
}
