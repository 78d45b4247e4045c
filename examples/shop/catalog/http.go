package catalog

import (
	"net/http"
	"strconv"

	"github.com/keywright/keywright/examples/shop"
)

// Handler returns the catalog for shop.Remote.
func (m *Memory) Handler() http.Handler {
	r := shop.BareRoutes()
	r.On("GET /products/{id}", func(r *http.Request) (any, error) {
		return m.Product(r.Context(), id(r, "id"))
	})
	r.On("PUT /products/{id}", func(r *http.Request) (any, error) {
		return saved(r, func(p shop.Product) error { return m.SaveProduct(r.Context(), p) })
	})
	r.On("GET /products/{id}/options", func(r *http.Request) (any, error) {
		return m.Options(r.Context(), id(r, "id"))
	})
	r.On("GET /products/{id}/options/{option}", func(r *http.Request) (any, error) {
		return m.Option(r.Context(), id(r, "id"), id(r, "option"))
	})
	r.On("PUT /products/{id}/options/{option}", func(r *http.Request) (any, error) {
		return saved(r, func(f shop.Fenced[shop.Option]) error {
			return m.SaveOption(r.Context(), id(r, "id"), f.Value, f.Fence)
		})
	})
	r.On("GET /categories/{id}", func(r *http.Request) (any, error) { return m.Category(r.Context(), id(r, "id")) })
	r.On("GET /sales/{id}", func(r *http.Request) (any, error) { return m.Sale(r.Context(), id(r, "id")) })
	r.On("POST /sales", func(r *http.Request) (any, error) {
		f, err := shop.Body[shop.Fenced[shop.Order]](r)
		if err != nil {
			return nil, err
		}
		return m.Take(r.Context(), f.Value, f.Left, f.Day, f.Fence)
	})
	r.On("GET /coupons/{id}/{user}", func(r *http.Request) (any, error) {
		return m.Coupon(r.Context(), id(r, "id"), id(r, "user"))
	})
	r.On("PUT /coupons/{id}/{user}", func(r *http.Request) (any, error) {
		return saved(r, func(f shop.Fenced[int64]) error {
			return m.Issue(r.Context(), id(r, "id"), id(r, "user"), f.Left, f.Fence)
		})
	})
	r.On("GET /orders/{id}", func(r *http.Request) (any, error) { return m.Order(r.Context(), id(r, "id")) })
	r.On("PUT /orders/{id}", func(r *http.Request) (any, error) {
		return saved(r, func(f shop.Fenced[shop.Order]) error { return m.SaveOrder(r.Context(), f.Value, f.Fence) })
	})
	return r
}

// id returns a number of the path; 0, which nothing has, for what is none.
func id(r *http.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.PathValue(name), 10, 64)
	return n
}

// saved writes what a request brings.
func saved[T any](r *http.Request, save func(T) error) (any, error) {
	v, err := shop.Body[T](r)
	if err != nil {
		return nil, err
	}
	return map[string]any{}, save(v)
}
