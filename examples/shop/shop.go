// Package shop is the shop's use of its Redis keys, through generated code only
// (package shopkeys): a product cache that one reader fills for all and that a
// change empties, sales rankings with the popular products made from them, and
// coupons that are issued under a lock. What the database would do is a Catalog.
//
// No key, type or TTL is written here by hand; a test runs it behind a guard
// that would refuse it.
package shop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/ranking"
)

// Product is what a product's page shows.
type Product struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Price int64  `json:"price"`
}

// Option is one way to buy a product.
type Option struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Stock int64  `json:"stock"`
}

// Catalog is the truth that the cache is made from, and what a coupon is taken
// from.
type Catalog interface {
	Product(ctx context.Context, id int64) (Product, error)
	Options(ctx context.Context, product int64) ([]Option, error)
	// Issue gives a coupon to a user. It refuses a fence that is older than one it
	// has seen for this coupon (lock.ErrStale), as
	// UPDATE … WHERE id = $1 AND fence <= $2 does.
	Issue(ctx context.Context, coupon, user, fence int64) error
}

// Shop answers from the cache and fills it.
type Shop struct {
	keys    *shopkeys.Keyspace
	catalog Catalog
}

// New makes a shop on a client. A cache that cannot be reached costs time, not
// the answer.
func New(c *keywright.Client, catalog Catalog) *Shop {
	through := cache.Options{Down: cache.LoadThrough}
	return &Shop{shopkeys.NewTuned(c, shopkeys.Tuning{ProductDetail: through, ProductOptions: through, ProductOption: through, Popular: through}), catalog}
}

// ErrUnknownProduct is what a Catalog answers for a product there is not. That
// is remembered for a moment, so that a wrong link does not reach the database
// each time.
var ErrUnknownProduct = errors.New("no such product")

// Product reads a product: one round trip when it is cached. When it is not, one
// process asks the catalog, whoever else waits for it.
func (s *Shop) Product(ctx context.Context, id int64) (Product, error) {
	p, err := through(ctx, s.keys.ProductDetail(id), func(ctx context.Context) (Product, error) {
		p, err := s.catalog.Product(ctx, id)
		if errors.Is(err, ErrUnknownProduct) {
			err = keywright.ErrNotFound
		}
		return p, err
	})
	if errors.Is(err, keywright.ErrNotFound) {
		err = ErrUnknownProduct
	}
	return p, err
}

// Options reads the options of a product.
func (s *Shop) Options(ctx context.Context, product int64) ([]Option, error) {
	return through(ctx, s.keys.ProductOptions(product), func(ctx context.Context) ([]Option, error) { return s.catalog.Options(ctx, product) })
}

// through reads JSON through its cache.
func through[T any](ctx context.Context, item cache.Item[json.RawMessage], load func(context.Context) (T, error)) (v T, err error) {
	text, err := item.GetOrLoad(ctx, func(ctx context.Context) (json.RawMessage, error) {
		loaded, err := load(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(loaded)
	})
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}

// PutOptions caches the options of a product one by one and as a list, in one
// pipeline.
func (s *Shop) PutOptions(ctx context.Context, product int64, options []Option) error {
	var b keywright.Batch
	for _, o := range options {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		keywright.Queue(&b, s.keys.ProductOption(product, o.ID).LaterSet(text))
	}
	text, err := json.Marshal(options)
	if err != nil {
		return err
	}
	keywright.Queue(&b, s.keys.ProductOptions(product).LaterSet(text))
	return b.Run(ctx, s.keys.Client())
}

// Updated drops what a change of the product has made stale. A load that began
// before is not stored either.
func (s *Shop) Updated(ctx context.Context, product int64) error {
	return s.keys.ProductUpdated(ctx, product)
}

// Sold counts units of a product on a day. The ranking gets its seven days with
// the first sale, in the same step.
func (s *Shop) Sold(ctx context.Context, product, units int64, day time.Time) error {
	_, err := s.keys.DailySales(day).Increase(ctx, product, units)
	return err
}

// Popular gives the n best-selling products of the last days, the best first,
// ties by the lower id. The sum of the days is made once a minute, the answer
// once in five.
func (s *Shop) Popular(ctx context.Context, now time.Time, days, n int64) ([]int64, error) {
	return through(ctx, s.keys.Popular(days), func(ctx context.Context) ([]int64, error) {
		windows, err := s.keys.DailySalesWindows(ranking.Same(int(days)))
		if err != nil {
			return nil, err
		}
		rows, err := windows.Ending(now).Top(ctx, int(n))
		if err != nil {
			return nil, err
		}
		ids := make([]int64, len(rows))
		for i, row := range rows {
			ids[i] = row.Member
		}
		return ids, nil
	})
}

// IssueCoupon gives a coupon to a user, one at a time over all processes. Who
// comes later waits for his turn. A process that was too slow and has lost the
// lock is refused by the catalog: it passes its fencing token on.
func (s *Shop) IssueCoupon(ctx context.Context, coupon, user int64) error {
	lease, err := s.keys.CouponIssue(coupon).Acquire(ctx)
	if err != nil {
		return err
	}
	err = s.catalog.Issue(lease.Context(), coupon, user, lease.Fence())
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}
