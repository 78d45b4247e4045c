package diff_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking/diff"
	"github.com/keywright/keywright/keyspace/load"
)

// Of lists what differs between two versions of a declaration.
func ExampleOf() {
	read := func(ttl string) *keyspace.Keyspace {
		ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: ` + ttl + `}
`)}}, "keyspace.yaml")
		return ks
	}
	for _, c := range diff.Of(read("10m"), read("5m")) {
		fmt.Println(c)
	}
	// Output: ~ entry product.ttl: 10m → 5m
}
