package breaking_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking"
	"github.com/keywright/keywright/keyspace/load"
)

// Run says what a change of a declaration does to keys, values and readers.
func ExampleRun() {
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
	for _, f := range breaking.Run(read("10m"), read("5m")) {
		fmt.Println(f.Code, f.Entry)
	}
	// Output: KW622 product
}
