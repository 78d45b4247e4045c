package pages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/examples/pages/appkeys"
)

// A product that one process loads for all.
func Example_cache() {
	ctx, client, _, done := open(keywright.Options{})
	defer done()
	product := func(_ context.Context, id int64) (appkeys.ProductDetailValue, error) {
		fmt.Println("loaded", id)
		return page, nil
	}
	//doc:begin cache
	app := appkeys.NewTuned(client, appkeys.Tuning{ProductDetail: cache.Options{
		Fresh:  5 * time.Minute,  // then served stale while one process loads it again
		Absent: 30 * time.Second, // "there is none" is an answer too
		Local:  time.Minute,      // and kept in this process until the server takes it back
	}})
	page, err := app.ProductDetail(42).GetOrLoad(ctx, func(ctx context.Context) (appkeys.ProductDetailValue, error) {
		return product(ctx, 42) // keywright.ErrNotFound: there is none
	})
	check(err)
	_, err = app.ProductDetail(42).Invalidate(ctx)
	//doc:end
	check(err)
	_, err = app.ProductDetail(42).Get(ctx)
	fmt.Println(page.Name, errors.Is(err, keywright.ErrNotFound))
	// Output:
	// loaded 42
	// kettle true
}
