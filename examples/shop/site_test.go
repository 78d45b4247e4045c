package shop_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/catalog"
	"github.com/keywright/keywright/internal/servertest"
)

var (
	must, await          = sitetest.Must, sitetest.Await
	onBrands, everywhere = sitetest.OnBrands, sitetest.Everywhere
)

func TestMain(m *testing.M) { os.Exit(sitetest.Main(m, "./shopd", "./catalogd")) }

// counted represents a catalog that counts how often it is read.
type counted struct {
	*catalog.Memory
	asked atomic.Int64
}

func (c *counted) Product(ctx context.Context, id int64) (shop.Product, error) {
	c.asked.Add(1)
	return c.Memory.Product(ctx, id)
}

func (c *counted) Options(ctx context.Context, product int64) ([]shop.Option, error) {
	c.asked.Add(1)
	return c.Memory.Options(ctx, product)
}

func (c *counted) Option(ctx context.Context, product, option int64) (shop.Option, error) {
	c.asked.Add(1)
	return c.Memory.Option(ctx, product, option)
}

func (c *counted) Category(ctx context.Context, id int64) (shop.Category, error) {
	c.asked.Add(1)
	return c.Memory.Category(ctx, id)
}

// stocked returns a catalog of twenty products with two options each: product 3 has 301 and 302.
func stocked() *counted {
	m := catalog.New()
	for id := int64(1); id <= 20; id++ {
		m.Add(shop.Product{ID: id, Name: fmt.Sprint("상품 ", id), Price: 100 * id}, shop.Category{ID: 12, Name: "clothes"},
			shop.Option{ID: 100*id + 1, Name: "red", Stock: 10_000}, shop.Option{ID: 100*id + 2, Name: "blue", Stock: 3})
	}
	m.AddCoupons(7, 20)
	return &counted{Memory: m}
}

func open(t *testing.T, url string) *keywright.Client {
	return servertest.Open(t, url, keywright.Options{Wrap: sitetest.Guard(t, ".").Wrap, Attempts: 30})
}

// start runs a program of the shop, with more variables.
func start(t *testing.T, env []string, name string, args ...string) *sitetest.Process {
	t.Helper()
	return sitetest.Start(t, env, sitetest.Program(t, name), args...)
}
