// Command shopd has the programs of the shop, each for a user of its own in Redis:
//
//	shopd products     caches, stock, rankings   (user product)
//	shopd coupons      coupons                   (user coupon)
//	shopd orders       orders                    (user order)
//	shopd watch        prints which locks are released (user monitor)
//
// Every flag has a variable: SHOP_REDIS, SHOP_HTTP, SHOP_CATALOG, SHOP_PRODUCTS. A URL of
// Redis with a password is in SHOP_REDIS only, since any user of the machine sees flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/internal/program"
	"github.com/keywright/keywright/examples/shop"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	asked := ctx.Err() != nil // to stop, perhaps before it had begun
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil && !(asked && errors.Is(err, context.Canceled)):
		fmt.Fprintln(os.Stderr, "shopd:", err)
		os.Exit(1)
	}
}

// serving is one of the programs that serve: where it listens, and what it serves.
type serving struct {
	listen  string
	handler func(c *keywright.Client, catalog shop.Remote, stock shop.RemoteStock) http.Handler
}

var programs = map[string]serving{
	"products": {"127.0.0.1:8091", func(c *keywright.Client, db shop.Remote, _ shop.RemoteStock) http.Handler {
		return shop.NewProducts(c, db, 0).Handler()
	}},
	"coupons": {"127.0.0.1:8092", func(c *keywright.Client, db shop.Remote, _ shop.RemoteStock) http.Handler {
		return shop.NewCoupons(c, db).Handler()
	}},
	"orders": {"127.0.0.1:8093", func(c *keywright.Client, db shop.Remote, s shop.RemoteStock) http.Handler {
		return shop.NewOrders(c, db, s).Handler()
	}},
	"watch": {},
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{""}
	}
	p, known := programs[args[0]]
	if !known {
		return errors.New("say what to do: shopd products, coupons, orders or watch (each has -help)")
	}
	f := flag.NewFlagSet("shopd "+args[0], flag.ContinueOnError)
	redis := f.String("redis", "redis://127.0.0.1:6379", "URL of the server; with a password only in SHOP_REDIS")
	listen := f.String("http", p.listen, "address to listen on")
	catalog := f.String("catalog", "http://127.0.0.1:8094", "URL of the catalog")
	products := f.String("products", "http://127.0.0.1:8091", "URL of the products program")
	if err := program.Parse(f, args[1:], "SHOP", "redis"); err != nil {
		return err
	}
	// What only watches reads no values, and its user has no right to cache them.
	o := keywright.Options{Name: "shopd-" + args[0], Attempts: 16, NoCache: p.handler == nil}
	c, err := keywright.Open(ctx, *redis, o)
	if err != nil {
		return err
	}
	defer c.Close()
	if p.handler == nil {
		return watch(ctx, c)
	}
	web := &http.Client{Timeout: shop.Wait}
	db, stock := shop.Remote{URL: *catalog, Client: web}, shop.RemoteStock{Remote: shop.Remote{URL: *products,
		Client: web}}
	return program.Listen(ctx, *listen, p.handler(c, db, stock), shop.Wait+2*time.Second)
}

// watch prints the key of each lock that is released.
func watch(ctx context.Context, c *keywright.Client) error {
	stop, err := shop.Releases(ctx, c, func(lock string, err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "shopd watch:", err)
			return
		}
		fmt.Println("released", lock)
	})
	if err != nil {
		return err
	}
	defer stop()
	fmt.Println("listening")
	<-ctx.Done()
	return nil
}
