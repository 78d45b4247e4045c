package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/ranking"
)

// TestConstructsUnderTheirUsers: locks, caches and rankings work under the users
// that `keywright acl` makes of the declaration, and with nothing more.
func TestConstructsUnderTheirUsers(t *testing.T) {
	ks, _ := keyspace.Load(os.DirFS("."), "shop/keyspace.yaml")
	users, err := acl.Users(ks)
	if err != nil {
		t.Fatal(err)
	}
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			for _, u := range users {
				s.Do(append(append([]string{"ACL", "SETUSER"}, u.SetUser()...), "on", ">word")...)
			}
			as := func(user string) *shopkeys.Keyspace {
				c, err := keywright.Open(t.Context(), fmt.Sprintf("redis://%s:word@%s", user, s.Addr()), keywright.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Close)
				return shopkeys.New(c)
			}
			couponsAsOwner(t, as("coupon"), as("coupon"))
			productsAsOwner(t, as("product"))
		})
	}
}

func couponsAsOwner(t *testing.T, a, b *shopkeys.Keyspace) {
	var wg sync.WaitGroup
	for _, k := range []*shopkeys.Keyspace{a, b, a, b} {
		wg.Go(func() {
			if err := k.CouponIssue(1).Do(t.Context(), func(ctx context.Context) error {
				_, err := k.CouponIssue(1).Holder(ctx)
				<-time.After(150 * time.Millisecond) // long enough to be watched and renewed
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := a.CouponIssue(1).DoShared(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}

func productsAsOwner(t *testing.T, k *shopkeys.Keyspace) {
	ctx, day := t.Context(), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	if _, err := k.ProductDetail(1).GetOrLoad(ctx, func(context.Context) (json.RawMessage, error) { return json.RawMessage(`1`), nil }); err != nil {
		t.Error(err)
	}
	if err := k.ProductUpdated(ctx, 1); err != nil {
		t.Error(err)
	}
	if _, err := k.DailySales(day).Increase(ctx, 1, 1); err != nil {
		t.Error(err)
	}
	windows, err := k.DailySalesWindows(ranking.Same(3))
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := windows.Ending(day).Top(ctx, 10); err != nil || len(rows) != 1 {
		t.Errorf("%v %v", rows, err)
	}
}
