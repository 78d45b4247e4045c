package cache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// The first caller loads a value, the second one gets what was stored.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	entry := keywright.Entry{Name: "product", Pattern: "cache:product:{id}", Type: "cache", TTL: keywright.TTL{
		Policy: keywright.Expires, Default: time.Hour, Min: time.Hour, Max: time.Hour}}
	codec := value.Text(0)
	products := cache.New(keywright.Binding{Client: client, Entry: &entry}, &codec, cache.Options{})
	load := func(context.Context) (string, error) {
		fmt.Println("loads")
		return "kettle", nil
	}
	for range 2 {
		fmt.Println(products.Key("cache:product:42", nil).GetOrLoad(ctx, load))
	}
	// Output:
	// loads
	// kettle <nil>
	// kettle <nil>
}
