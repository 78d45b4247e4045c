package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Remote asks another program of the shop over HTTP: the catalog, or for stock the products.
type Remote struct {
	URL    string
	Client *http.Client
}

// ask sends a request, and gives the error that the other side had.
func (r Remote) ask(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := r.Client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	in2 := json.NewDecoder(http.MaxBytesReader(nil, answer.Body, 1<<20))
	if answer.StatusCode == http.StatusOK {
		return in2.Decode(out)
	}
	var failed failure
	_ = in2.Decode(&failed)
	for _, c := range codes {
		if failed.Error == c.name {
			return c.err
		}
	}
	return fmt.Errorf("%s %s: %s", method, path, answer.Status)
}

func get[T any](ctx context.Context, r Remote, format string, ids ...any) (v T, err error) {
	return v, r.ask(ctx, http.MethodGet, fmt.Sprintf(format, ids...), nil, &v)
}

// Fenced represents a write under a lock.
type Fenced[T any] struct {
	Value T      `json:"value"`
	Left  int64  `json:"left,omitempty"`
	Day   string `json:"day,omitempty"`
	Fence int64  `json:"fence"`
}

// Product asks the catalog.
func (r Remote) Product(ctx context.Context, id int64) (Product, error) {
	return get[Product](ctx, r, "/products/%d", id)
}

// SaveProduct tells the catalog.
func (r Remote) SaveProduct(ctx context.Context, p Product) error {
	return r.ask(ctx, http.MethodPut, fmt.Sprint("/products/", p.ID), p, &p)
}

// Options asks the catalog.
func (r Remote) Options(ctx context.Context, product int64) ([]Option, error) {
	return get[[]Option](ctx, r, "/products/%d/options", product)
}

// Option asks the catalog.
func (r Remote) Option(ctx context.Context, product, option int64) (Option, error) {
	return get[Option](ctx, r, "/products/%d/options/%d", product, option)
}

// SaveOption tells the catalog.
func (r Remote) SaveOption(ctx context.Context, product int64, o Option, fence int64) error {
	path := fmt.Sprintf("/products/%d/options/%d", product, o.ID)
	return r.ask(ctx, http.MethodPut, path, Fenced[Option]{Value: o, Fence: fence}, &o)
}

// Category asks the catalog.
func (r Remote) Category(ctx context.Context, id int64) (Category, error) {
	return get[Category](ctx, r, "/categories/%d", id)
}

// Sale asks the catalog.
func (r Remote) Sale(ctx context.Context, order int64) (Sale, error) {
	return get[Sale](ctx, r, "/sales/%d", order)
}

// Take tells the catalog.
func (r Remote) Take(ctx context.Context, o Order, left int64, day string, fence int64) (s Sale, err error) {
	return s, r.ask(ctx, http.MethodPost, "/sales", Fenced[Order]{o, left, day, fence}, &s)
}

// Coupon asks the catalog.
func (r Remote) Coupon(ctx context.Context, coupon, user int64) (Coupon, error) {
	return get[Coupon](ctx, r, "/coupons/%d/%d", coupon, user)
}

// Issue tells the catalog.
func (r Remote) Issue(ctx context.Context, coupon, user, left, fence int64) error {
	var out any
	path := fmt.Sprintf("/coupons/%d/%d", coupon, user)
	return r.ask(ctx, http.MethodPut, path, Fenced[int64]{Value: user, Left: left, Fence: fence}, &out)
}

// Order asks the catalog.
func (r Remote) Order(ctx context.Context, id int64) (Order, error) {
	return get[Order](ctx, r, "/orders/%d", id)
}

// SaveOrder tells the catalog.
func (r Remote) SaveOrder(ctx context.Context, o Order, fence int64) error {
	return r.ask(ctx, http.MethodPut, fmt.Sprint("/orders/", o.ID), Fenced[Order]{Value: o, Fence: fence}, &o)
}

// RemoteStock represents the stock of the products program.
type RemoteStock struct{ Remote }

// Take asks the products program.
func (r RemoteStock) Take(ctx context.Context, o Order) (s Sale, err error) {
	return s, r.ask(ctx, http.MethodPost, "/take", o, &s)
}
