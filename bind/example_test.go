package bind_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// A program without generated code works on a declared lock.
func Example() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys: {coupon: {doc: Held for a coupon., key: "lock:coupon:{id}", type: lock, ttl: 30s}}
`)}}, "keyspace.yaml")
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	entry, main := ks.Lookup("coupon")
	of := bind.Values{"id": "42"}
	fmt.Println(bind.Build(main.Pattern, of))
	fmt.Println(bind.Read(main.Pattern, "lock:coupon:7"))
	l := bind.Lock(client, ks, entry, of).With(lock.Options{Owner: "example"})
	fmt.Println(l.Do(ctx, func(context.Context) error { return nil }))
	// Output:
	// lock:coupon:42 <nil>
	// map[id:7] true
	// <nil>
}
