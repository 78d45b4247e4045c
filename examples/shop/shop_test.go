package shop_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/guard"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// catalog counts how often it is asked.
type catalog struct {
	asked atomic.Int64

	mu      sync.Mutex
	left    int64 // coupons
	fence   int64 // the newest that was seen
	issued  map[int64]bool
	issuing atomic.Int64
	alone   atomic.Bool // two were never issued at the same time
}

var errSoldOut = errors.New("no coupon is left")

func (c *catalog) Issue(_ context.Context, _, user, fence int64) error {
	if c.issuing.Add(1) > 1 {
		c.alone.Store(false)
	}
	defer c.issuing.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if fence < c.fence {
		return lock.ErrStale
	}
	c.fence = fence
	if c.left == 0 {
		return errSoldOut
	}
	c.left--
	c.issued[user] = true
	return nil
}

func (c *catalog) Product(_ context.Context, id int64) (shop.Product, error) {
	c.asked.Add(1)
	if id > 1000 {
		return shop.Product{}, shop.ErrUnknownProduct
	}
	return shop.Product{ID: id, Name: fmt.Sprint("상품 ", id), Price: 100 * id}, nil
}

func (c *catalog) Options(_ context.Context, product int64) ([]shop.Option, error) {
	c.asked.Add(1)
	return []shop.Option{{ID: 1, Name: "red", Stock: 3}, {ID: 2, Name: "blue", Stock: product}}, nil
}

// open is the shop behind a guard that refuses whatever is not declared.
func open(t *testing.T, url string) (*shop.Shop, *catalog, *keywright.Client) {
	t.Helper()
	ks, _ := keyspace.Load(os.DirFS("."), "keyspace.yaml")
	g, err := guard.New(ks, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := keywright.Open(t.Context(), url, keywright.Options{Wrap: g.Wrap, Timeout: time.Second, Attempts: 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	facts := &catalog{left: 20, issued: map[int64]bool{}}
	facts.alone.Store(true)
	return shop.New(c, facts), facts, c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestShop(t *testing.T) {
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			use(t, s.URL())
			keysAreDeclared(t, []*keywrighttest.Server{s})
		})
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			c := keywrighttest.StartCluster(t, brand, 3, 0)
			use(t, c.URL())
			keysAreDeclared(t, c.Nodes)
		})
	}
}

// use is a day in the shop.
func use(t *testing.T, url string) {
	s, facts, c := open(t, url)
	ctx, now := t.Context(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for range 3 {
		for id := int64(1); id <= 20; id++ {
			p, err := s.Product(ctx, id)
			must(t, err)
			if p.Price != 100*id {
				t.Fatalf("%+v", p)
			}
			options, err := s.Options(ctx, id)
			must(t, err)
			if len(options) != 2 || options[1].Stock != id {
				t.Fatalf("%+v", options)
			}
		}
	}
	if n := facts.asked.Load(); n != 40 {
		t.Errorf("the catalog was asked %d times for 40 things", n)
	}
	must(t, s.PutOptions(ctx, 7, []shop.Option{{ID: 1, Name: "new", Stock: 9}}))
	if options, err := s.Options(ctx, 7); err != nil || options[0].Name != "new" {
		t.Errorf("%+v %v", options, err)
	}
	must(t, s.Updated(ctx, 7))
	if options, err := s.Options(ctx, 7); err != nil || options[0].Name != "red" {
		t.Errorf("after the update: %+v %v", options, err)
	}
	if _, err := s.Product(ctx, 5000); err != shop.ErrUnknownProduct {
		t.Errorf("%v", err)
	}
	for day := range 3 {
		for id := int64(1); id <= 9; id++ {
			must(t, s.Sold(ctx, id, id*int64(day+1), now.AddDate(0, 0, -day)))
		}
	}
	must(t, s.Sold(ctx, 2, 1000, now))
	popular, err := s.Popular(ctx, now, 3, 3)
	must(t, err)
	if fmt.Sprint(popular) != "[2 9 8]" {
		t.Errorf("popular: %v", popular)
	}
	left, expires, err := shopkeys.New(c).DailySales(now).TTL(ctx)
	if err != nil || !expires || left > 7*24*time.Hour {
		t.Errorf("a ranking lives %v (%t), %v", left, expires, err)
	}
}

// keysAreDeclared: every key on the servers parses as one of the shop's, and has
// a TTL.
func keysAreDeclared(t *testing.T, servers []*keywrighttest.Server) {
	t.Helper()
	parsers := []func(string) bool{
		func(k string) bool { _, ok := shopkeys.ParseProductDetailKey(k); return ok },
		func(k string) bool { _, ok := shopkeys.ParseProductOptionsKey(k); return ok },
		func(k string) bool { _, _, ok := shopkeys.ParseProductOptionKey(k); return ok },
		func(k string) bool { _, ok := shopkeys.ParseDailySalesKey(k); return ok },
		func(k string) bool { _, ok := shopkeys.ParsePopularKey(k); return ok },
		func(k string) bool { _, ok := shopkeys.ParseDailySalesWindowKey(k); return ok },
		func(k string) bool { _, ok := shopkeys.ParseProductDetailFillKey(k); return ok }, // product 5000 is remembered as absent
	}
	seen := 0
	for _, s := range servers {
		for _, k := range s.Do("SCAN", "0", "COUNT", "10000").([]any)[1].([]any) {
			key := fmt.Sprint(k)
			seen++
			if !slices.ContainsFunc(parsers, func(parse func(string) bool) bool { return parse(key) }) {
				t.Errorf("%s is none of the shop's keys", key)
			}
			if ms := s.Do("PTTL", key).(int64); ms < 1 {
				t.Errorf("%s has the TTL %d", key, ms)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d keys", seen)
	}
}

// TestFailover: the primary dies under load and the shop goes on by itself; its
// readers notice nothing, and what was sold before is still counted.
func TestFailover(t *testing.T) {
	s := keywrighttest.StartSentinel(t, keywrighttest.Redis, 2, 3)
	sh, _, _ := open(t, s.URL())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for range 10 {
		must(t, sh.Sold(ctx, 1, 1, now))
	}
	if s.Primary.Do("WAIT", "2", "5000") != int64(2) {
		t.Fatal("the replicas lag")
	}
	s.Primary.Kill()
	for id := range int64(20) {
		if _, err := sh.Product(ctx, id+1); err != nil {
			t.Fatalf("a reader noticed: %v", err)
		}
	}
	for {
		err := sh.Sold(ctx, 1, 5, now)
		if err == nil {
			break
		}
		if class, ok := keywright.ClassOf(err); !ok || class == keywright.Invalid || class == keywright.Refused {
			t.Fatal(err)
		}
	}
	popular, err := sh.Popular(ctx, now, 1, 5)
	if err != nil || len(popular) != 1 || popular[0] != 1 {
		t.Errorf("%v %v", popular, err)
	}
}

// TestByHand: the guard refuses what somebody writes past the generated code.
func TestByHand(t *testing.T) {
	_, _, c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	raw := c.Raw()
	err := raw.Do(t.Context(), raw.B().Set().Key("cache:product:detail:1").Value("x").Build()).Error()
	if err == nil || !strings.Contains(err.Error(), "without a TTL") || !strings.Contains(err.Error(), "shop_test.go:") {
		t.Errorf("%v", err)
	}
}

// TestCoupons: many users and processes want twenty coupons: each is issued
// once, one at a time, and others hear of it on the channel that the page names.
func TestCoupons(t *testing.T) {
	for _, brand := range keywrighttest.Brands() {
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			coupons(t, keywrighttest.StartCluster(t, brand, 3, 0).URL())
		})
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			coupons(t, keywrighttest.Start(t, brand).URL())
		})
	}
}

func coupons(t *testing.T, url string) {
	first, facts, c := open(t, url)
	heard := make(chan string, 100)
	channel, err := shopkeys.CouponIssueReleasedChannel(7)
	must(t, err)
	if channel != "pubsub:lock:coupon:issue:7" {
		t.Errorf("the channel is %s", channel)
	}
	stop, err := c.Subscribe(t.Context(), channel, keywright.Listener{Message: func(text string) { heard <- text }})
	must(t, err)
	defer stop()
	shops := []*shop.Shop{first}
	for range 3 {
		_, _, other := open(t, url)
		shops = append(shops, shop.New(other, facts))
	}
	var wg sync.WaitGroup
	var soldOut atomic.Int64
	for user := range int64(60) {
		wg.Go(func() {
			switch err := shops[user%4].IssueCoupon(t.Context(), 7, user); {
			case errors.Is(err, errSoldOut):
				soldOut.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(facts.issued) != 20 || soldOut.Load() != 40 || !facts.alone.Load() {
		t.Errorf("%d issued, %d sold out, one at a time: %t", len(facts.issued), soldOut.Load(), facts.alone.Load())
	}
	if text := <-heard; text == "" {
		t.Error("nothing was announced")
	}
}

// TestSlowProcess: a process that was cut off while it issued a coupon is told
// to stop, and what it still tries is refused by its fence.
func TestSlowProcess(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	_, facts, direct := open(t, s.URL())
	quick := shop.New(direct, facts)
	entered := make(chan struct{})
	stuck := &stuckCatalog{catalog: facts, entered: entered, leave: make(chan struct{})}
	_, _, cut := open(t, "redis://"+p.Addr())
	slow := shop.New(cut, stuck)
	result := make(chan error, 1)
	go func() { result <- slow.IssueCoupon(t.Context(), 1, 1) }()
	<-entered
	p.Freeze()
	must(t, quick.IssueCoupon(t.Context(), 1, 2)) // when the three seconds of the first are over
	if stuck.told.Load() != true {
		t.Error("the first one was not told that its lock is lost")
	}
	close(stuck.leave)
	p.Thaw()
	if err := <-result; !errors.Is(err, lock.ErrStale) || !errors.Is(err, lock.ErrLost) {
		t.Errorf("%v", err)
	}
	if len(facts.issued) != 1 || !facts.issued[2] {
		t.Errorf("%v", facts.issued)
	}
}

// stuckCatalog takes its time, and issues although its context has ended.
type stuckCatalog struct {
	*catalog
	entered, leave chan struct{}
	told           atomic.Bool
}

func (c *stuckCatalog) Issue(ctx context.Context, coupon, user, fence int64) error {
	close(c.entered)
	<-ctx.Done()
	c.told.Store(true)
	<-c.leave
	return c.catalog.Issue(ctx, coupon, user, fence)
}

// TestColdProduct: whoever asks for a product that nobody has asked for, the
// catalog is asked once; and once for one that there is not.
func TestColdProduct(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	first, facts, _ := open(t, s.URL())
	shops := []*shop.Shop{first}
	for range 3 {
		_, _, c := open(t, s.URL())
		shops = append(shops, shop.New(c, facts))
	}
	for _, id := range []int64{1, 5000} {
		facts.asked.Store(0)
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				if _, err := shops[i%4].Product(t.Context(), id); err != nil && id == 1 {
					t.Error(err)
				} else if id == 5000 && err != shop.ErrUnknownProduct {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := facts.asked.Load(); n != 1 {
			t.Errorf("product %d: the catalog was asked %d times", id, n)
		}
	}
}
