package shop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// order is one of a product of stocked, of its option with many units.
func order(id, product, units int64) shop.Order {
	return shop.Order{ID: id, Product: product, Option: 100*product + 1, Units: units}
}

// TestCaches: what is cached is asked for once, and the database is what is cached.
func TestCaches(t *testing.T) {
	everywhere(t, func(t *testing.T, url string, servers []*keywrighttest.Server) {
		facts := stocked()
		p := shop.NewProducts(open(t, url), facts, 0)
		ctx := t.Context()
		for range 3 {
			for id := int64(1); id <= 20; id++ {
				product, err1 := p.Product(ctx, id)
				list, err2 := p.Options(ctx, id)
				option, err3 := p.Option(ctx, id, 100*id+2)
				must(t, errors.Join(err1, err2, err3))
				if product.Price != 100*id || len(list) != 2 || list[1] != (shop.Listed{ID: 100*id + 2, Name: "blue"}) ||
					option.Stock != 3 {
					t.Fatalf("%+v %+v %+v", product, list, option)
				}
			}
			if c, err := p.Category(ctx, 12); err != nil || c.Name != "clothes" {
				t.Fatalf("%+v %v", c, err)
			}
		}
		if n := facts.asked.Load(); n != 61 {
			t.Errorf("the catalog was asked %d times for 61 things", n)
		}
		facts.asked.Store(0)
		for range 2 { // what there is not is remembered, too
			_, err1 := p.Product(ctx, 5000)
			_, err2 := p.Options(ctx, 5000)
			_, err3 := p.Option(ctx, 5000, 1)
			_, err4 := p.Category(ctx, 5000)
			for _, err := range []error{err1, err2, err3, err4} {
				if !errors.Is(err, shop.ErrUnknown) {
					t.Errorf("%v", err)
				}
			}
		}
		if n := facts.asked.Load(); n != 4 {
			t.Errorf("the catalog was asked %d times for 4 things that there are not", n)
		}
		if len(servers) == 1 {
			if ms := servers[0].Do("PTTL", "cache:product:category:12").(int64); ms > 3_600_000 || ms < 1_800_000 {
				t.Errorf("a category lives %d ms", ms)
			}
		}
		keysAreDeclared(t, servers, 60)
	})
}

// TestInvalidation: each change drops what it makes stale, and nothing else.
func TestInvalidation(t *testing.T) {
	everywhere(t, func(t *testing.T, url string, _ []*keywrighttest.Server) {
		facts, ctx := stocked(), t.Context()
		p := shop.NewProducts(open(t, url), facts, 0)
		reads := map[string]func() error{
			"detail":  func() error { _, err := p.Product(ctx, 7); return err },
			"options": func() error { _, err := p.Options(ctx, 7); return err },
			"option":  func() error { _, err := p.Option(ctx, 7, 701); return err },
			"other":   func() error { _, err := p.Option(ctx, 7, 702); return err },
			"another": func() error { _, err := p.Product(ctx, 8); return err },
		}
		for _, c := range []struct {
			name   string
			change func() error
			stale  string
		}{
			{"a product changes", func() error { return p.SaveProduct(ctx, shop.Product{ID: 7, Name: "new", Price: 7}) },
				"detail options"},
			{"an option changes", func() error { return p.SaveOption(ctx, 7, shop.Option{ID: 701, Name: "new", Stock: 50}) },
				"option options"},
			{"the stock changes", func() error { _, err := p.Take(ctx, order(1, 7, 2), noon); return err }, "option"},
			{"the order is asked for again", func() error { _, err := p.Take(ctx, order(1, 7, 2), noon); return err }, "option"},
			{"it is sold out", func() error { return is(shop.ErrSoldOut)(p.Take(ctx, order(2, 7, 1_000_000), noon)) }, ""},
			{"there is none", func() error {
				return is(shop.ErrUnknown)(p.Take(ctx, shop.Order{ID: 3, Product: 7, Option: 799, Units: 1}, noon))
			}, ""},
		} {
			for _, read := range reads { // all is cached
				must(t, read())
			}
			must(t, c.change())
			var stale []string
			for name, read := range reads {
				before := facts.asked.Load()
				must(t, read())
				if facts.asked.Load() > before {
					stale = append(stale, name)
				}
			}
			slices.Sort(stale)
			if got := strings.Join(stale, " "); got != c.stale {
				t.Errorf("%s: stale are %s, should be %s", c.name, got, c.stale)
			}
		}
		product, err1 := p.Product(ctx, 7)
		list, err2 := p.Options(ctx, 7)
		option, err3 := p.Option(ctx, 7, 701)
		if err := errors.Join(err1, err2, err3); err != nil || product.Name != "new" || list[0].Name != "new" ||
			option.Stock != 48 {
			t.Errorf("%+v %+v %+v %v", product, list, option, err)
		}
	})
}

// is takes one error of a sale for none, and any other for one.
func is(want error) func(shop.Sale, error) error {
	return func(_ shop.Sale, err error) error {
		if errors.Is(err, want) {
			return nil
		}
		return fmt.Errorf("instead of %w: %w", want, err)
	}
}

// leaving represents a catalog that has written when the client of the request has gone; its answer may
// be lost, too.
type leaving struct {
	*counted
	leave func()
	lost  error
}

func (l leaving) SaveProduct(ctx context.Context, p shop.Product) error {
	defer l.leave()
	return errors.Join(l.counted.SaveProduct(ctx, p), l.lost)
}

func (l leaving) SaveOption(ctx context.Context, product int64, o shop.Option, fence int64) error {
	defer l.leave()
	return errors.Join(l.counted.SaveOption(ctx, product, o, fence), l.lost)
}

func (l leaving) Take(ctx context.Context, o shop.Order, left int64, day string, fence int64) (shop.Sale, error) {
	defer l.leave()
	sale, err := l.counted.Take(ctx, o, left, day, fence)
	return sale, errors.Join(err, l.lost)
}

// TestClientLeaves: what is written to the catalog is seen, also when the client of the request
// has gone by then, or the catalog's answer is lost; and its sale is counted.
func TestClientLeaves(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		for name, lost := range map[string]error{"the client leaves": nil, "the answer is lost": errors.New("lost")} {
			c, facts, ctx := open(t, keywrighttest.Start(t, brand).URL()), stocked(), t.Context()
			reader := shop.NewProducts(c, facts, 0)
			look := func() string {
				product, err1 := reader.Product(ctx, 7)
				list, err2 := reader.Options(ctx, 7)
				option, err3 := reader.Option(ctx, 7, 701)
				must(t, errors.Join(err1, err2, err3))
				return fmt.Sprint(product.Name, " ", list[0].Name, " ", option.Name, " ", option.Stock)
			}
			look() // all is cached
			for _, change := range []struct {
				do   func(context.Context, *shop.Products) error
				want string
			}{
				{func(ctx context.Context, p *shop.Products) error {
					return p.SaveProduct(ctx, shop.Product{ID: 7, Name: "new"})
				}, "new red red 10000"},
				{func(ctx context.Context, p *shop.Products) error {
					return p.SaveOption(ctx, 7, shop.Option{ID: 701, Name: "blue", Stock: 9})
				}, "new blue blue 9"},
				{func(ctx context.Context, p *shop.Products) error {
					_, err := p.Take(ctx, order(1, 7, 2), noon)
					return err
				}, "new blue blue 7"},
			} {
				asked, leave := context.WithCancel(ctx)
				if err := change.do(asked, shop.NewProducts(c, leaving{facts, leave, lost}, 0)); !errors.Is(err, lost) {
					t.Errorf("%s: %v", name, err)
				}
				if got := look(); got != change.want {
					t.Errorf("%s: the shop shows %s, the catalog has %s", name, got, change.want)
				}
			}
			_, err := reader.Take(ctx, order(1, 7, 2), noon) // asked again, it is counted, once
			must(t, err)
			if _, sold, err := reader.Rank(ctx, noon, 7, 1); err != nil || sold != 2 {
				t.Errorf("%s: %d are counted, %v", name, sold, err)
			}
		}
	})
}

// TestSales: sales of days are added up; a sale that is reported again counts once; the rank of a
// product is that over the days that were asked for.
func TestSales(t *testing.T) {
	everywhere(t, func(t *testing.T, url string, servers []*keywrighttest.Server) {
		facts, ctx := stocked(), t.Context()
		c := open(t, url)
		p := shop.NewProducts(c, facts, 0)
		for range 2 { // the second time is after lost replies
			for day := range int64(3) {
				for id := int64(1); id <= 9; id++ {
					_, err := p.Take(ctx, order(100*day+id, id, id*(day+1)), noon.AddDate(0, 0, -int(day)))
					must(t, err)
				}
			}
			_, err := p.Take(ctx, order(1000, 2, 1000), noon)
			must(t, err)
		}
		for _, want := range []struct{ product, days, rank, sold int64 }{{2, 3, 1, 1012}, {9, 3, 2, 54}, {9, 1, 2, 9},
			{1, 3, 9, 6}, {1, 7, 9, 6}} {
			rank, sold, err := p.Rank(ctx, noon, want.product, want.days)
			if err != nil || rank != want.rank || sold != want.sold {
				t.Errorf("product %d over %d days: rank %d, sold %d, %v", want.product, want.days, rank, sold, err)
			}
		}
		if _, _, err := p.Rank(ctx, noon, 20, 3); !errors.Is(err, shop.ErrUnknown) {
			t.Errorf("the rank of what was never sold: %v", err)
		}
		for _, days := range []int64{-1, 0, 8, 1 << 40} {
			if _, _, err := p.Rank(ctx, noon, 2, days); err == nil {
				t.Errorf("a rank over %d days", days)
			}
			if _, err := p.Popular(ctx, noon, days, 3); err == nil {
				t.Errorf("popular over %d days", days)
			}
		}
		// however many the first one asked for
		for n, want := range map[int64]string{3: "[2 9 8]", 1: "[2]", 1000: "[2 9 8 7 6 5 4 3 1]"} {
			if popular, err := p.Popular(ctx, noon, 3, n); err != nil || fmt.Sprint(popular) != want {
				t.Errorf("popular: %v %v", popular, err)
			}
		}
		left, err := shopkeys.New(c).DailySales(noon).TTL().Do(ctx)
		if err != nil || left <= 0 || left > 7*24*time.Hour {
			t.Errorf("a ranking lives %v, %v", left, err)
		}
		keysAreDeclared(t, servers, 5)
	})
}

// keysAreDeclared: every key on the servers is one of the shop's, and has a TTL.
func keysAreDeclared(t *testing.T, servers []*keywrighttest.Server, least int) {
	t.Helper()
	seen := 0
	for _, s := range servers {
		for _, k := range s.Do("SCAN", "0", "COUNT", "10000").([]any)[1].([]any) {
			seen++
			if ms := s.Do("PTTL", k.(string)).(int64); ms < 1 && s.Do("EXISTS", k.(string)) == int64(1) {
				t.Errorf("%s has the TTL %d", k, ms)
			}
		}
		for line := range strings.Lines(sitetest.Keywright(t, s.URL(), "ls", "--undeclared", "-o", "jsonl", "--quiet",
			"--progress", "none")) {
			t.Errorf("not declared: %s", line)
		}
	}
	if seen < least {
		t.Errorf("only %d keys", seen)
	}
}

// TestOrders: many processes are asked for the same orders at the same time; each is
// processed once, nothing is sold that is not there, and the releases are received.
func TestOrders(t *testing.T) {
	everywhere(t, func(t *testing.T, url string, _ []*keywrighttest.Server) {
		facts := stocked()
		var mu sync.Mutex
		heard := map[string]int{}
		stop, err := shop.Releases(t.Context(), open(t, url), func(lock string, err error) {
			mu.Lock()
			defer mu.Unlock()
			heard[lock]++
			if err != nil {
				t.Error(err)
			}
		})
		must(t, err)
		defer stop()
		var all []*shop.Orders
		for range 3 {
			c := open(t, url)
			all = append(all, shop.NewOrders(c, facts, here{shop.NewProducts(c, facts, 0)}))
		}
		var wg sync.WaitGroup
		var done, soldOut atomic.Int64
		for i := range int64(30) {
			wg.Go(func() { // each of ten orders three times; option 302 has three units
				o, err := all[i%3].Process(t.Context(), shop.Order{ID: 1 + i/3, Product: 3, Option: 302, Units: 1})
				if err != nil {
					t.Error(err)
				}
				switch o.State {
				case shop.Done:
					done.Add(1)
				case shop.SoldOut:
					soldOut.Add(1)
				}
			})
		}
		wg.Wait()
		if option, _ := facts.Option(t.Context(), 3, 302); done.Load() != 9 || soldOut.Load() != 21 || option.Stock != 0 {
			t.Errorf("%d done, %d sold out, %d left", done.Load(), soldOut.Load(), option.Stock)
		}
		await(t, "the locks of all orders and of the stock are heard", func() bool {
			mu.Lock()
			defer mu.Unlock()
			for id := 1; id <= 10; id++ {
				if heard[fmt.Sprint("lock:order:process:", id)] == 0 {
					return false
				}
			}
			return heard["lock:product:stock:302"] > 0
		})
	})
}

// here represents the products program in this process.
type here struct{ *shop.Products }

func (h here) Take(ctx context.Context, o shop.Order) (shop.Sale, error) {
	return h.Products.Take(ctx, o, noon)
}

// TestCoupons: many users and processes want twenty coupons: each is issued once, and others
// get it on both channels that the page names.
func TestCoupons(t *testing.T) {
	everywhere(t, func(t *testing.T, url string, _ []*keywrighttest.Server) {
		facts, c := stocked(), open(t, url)
		own, general := make(chan string, 1000), make(chan string, 1000)
		for channel, to := range map[string]chan string{"pubsub:lock:coupon:issue:7": own,
			"pubsub:lock:release:lock-coupon-issue-7": general} {
			stop, err := c.Subscribe(t.Context(), channel, keywright.Listener{Message: func(text string) { to <- text }})
			must(t, err)
			defer stop()
		}
		var all []*shop.Coupons
		for range 4 {
			all = append(all, shop.NewCoupons(open(t, url), facts))
		}
		var wg sync.WaitGroup
		var soldOut atomic.Int64
		for i := range int64(80) {
			wg.Go(func() { // each of forty users twice
				switch _, err := all[i%4].Issue(t.Context(), 7, 1+i/2); {
				case errors.Is(err, shop.ErrSoldOut):
					soldOut.Add(1)
				case err != nil:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if facts.Issued(7) != 20 || soldOut.Load() != 40 {
			t.Errorf("%d issued, %d sold out", facts.Issued(7), soldOut.Load())
		}
		if text := <-own; text == "" {
			t.Error("nothing was announced")
		}
		if text := <-general; !strings.Contains(text, `"lock":"lock:coupon:issue:7"`) {
			t.Errorf("announced was %s", text)
		}
		if _, err := all[0].Issue(t.Context(), 8, 1); !errors.Is(err, shop.ErrUnknown) {
			t.Errorf("a coupon that there is not: %v", err)
		}
	})
}

// TestColdProduct: however many ask for a product that none has asked for, the catalog is
// asked once; and once for one that there is not.
func TestColdProduct(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		url, facts := keywrighttest.Start(t, brand).URL(), stocked()
		var all []*shop.Products
		for range 4 {
			all = append(all, shop.NewProducts(open(t, url), facts, time.Minute)) // a slow machine is not a server that is away
		}
		for _, id := range []int64{1, 5000} {
			facts.asked.Store(0)
			var wg sync.WaitGroup
			for i := range 1000 {
				wg.Go(func() {
					if _, err := all[i%4].Product(t.Context(), id); err != nil && (id == 1 || !errors.Is(err, shop.ErrUnknown)) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if n := facts.asked.Load(); n != 1 {
				t.Errorf("product %d: the catalog was asked %d times", id, n)
			}
		}
	})
}

// TestFailover: the primary dies under load and the shop goes on by itself; its readers
// notice nothing, and what was sold before is still counted.
func TestFailover(t *testing.T) {
	gate.Skip(t, "sentinels choose another primary")
	s := keywrighttest.StartSentinel(t, keywrighttest.Redis, 2, 3)
	facts := stocked()
	p := shop.NewProducts(open(t, s.URL()), facts, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for id := range int64(10) {
		_, err := p.Take(ctx, order(id+1, 1, 1), noon)
		must(t, err)
	}
	s.Primary.Copied(s.Replicas...)
	s.Primary.Kill()
	for id := range int64(20) {
		if _, err := p.Product(ctx, id+1); err != nil {
			t.Fatalf("a reader noticed: %v", err)
		}
	}
	for {
		_, err := p.Take(ctx, order(11, 1, 5), noon) // it may be asked for again: it takes once
		if err == nil {
			break
		}
		if class, ok := keywright.ClassOf(err); ctx.Err() != nil || !ok || class == keywright.Invalid ||
			class == keywright.Refused {
			t.Fatal(err)
		}
	}
	if rank, sold, err := p.Rank(ctx, noon, 1, 1); err != nil || rank != 1 || sold != 15 {
		t.Errorf("%d %d %v", rank, sold, err)
	}
}

// TestByHand: the guard refuses what is written past the generated code.
func TestByHand(t *testing.T) {
	raw := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL()).Raw()
	err := raw.Do(t.Context(), raw.B().Set().Key("cache:product:detail:1").Value("x").Build()).Error()
	if err == nil || !strings.Contains(err.Error(), "without a TTL") || !strings.Contains(err.Error(), "shop_test.go:") {
		t.Errorf("%v", err)
	}
}
