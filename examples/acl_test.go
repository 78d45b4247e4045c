package examples

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/examples/harca/harcakeys"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/ranking"
)

// TestConstructsUnderTheirUsers: locks, caches and rankings work under the users
// that `keywright acl` makes of the declaration, and with nothing more.
func TestConstructsUnderTheirUsers(t *testing.T) {
	underTheirUsers(t, "shop/keyspace.yaml", func(t *testing.T, as func(user string) *keywright.Client) {
		couponsAsOwner(t, shopkeys.New(as("coupon")), shopkeys.New(as("coupon")))
		productsAsOwner(t, shopkeys.New(as("product")))
	})
}

// TestItemsUnderTheirUsers: the owner of items may do all with them, and a reader
// finds them.
func TestItemsUnderTheirUsers(t *testing.T) {
	watched := func(ks *keyspace.Keyspace) { // with a program that only reads
		_, k := ks.Lookup("context")
		k.Entry.Readers = []string{"dashboard"}
	}
	underTheirUsers(t, "harca/keyspace.yaml", func(t *testing.T, as func(user string) *keywright.Client) {
		ctx, id := t.Context(), "0190a1b2-0000-7000-8000-000000000001"
		owner, reader := harcakeys.New(as("short_term_memory")).ContextStore(), harcakeys.New(as("dashboard")).ContextStore()
		value := harcakeys.ContextValue{Name: "n", Type: "talk", UsedAt: time.Now(), Metadata: json.RawMessage(`{}`)}
		_, made := owner.Create(ctx, id, value)
		_, put := owner.Put(ctx, id, value)
		_, updated := owner.Update(ctx, id, harcakeys.ContextFields.Type.Set("other"))
		_, swept := owner.Sweep(ctx, entity.SweepOptions{})
		if err := errors.Join(made, put, updated, swept, owner.Touch(ctx, id)); err != nil {
			t.Error(err)
		}
		for range 2 { // by the script, and as it is known from before
			page, err := reader.List(ctx, entity.Query[harcakeys.ContextValue]{Of: reader.ByType("other")})
			if err != nil || len(page.Items) != 1 {
				t.Errorf("%+v %v", page, err)
			}
		}
		if n, _, err := reader.Count(ctx, reader.ByUsedAt(), "", ""); err != nil || n != 1 {
			t.Errorf("%d %v", n, err)
		}
		if items, err := reader.GetMany(ctx, id); err != nil || len(items) != 1 {
			t.Errorf("%+v %v", items, err)
		}
		if _, err := reader.Delete(ctx, id); err == nil {
			t.Error("a reader deletes")
		}
		if there, err := owner.Delete(ctx, id); err != nil || !there {
			t.Errorf("%t %v", there, err)
		}
	}, watched)
}

// underTheirUsers runs against servers that have the users of a declaration.
func underTheirUsers(t *testing.T, declaration string, run func(t *testing.T, as func(user string) *keywright.Client),
	edits ...func(*keyspace.Keyspace)) {
	ks, _ := load.File(os.DirFS("."), declaration)
	for _, edit := range edits {
		edit(ks)
	}
	users, err := acl.Users(ks)
	if err != nil {
		t.Fatal(err)
	}
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			for _, u := range users {
				s.Do(append(append([]string{"ACL", "SETUSER"}, u.SetUser()...), "on", ">word")...)
			}
			run(t, func(user string) *keywright.Client {
				return servertest.Open(t, fmt.Sprintf("redis://%s:word@%s", user, s.Addr()))
			})
		})
	}
}

func couponsAsOwner(t *testing.T, a, b *shopkeys.Keyspace) {
	var wg sync.WaitGroup
	for _, k := range []*shopkeys.Keyspace{a, b, a, b} {
		wg.Go(func() {
			if err := k.CouponIssue(1).Do(t.Context(), func(ctx context.Context) error {
				for range 50 { // others come meanwhile and wait
					if _, err := k.CouponIssue(1).Holder(ctx); err != nil {
						return err
					}
				}
				return nil
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
	if _, err := k.ProductDetail(1).GetOrLoad(ctx, func(context.Context) (json.RawMessage, error) {
		return json.RawMessage(`1`), nil
	}); err != nil {
		t.Error(err)
	}
	if err := k.ProductUpdated(ctx, 1); err != nil {
		t.Error(err)
	}
	if _, err := k.DailySales(day).Increase(1, 1).Do(ctx); err != nil {
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
