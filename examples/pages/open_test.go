package pages

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/pages/appkeys"
	"github.com/keywright/keywright/keywrighttest"
)

// today is the day of the examples.
var today = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// page is a product's page.
var page = appkeys.ProductDetailValue{Name: "kettle", Price: 3900}

// open starts a server and gives what an example needs of it.
func open(o keywright.Options) (context.Context, *keywright.Client, *appkeys.Keyspace, func()) {
	url, stop := keywrighttest.Example()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	client, err := keywright.Open(ctx, url, o)
	check(err)
	return ctx, client, appkeys.New(client), func() {
		client.Close()
		cancel()
		stop()
	}
}

// check ends an example that fails.
func check(errs ...error) {
	for _, err := range errs {
		if err != nil {
			panic(fmt.Sprint(err))
		}
	}
}
