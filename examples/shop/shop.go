// Package shop is the shop's use of its Redis keys, through generated code only
// (package shopkeys): a product cache with its options, sales rankings and the
// popular products made from them. What the database would do is a Catalog.
//
// No key, type or TTL is written here by hand; a test runs it behind a guard
// that would refuse it.
package shop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/typed"
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

// Catalog is the truth that the cache is made from.
type Catalog interface {
	Product(ctx context.Context, id int64) (Product, error)
	Options(ctx context.Context, product int64) ([]Option, error)
}

// Shop answers from the cache and fills it.
type Shop struct {
	keys    *shopkeys.Keyspace
	catalog Catalog
}

// New makes a shop on a client.
func New(c *keywright.Client, catalog Catalog) *Shop { return &Shop{shopkeys.New(c), catalog} }

// Product reads a product: one round trip when it is cached, two when not. A
// cache that cannot be reached costs time, not the answer.
func (s *Shop) Product(ctx context.Context, id int64) (Product, error) {
	return through(ctx, s.keys.ProductDetail(id), func() (Product, error) { return s.catalog.Product(ctx, id) })
}

// Options reads the options of a product.
func (s *Shop) Options(ctx context.Context, product int64) ([]Option, error) {
	return through(ctx, s.keys.ProductOptions(product), func() ([]Option, error) { return s.catalog.Options(ctx, product) })
}

// through reads a value through its cache.
func through[T any](ctx context.Context, cache typed.String[json.RawMessage], load func() (T, error)) (v T, err error) {
	text, err := cache.Get(ctx)
	if err == nil && json.Unmarshal(text, &v) == nil {
		return v, nil
	}
	if v, err = load(); err != nil {
		return v, err
	}
	if text, err = json.Marshal(v); err == nil {
		_ = cache.Set(ctx, text) // the next reader tries again
	}
	return v, nil
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
		keywright.Queue(&b, s.keys.ProductOption(product, o.ID).Later().Set(text))
	}
	text, err := json.Marshal(options)
	if err != nil {
		return err
	}
	keywright.Queue(&b, s.keys.ProductOptions(product).Later().Set(text))
	return b.Run(ctx, s.keys.Client())
}

// Updated drops what a change of the product has made stale.
func (s *Shop) Updated(ctx context.Context, product int64) error {
	return s.keys.ProductUpdated(ctx, product)
}

// Sold counts units of a product on a day. The ranking gets its seven days with
// the first sale, in the same step.
func (s *Shop) Sold(ctx context.Context, product, units int64, day time.Time) error {
	_, err := s.keys.DailySales(day).Increase(ctx, product, float64(units))
	return err
}

// Popular gives the n best-selling products of the last days, the best first,
// ties by the lower id. It reads one ranking a day in one pipeline, and keeps
// the result for as long as the declaration says.
func (s *Shop) Popular(ctx context.Context, now time.Time, days, n int64) ([]int64, error) {
	return through(ctx, s.keys.Popular(days), func() ([]int64, error) {
		var b keywright.Batch
		tops := make([]*keywright.Pending[[]typed.Scored[int64, int64]], days)
		for i := range tops {
			tops[i] = keywright.Queue(&b, s.keys.DailySales(now.AddDate(0, 0, -i)).Later().Top(1000))
		}
		if err := b.Run(ctx, s.keys.Client()); err != nil {
			return nil, err
		}
		return best(tops, n)
	})
}

// best adds the days up.
func best(tops []*keywright.Pending[[]typed.Scored[int64, int64]], n int64) ([]int64, error) {
	sold := map[int64]int64{}
	for _, top := range tops {
		rows, err := top.Result()
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			sold[row.Member] += row.Score
		}
	}
	ids := make([]int64, 0, len(sold))
	for id := range sold {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Or(cmp.Compare(sold[b], sold[a]), cmp.Compare(a, b)) })
	return ids[:min(int64(len(ids)), n)], nil
}

// ErrUnknownProduct is what a Catalog answers for a product there is not.
var ErrUnknownProduct = errors.New("no such product")
