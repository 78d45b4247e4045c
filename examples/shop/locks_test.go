package shop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/catalog"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// slow represents a database whose writes are under way when the context of the lock ends, and come
// late: as when a process is stopped by its machine after it has looked at its lock.
type slow struct {
	*catalog.Memory
	entered, leave chan struct{}
	told           chan struct{} // closed when the context has ended
}

func newSlow(m *catalog.Memory) *slow {
	return &slow{m, make(chan struct{}), make(chan struct{}), make(chan struct{})}
}

func (s *slow) Issue(ctx context.Context, coupon, user, left, fence int64) error {
	close(s.entered)
	<-ctx.Done()
	close(s.told)
	<-s.leave
	return s.Memory.Issue(context.WithoutCancel(ctx), coupon, user, left, fence)
}

// TestSlowProcess: a process that was cut off while it issued the last coupon is asked to
// stop, and what it still writes is refused by its fence.
func TestSlowProcess(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
		m := catalog.New()
		m.AddCoupons(1, 1)
		stuck := newSlow(m)
		late, quick := shop.NewCoupons(open(t, "redis://"+p.Addr()), stuck), shop.NewCoupons(open(t, s.URL()), m)
		result := make(chan error, 1)
		go func() { _, err := late.Issue(t.Context(), 1, 1); result <- err }()
		<-stuck.entered
		p.Freeze()
		_, err := quick.Issue(t.Context(), 1, 2) // when the three seconds of the first are over
		must(t, err)
		<-stuck.told
		close(stuck.leave)
		p.Thaw()
		if err := <-result; !errors.Is(err, lock.ErrStale) || !errors.Is(err, lock.ErrLost) {
			t.Errorf("%v", err)
		}
		if n := m.Issued(1); n != 1 {
			t.Errorf("%d have the only coupon", n)
		}
	})
}

// TestRedlockSellsTwice is why the coupon lock is on one server: the same as TestSlowProcess
// under Redlock. No clock is wrong, no server fails and most servers agree all the time; but
// three servers have no common order, so there is no token that the database could refuse, and
// the only coupon is issued twice.
func TestRedlockSellsTwice(t *testing.T) {
	m := catalog.New()
	m.AddCoupons(1, 1)
	var mine, others []lock.Lock // as two processes see the servers
	var proxies []*keywrighttest.Proxy
	for range 3 {
		s := keywrighttest.Start(t, keywrighttest.Redis)
		p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
		proxies = append(proxies, p)
		mine = append(mine, shopkeys.New(open(t, "redis://"+p.Addr())).CouponIssue(1))
		others = append(others, shopkeys.New(open(t, s.URL())).CouponIssue(1))
	}
	issue := func(locks []lock.Lock, to shop.CouponStore, user int64) error {
		quorum, err := lock.NewQuorum(locks...)
		if err != nil {
			return err
		}
		lease, err := quorum.Acquire(t.Context())
		if err != nil {
			return err
		}
		now, err := to.Coupon(lease.Context(), 1, user)
		if err == nil && now.Left == 0 {
			err = shop.ErrSoldOut
		}
		if err == nil {
			err = to.Issue(lease.Context(), 1, user, now.Left-1, 0) // there is no fencing token to give
		}
		return errors.Join(err, lease.Release(context.WithoutCancel(t.Context())))
	}
	stuck := newSlow(m)
	result := make(chan error, 1)
	go func() { result <- issue(mine, stuck, 1) }()
	<-stuck.entered
	for _, p := range proxies {
		p.Freeze()
	}
	must(t, issue(others, m, 2)) // when the leases of the first are over
	<-stuck.told
	close(stuck.leave)
	for _, p := range proxies {
		p.Thaw()
	}
	if err := <-result; errors.Is(err, lock.ErrStale) {
		t.Errorf("the late write was refused: %v", err)
	}
	if n := m.Issued(1); n != 2 {
		t.Errorf("%d have the only coupon; if it were one, Redlock would do", n)
	}
}
