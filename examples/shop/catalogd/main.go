// Command catalogd serves a small catalog from memory, in place of the shop's database, so
// that the shop can be tried.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/internal/program"
	"github.com/keywright/keywright/examples/shop"
	"github.com/keywright/keywright/examples/shop/catalog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listen := flag.String("http", "127.0.0.1:8094", "address to listen on")
	flag.Parse()
	m := catalog.New()
	clothes := shop.Category{ID: 12, Name: "clothes"}
	m.Add(shop.Product{ID: 123, Name: "shirt", Price: 19000}, clothes,
		shop.Option{ID: 456, Name: "red", Stock: 10}, shop.Option{ID: 457, Name: "blue", Stock: 10})
	m.Add(shop.Product{ID: 124, Name: "socks", Price: 3000}, clothes, shop.Option{ID: 458, Name: "warm", Stock: 100})
	m.AddCoupons(7, 2)
	if err := program.Listen(ctx, *listen, m.Handler(), shop.Wait+2*time.Second); err != nil {
		fmt.Fprintln(os.Stderr, "catalogd:", err)
		os.Exit(1)
	}
}
