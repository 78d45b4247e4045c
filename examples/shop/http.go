package shop

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/lock"
)

// Wait says how long a request waits for a lock at most.
const Wait = 10 * time.Second

// Routes holds requests and what answers them.
type Routes struct{ mux *http.ServeMux }

// NewRoutes makes routes that answer GET /health by asking Redis.
func NewRoutes(c *keywright.Client) Routes {
	r := Routes{http.NewServeMux()}
	r.On("GET /health", func(r *http.Request) (any, error) {
		raw := c.Raw()
		return map[string]string{"status": "healthy"}, raw.Do(r.Context(), raw.B().Ping().Build()).Error()
	})
	return r
}

// BareRoutes makes routes without a server of Redis.
func BareRoutes() Routes { return Routes{http.NewServeMux()} }

// ServeHTTP answers.
func (r Routes) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }

// On answers what matches a pattern with JSON.
func (r Routes) On(pattern string, fn func(*http.Request) (any, error)) {
	r.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		ctx, stop := context.WithTimeout(req.Context(), Wait)
		defer stop()
		out, err := fn(req.WithContext(ctx))
		reply(w, out, err)
	})
}

// Handler returns the products program.
func (p *Products) Handler() http.Handler {
	r := NewRoutes(p.keys.Client())
	r.On("GET /products/{product}", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) { return p.Product(r.Context(), id[0]) }, "product")
	})
	r.On("PUT /products/{product}", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) {
			v, err := Body[Product](r)
			if v.ID = id[0]; err != nil || !v.valid() {
				return nil, ErrAsked
			}
			return v, p.SaveProduct(r.Context(), v)
		}, "product")
	})
	r.On("GET /products/{product}/options", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) { return p.Options(r.Context(), id[0]) }, "product")
	})
	r.On("GET /products/{product}/options/{option}", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) {
			return p.Option(r.Context(), id[0], id[1])
		}, "product", "option")
	})
	r.On("PUT /products/{product}/options/{option}", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) {
			v, err := Body[Option](r)
			if v.ID = id[1]; err != nil || !v.valid() {
				return nil, ErrAsked
			}
			return v, p.SaveOption(r.Context(), id[0], v)
		}, "product", "option")
	})
	r.On("GET /categories/{category}", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) { return p.Category(r.Context(), id[0]) }, "category")
	})
	r.On("POST /take", func(r *http.Request) (any, error) {
		o, err := Body[Order](r)
		if err != nil {
			return nil, err
		}
		if !o.valid() {
			return nil, ErrAsked
		}
		return p.Take(r.Context(), o, time.Now())
	})
	p.rankings(r)
	return r
}

// rankings answers what is popular.
func (p *Products) rankings(r Routes) {
	r.On("GET /popular", func(r *http.Request) (any, error) {
		days, err1 := query(r, "days", 3)
		n, err2 := query(r, "n", 10)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return p.Popular(r.Context(), time.Now(), days, n)
	})
	r.On("GET /products/{product}/rank", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) {
			days, err := query(r, "days", 3)
			if err != nil {
				return nil, err
			}
			rank, sold, err := p.Rank(r.Context(), time.Now(), id[0], days)
			return map[string]int64{"product": id[0], "rank": rank, "sold": sold, "days": days}, err
		}, "product")
	})
}

// Handler returns the coupons program.
func (c *Coupons) Handler() http.Handler {
	r := NewRoutes(c.keys.Client())
	r.On("POST /coupons/{coupon}/issue", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) {
			to, err := Body[struct{ User int64 }](r)
			if err != nil || to.User < 1 {
				return nil, ErrAsked
			}
			left, err := c.Issue(r.Context(), id[0], to.User)
			return map[string]int64{"coupon": id[0], "user": to.User, "left": left}, err
		}, "coupon")
	})
	return r
}

// Handler returns the orders program.
func (s *Orders) Handler() http.Handler {
	r := NewRoutes(s.keys.Client())
	r.On("GET /orders/{order}", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) { return s.Order(r.Context(), id[0]) }, "order")
	})
	r.On("POST /orders/{order}", func(r *http.Request) (any, error) {
		return withIDs(r, func(id []int64) (any, error) {
			o, err := Body[Order](r)
			if o.ID = id[0]; err != nil || !o.valid() {
				return nil, ErrAsked
			}
			return s.Process(r.Context(), o)
		}, "order")
	})
	return r
}

func (p Product) valid() bool { return p.Name != "" && p.Price >= 0 && p.Category >= 0 }

func (o Option) valid() bool { return o.Name != "" && o.Stock >= 0 }

func (o Order) valid() bool {
	return o.ID > 0 && o.Product > 0 && o.Option > 0 && o.Units > 0 && o.State == ""
}

// ErrAsked is what cannot be read of a request.
var ErrAsked = errors.New("the request cannot be read")

// withIDs reads the numbers of a path.
func withIDs(r *http.Request, fn func(id []int64) (any, error), names ...string) (any, error) {
	ids := make([]int64, len(names))
	for i, name := range names {
		n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
		if err != nil || n < 1 {
			return nil, ErrAsked
		}
		ids[i] = n
	}
	return fn(ids)
}

func query(r *http.Request, name string, or int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return or, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, ErrAsked
	}
	return n, nil
}

// Body reads the JSON of a request.
func Body[T any](r *http.Request) (v T, err error) {
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 16<<10))
	in.DisallowUnknownFields()
	if in.Decode(&v) != nil || !errors.Is(in.Decode(new(struct{})), io.EOF) {
		return v, ErrAsked
	}
	return v, nil
}

// codes lists the errors that cross HTTP, and how.
var codes = []struct {
	err  error
	code int
	name string
}{
	{ErrAsked, http.StatusBadRequest, "bad_request"},
	{ErrUnknown, http.StatusNotFound, "unknown"},
	{ErrSoldOut, http.StatusGone, "sold_out"},
	{lock.ErrStale, http.StatusConflict, "stale"},
}

// failure represents the body of an error.
type failure struct {
	Error string `json:"error"`
}

// reply answers: 200, 400, 404, 409 for a process that was too slow, 410 for what is sold
// out, or 503 while Redis or the catalog cannot be asked.
func reply(w http.ResponseWriter, out any, err error) {
	code := http.StatusOK
	if err != nil {
		var failed *keywright.Error
		code, out = http.StatusServiceUnavailable, failure{"unavailable"}
		if errors.As(err, &failed) && failed.Class == keywright.Invalid {
			code, out = http.StatusBadRequest, failure{"bad_request"}
		}
		for _, c := range codes {
			if errors.Is(err, c.err) {
				code, out = c.code, failure{c.name}
			}
		}
		if code == http.StatusServiceUnavailable {
			slog.Warn("shop", "error", err)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(out); err != nil {
		slog.Debug("http", "error", err)
	}
}
