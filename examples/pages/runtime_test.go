package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/pages/appkeys"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
)

// The first program: open a client, write and read.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	//doc:begin readme
	client, err := keywright.Open(ctx, url, keywright.Options{})
	check(err)
	app := appkeys.New(client)                 // what keywright gen has written
	err = app.ProductDetail(42).Set(ctx, page) // with its TTL: a write without one cannot be written down
	check(err)
	page, err := app.ProductDetail(42).Get(ctx) // keywright.ErrNotFound if it is not there
	//doc:end
	check(err)
	defer client.Close()
	fmt.Println(page.Name)
	// Output: kettle
}

// What a declaration becomes in Go.
func Example_generated() {
	ctx, client, app, done := open(keywright.Options{})
	defer done()
	//doc:begin generated
	err := app.ProductDetail(42).Set(ctx, page) // one script, with PX 1800000
	check(err)
	page, err := app.ProductDetail(42).Get(ctx) // GET; keywright.ErrNotFound if it is not there
	check(err)
	sold, err := app.DailySales(today).Increase(42, 1).Do(ctx) // the first one gives the ranking its seven days
	check(err)
	err = app.ProductUpdated(ctx, 42) // deletes what the event makes stale
	id, ok := appkeys.ParseProductDetailKey("cache:product:detail:42")
	//doc:end
	check(err)
	_, err = app.ProductDetail(42).Get(ctx)
	fmt.Println(page.Price, sold, id, ok, errors.Is(err, keywright.ErrNotFound), client != nil)
	// Output: 3900 1 42 true true true
}

// Several operations in one pipeline, and some in a transaction.
func Example_batch() {
	ctx, client, app, done := open(keywright.Options{})
	defer done()
	//doc:begin batch
	var b keywright.Batch // one pipeline per server
	keywright.Queue(&b, app.ProductDetail(42).LaterSet(page))
	sold := keywright.Queue(&b, app.DailySales(today).Increase(42, 1))
	err := b.Run(ctx)
	check(err)
	units, err := sold.Result()
	//doc:end
	check(err)

	//doc:begin transaction
	err = client.Transact(ctx, func(tx *keywright.Tx) error { // WATCH … MULTI … EXEC
		stock, err := keywright.Watch(tx, app.Stock(42).Get())
		if err != nil && !errors.Is(err, keywright.ErrNotFound) {
			return err
		}
		keywright.Queue(tx, app.Stock(42).Set(stock+10))
		return nil
	})
	//doc:end
	check(err)
	stock, err := app.Stock(42).Get().Do(ctx)
	fmt.Println(units, stock, err)
	// Output: 1 10 <nil>
}

// A guard refuses what the declaration does not have.
func Example_guard() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	//doc:begin guard
	ks, findings := load.File(os.DirFS("."), "keyspace.yaml")
	g, err := guard.New(ks, guard.Options{}) // refuse; or Report: for staging
	check(err)
	client, err := keywright.Open(ctx, url, keywright.Options{Wrap: g.Wrap})
	//doc:end
	check(err)
	defer client.Close()
	raw := client.Raw()
	err = raw.Do(ctx, raw.B().Set().Key("cache:product:detail:1").Value("{}").Build()).Error()
	refused, _, _ := strings.Cut(err.Error(), " (sent by") // the place in the program
	fmt.Println(len(findings), refused)
	// Output: 0 key without a TTL: SET on "cache:product:detail:1" of product_detail: the declaration says 30m
}
