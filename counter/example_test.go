package counter_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/counter"
	"github.com/keywright/keywright/keywrighttest"
)

// A counter gets its TTL in the step that first writes it.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	day := 24 * time.Hour
	entry := keywright.Entry{Name: "views", Pattern: "views:{page}", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: day, Min: day, Max: day}}
	views := counter.New(keywright.Binding{Client: client, Entry: &entry, Key: "views:home"})
	fmt.Println(views.Add(2).Do(ctx))
	fmt.Println(views.Add(3).Do(ctx))
	// Output:
	// 2 <nil>
	// 5 <nil>
}
