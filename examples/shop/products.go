package shop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/lock"
	"github.com/keywright/keywright/ranking"
)

// MaxPopular says how many popular products are kept, and asked for at most.
const MaxPopular = 100

// Products answers from the caches and fills them, takes from the stock, and counts sales.
type Products struct {
	keys    *shopkeys.Keyspace
	catalog Catalog
}

// NewProducts makes the products program on a client. A cache that cannot be reached, or that
// does not answer within patience (0: a quarter of a second), costs time, not the answer.
func NewProducts(c *keywright.Client, catalog Catalog, patience time.Duration) *Products {
	o := cache.Options{Down: cache.LoadThrough, Patience: patience}
	tuning := shopkeys.Tuning{ProductDetail: o, ProductOptions: o, ProductOption: o, Popular: o, Category: o}
	return &Products{shopkeys.NewTuned(c, tuning), catalog}
}

// Product reads a product: one round trip when it is cached. When it is not, one process
// asks the catalog, however many wait for it.
func (p *Products) Product(ctx context.Context, id int64) (Product, error) {
	return through(ctx, p.keys.ProductDetail(id), func(ctx context.Context) (Product, error) {
		return p.catalog.Product(ctx, id)
	})
}

// Options reads the list of a product's options.
func (p *Products) Options(ctx context.Context, product int64) ([]Listed, error) {
	return through(ctx, p.keys.ProductOptions(product), func(ctx context.Context) ([]Listed, error) {
		options, err := p.catalog.Options(ctx, product)
		list := make([]Listed, len(options))
		for i, o := range options {
			list[i] = Listed{o.ID, o.Name}
		}
		return list, err
	})
}

// Option reads one option with its stock.
func (p *Products) Option(ctx context.Context, product, option int64) (Option, error) {
	return through(ctx, p.keys.ProductOption(product, option), func(ctx context.Context) (Option, error) {
		return p.catalog.Option(ctx, product, option)
	})
}

// Category reads a category.
func (p *Products) Category(ctx context.Context, id int64) (Category, error) {
	return through(ctx, p.keys.Category(id), func(ctx context.Context) (Category, error) {
		return p.catalog.Category(ctx, id)
	})
}

// through reads JSON through its cache. What there is not is remembered for a moment, so
// that a wrong link does not reach the database each time.
func through[T any](
	ctx context.Context, item cache.Item[json.RawMessage], load func(context.Context) (T, error),
) (v T, err error) {
	text, err := item.GetOrLoad(ctx, func(ctx context.Context) (json.RawMessage, error) {
		loaded, err := load(ctx)
		if errors.Is(err, ErrUnknown) {
			return nil, keywright.ErrNotFound
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(loaded)
	})
	if errors.Is(err, keywright.ErrNotFound) {
		return v, ErrUnknown
	}
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}

// SaveProduct changes a product. What that makes stale is dropped, and a load that began
// before is not stored either. It is dropped after an error, too: the catalog may have written,
// and its answer is lost.
func (p *Products) SaveProduct(ctx context.Context, v Product) error {
	err := p.catalog.SaveProduct(ctx, v)
	ctx, stop := finish(ctx)
	defer stop()
	return errors.Join(err, p.keys.ProductUpdated(ctx, v.ID))
}

// finish is for what follows a write: it is done also for a caller that has gone.
func finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), Wait)
}

// SaveOption changes an option of a product, or adds it.
func (p *Products) SaveOption(ctx context.Context, product int64, o Option) error {
	return p.stock(ctx, o.ID, func(ctx context.Context, fence int64) error {
		err := p.catalog.SaveOption(ctx, product, o, fence)
		ctx, stop := finish(ctx)
		defer stop()
		return errors.Join(err, p.keys.OptionUpdated(ctx, product, o.ID))
	})
}

// stock runs fn under the lock of an option's stock.
func (p *Products) stock(ctx context.Context, option int64, fn func(ctx context.Context, fence int64) error) error {
	l := p.keys.ProductStock(option)
	return locked(ctx, l, fn, func(ctx context.Context) error {
		return p.keys.StockReleasedTopic(option).Publish(ctx, shopkeys.StockReleasedMessage{Lock: l.Name()})
	})
}

// Take takes the units of an order from the stock, once however often it is asked, and
// counts the sale. A process that was too slow and has lost the lock is refused by the
// catalog: its fencing token is too old.
func (p *Products) Take(ctx context.Context, o Order, now time.Time) (sale Sale, err error) {
	err = p.stock(ctx, o.Option, func(ctx context.Context, fence int64) error {
		sale, err = p.catalog.Sale(ctx, o.ID)
		if errors.Is(err, ErrUnknown) {
			left, err := p.left(ctx, o)
			if err != nil {
				return err // nothing is written, and nothing is stale
			}
			sale, err = p.catalog.Take(ctx, o, left, now.UTC().Format(time.DateOnly), fence)
			return p.sold(ctx, o, sale, err)
		}
		if err != nil {
			return err
		}
		return p.sold(ctx, o, sale, nil) // by a process that may have died before it did this
	})
	return sale, err
}

// left returns the stock that an order leaves, which has none yet.
func (p *Products) left(ctx context.Context, o Order) (int64, error) {
	option, err := p.catalog.Option(ctx, o.Product, o.Option)
	if err == nil && option.Stock < o.Units {
		err = ErrSoldOut
	}
	return option.Stock - o.Units, err
}

// sold drops what a sale makes stale, after an error of the catalog, too, as in SaveProduct, and
// counts the sale.
func (p *Products) sold(ctx context.Context, o Order, sale Sale, err error) error {
	ctx, stop := finish(ctx)
	defer stop()
	stale := p.keys.StockChanged(ctx, o.Product, o.Option)
	if err != nil {
		return errors.Join(err, stale)
	}
	return errors.Join(stale, p.count(ctx, o.Product, sale))
}

// count brings the ranking of a day to what the catalog has counted. It raises and never
// adds, so a sale that is reported twice, or late, counts once; the ranking gets its seven days
// with the first sale, in the same step.
func (p *Products) count(ctx context.Context, product int64, sale Sale) error {
	day, err := time.Parse(time.DateOnly, sale.Day)
	if err != nil {
		return err
	}
	board, err := p.keys.DailySalesBoard()
	if err != nil {
		return err
	}
	_, err = board.Raise(ctx, day, product, sale.Sold)
	return err
}

// Popular gives the n best-selling products of the last days (UTC), the best first, ties by
// member. The sum of the days is made once a minute, the answer once in five.
func (p *Products) Popular(ctx context.Context, now time.Time, days, n int64) ([]int64, error) {
	ids, err := through(ctx, p.keys.Popular(days), func(ctx context.Context) ([]int64, error) {
		sums, err := p.sums(now, days)
		if err != nil {
			return nil, err
		}
		rows, err := sums.Top(ctx, MaxPopular)
		if err != nil {
			return nil, err
		}
		ids := make([]int64, len(rows))
		for i, row := range rows {
			ids[i] = row.Member
		}
		return ids, nil
	})
	return ids[:min(max(n, 0), int64(len(ids)))], err
}

// Rank gives the place of a product in the sales of the last days, and how many were sold;
// ErrUnknown if none was.
func (p *Products) Rank(ctx context.Context, now time.Time, product, days int64) (rank, sold int64, err error) {
	sums, err := p.sums(now, days)
	if err != nil {
		return 0, 0, err
	}
	row, err := sums.Rank(ctx, product)
	if errors.Is(err, keywright.ErrNotFound) {
		err = ErrUnknown
	}
	return row.Rank, int64(row.Score), err
}

// sums returns the sales of the last days, added up.
func (p *Products) sums(now time.Time, days int64) (sums ranking.View[int64, float64], err error) {
	if _, err := shopkeys.PopularKey(days); err != nil { // 1 to 7: a ranking is kept for so long
		return sums, &keywright.Error{Class: keywright.Invalid, Op: "sales", Err: err}
	}
	windows, err := p.keys.DailySalesWindows(ranking.Same(int(days)))
	if err != nil {
		return sums, err
	}
	return windows.Ending(now.UTC()), nil
}

// locked runs fn while a lock is held, with its fencing token, gives it back and announces
// that. The announcement is a hint: a process that dies tells none, and its lock ends by its
// TTL.
func locked(
	ctx context.Context, l lock.Lock, fn func(ctx context.Context, fence int64) error,
	announce func(context.Context) error,
) error {
	lease, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	err = fn(lease.Context(), lease.Fence())
	ctx, stop := finish(ctx)
	defer stop()
	released := lease.Release(ctx)
	if released == nil {
		_ = announce(ctx)
	}
	return errors.Join(err, released)
}
