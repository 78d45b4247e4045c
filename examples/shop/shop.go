// Package shop is the shop's use of its Redis keys, through generated code only (package
// shopkeys). It has three programs, each with a user of its own: Products (caches, stock,
// rankings), Coupons and Orders. What the shop knows for good is in a Catalog, its database.
//
// No key, type or TTL is written here by hand; a test runs it with a guard that would
// refuse it.
package shop

import (
	"context"
	"errors"
)

// Product describes what a product's page shows.
type Product struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Price    int64  `json:"price"`
	Category int64  `json:"category,omitempty"`
}

// Option represents one way to buy a product.
type Option struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Stock int64  `json:"stock"`
}

// Listed represents an option in the list of a product. It has no stock: a change of the stock
// invalidates the option, not the list.
type Listed struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Category represents a group of products.
type Category struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Order represents one line of a purchase, under a number that its customer's page has drawn.
type Order struct {
	ID      int64  `json:"id"`
	Product int64  `json:"product"`
	Option  int64  `json:"option"`
	Units   int64  `json:"units"`
	State   string `json:"state,omitempty"` // Done or SoldOut
}

// The states of an order that was processed.
const (
	Done    = "done"
	SoldOut = "sold_out"
)

// Sale describes what an order took from the stock.
type Sale struct {
	Order int64  `json:"order"`
	Left  int64  `json:"left"` // of the option, after it
	Day   string `json:"day"`
	Sold  int64  `json:"sold"` // of the product on that day, so far
}

// Coupon describes what there is of a coupon, and whether a user has one.
type Coupon struct {
	Left int64 `json:"left"`
	Has  bool  `json:"has"`
}

// Catalog represents the database, as the products program sees it. What is written under a lock
// carries the lock's fencing token: one that is older than the newest that was seen is
// refused (lock.ErrStale), as UPDATE … WHERE id = $1 AND fence <= $2 does.
type Catalog interface {
	Product(ctx context.Context, id int64) (Product, error)
	SaveProduct(ctx context.Context, p Product) error
	Options(ctx context.Context, product int64) ([]Option, error)
	Option(ctx context.Context, product, option int64) (Option, error)
	SaveOption(ctx context.Context, product int64, o Option, fence int64) error
	Category(ctx context.Context, id int64) (Category, error)
	// Sale gives what an order has taken; ErrUnknown if it has not.
	Sale(ctx context.Context, order int64) (Sale, error)
	// Take sets the stock of the order's option and counts the sale of a day, in one step.
	// An order that has taken before gets that sale.
	Take(ctx context.Context, o Order, left int64, day string, fence int64) (Sale, error)
}

// CouponStore represents the database, as the coupons program sees it.
type CouponStore interface {
	Coupon(ctx context.Context, coupon, user int64) (Coupon, error)
	// Issue gives a user a coupon and sets how many are left.
	Issue(ctx context.Context, coupon, user, left, fence int64) error
}

// OrderStore represents the database, as the orders program sees it.
type OrderStore interface {
	Order(ctx context.Context, id int64) (Order, error)
	SaveOrder(ctx context.Context, o Order, fence int64) error
}

// What a database answers.
var (
	ErrUnknown = errors.New("there is no such thing")
	ErrSoldOut = errors.New("nothing is left")
)
