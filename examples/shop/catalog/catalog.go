// Package catalog is a database for the shop, in memory: for tests, and for trying the shop.
// Like a database it takes each write in one step, and refuses a fencing token that is older
// than one it has seen.
package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/lock"
)

// Memory holds it all; New makes one.
type Memory struct {
	mu         sync.Mutex
	products   map[int64]shop.Product
	options    map[int64]map[int64]shop.Option
	categories map[int64]shop.Category
	left       map[int64]int64 // of coupons
	issued     map[int64]map[int64]bool
	orders     map[int64]shop.Order
	sales      map[int64]shop.Sale
	sold       map[string]int64
	fences     map[string]int64
}

// New makes a catalog without products.
func New() *Memory {
	return &Memory{
		products: map[int64]shop.Product{}, options: map[int64]map[int64]shop.Option{}, categories: map[int64]shop.Category{},
		left: map[int64]int64{}, issued: map[int64]map[int64]bool{}, orders: map[int64]shop.Order{},
		sales: map[int64]shop.Sale{}, sold: map[string]int64{}, fences: map[string]int64{},
	}
}

// Add puts a product with its options there.
func (m *Memory) Add(p shop.Product, c shop.Category, options ...shop.Option) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.Category = c.ID
	m.products[p.ID], m.categories[c.ID], m.options[p.ID] = p, c, map[int64]shop.Option{}
	for _, o := range options {
		m.options[p.ID][o.ID] = o
	}
}

// AddCoupons sets how many of a coupon are left.
func (m *Memory) AddCoupons(coupon, left int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left[coupon], m.issued[coupon] = left, map[int64]bool{}
}

// Issued says how many users have a coupon.
func (m *Memory) Issued(coupon int64) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.issued[coupon])
}

// readRow returns one row.
func readRow[K comparable, V any](m *Memory, in map[K]V, key K) (V, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, there := in[key]
	if !there {
		return v, shop.ErrUnknown
	}
	return v, nil
}

// write returns one transaction of a holder of a lock.
func (m *Memory) write(resource string, id, fence int64, fn func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	resource = fmt.Sprint(resource, " ", id)
	if fence < m.fences[resource] {
		return lock.ErrStale
	}
	m.fences[resource] = fence
	return fn()
}

// Product gives a product.
func (m *Memory) Product(_ context.Context, id int64) (shop.Product, error) {
	return readRow(m, m.products, id)
}

// SaveProduct changes a product, or adds it.
func (m *Memory) SaveProduct(_ context.Context, p shop.Product) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.products[p.ID] = p
	if m.options[p.ID] == nil {
		m.options[p.ID] = map[int64]shop.Option{}
	}
	return nil
}

// Options gives the options of a product, by id.
func (m *Memory) Options(_ context.Context, product int64) ([]shop.Option, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	options, there := m.options[product]
	if !there {
		return nil, shop.ErrUnknown
	}
	list := make([]shop.Option, 0, len(options))
	for _, id := range slices.Sorted(maps.Keys(options)) {
		list = append(list, options[id])
	}
	return list, nil
}

// Option gives one option.
func (m *Memory) Option(_ context.Context, product, option int64) (shop.Option, error) {
	m.mu.Lock()
	options := m.options[product]
	o, there := options[option]
	m.mu.Unlock()
	if !there {
		return o, shop.ErrUnknown
	}
	return o, nil
}

// SaveOption changes an option, or adds it.
func (m *Memory) SaveOption(_ context.Context, product int64, o shop.Option, fence int64) error {
	return m.write("stock", o.ID, fence, func() error {
		if m.options[product] == nil {
			return shop.ErrUnknown
		}
		m.options[product][o.ID] = o
		return nil
	})
}

// Category gives a category.
func (m *Memory) Category(_ context.Context, id int64) (shop.Category, error) {
	return readRow(m, m.categories, id)
}

// Sale gives what an order has taken.
func (m *Memory) Sale(_ context.Context, order int64) (shop.Sale, error) {
	return readRow(m, m.sales, order)
}

// Take sets the stock of an option and counts the sale, once for an order.
func (m *Memory) Take(
	_ context.Context, o shop.Order, left int64, day string, fence int64,
) (sale shop.Sale, err error) {
	err = m.write("stock", o.Option, fence, func() error {
		if before, there := m.sales[o.ID]; there {
			sale = before
			return nil
		}
		option, there := m.options[o.Product][o.Option]
		if !there {
			return shop.ErrUnknown
		}
		option.Stock = left
		m.options[o.Product][o.Option] = option
		count := fmt.Sprint(day, " ", o.Product)
		m.sold[count] += o.Units
		sale = shop.Sale{Order: o.ID, Left: left, Day: day, Sold: m.sold[count]}
		m.sales[o.ID] = sale
		return nil
	})
	return sale, err
}

// Coupon says how many are left, and whether a user has one.
func (m *Memory) Coupon(_ context.Context, coupon, user int64) (shop.Coupon, error) {
	left, err := readRow(m, m.left, coupon)
	m.mu.Lock()
	defer m.mu.Unlock()
	return shop.Coupon{Left: left, Has: m.issued[coupon][user]}, err
}

// Issue gives a user a coupon, and sets how many are left.
func (m *Memory) Issue(_ context.Context, coupon, user, left, fence int64) error {
	return m.write("coupon", coupon, fence, func() error {
		if m.issued[coupon] == nil {
			return shop.ErrUnknown
		}
		m.issued[coupon][user], m.left[coupon] = true, left
		return nil
	})
}

// Order gives an order.
func (m *Memory) Order(_ context.Context, id int64) (shop.Order, error) {
	return readRow(m, m.orders, id)
}

// SaveOrder notes how an order ended.
func (m *Memory) SaveOrder(_ context.Context, o shop.Order, fence int64) error {
	return m.write("order", o.ID, fence, func() error { m.orders[o.ID] = o; return nil })
}
