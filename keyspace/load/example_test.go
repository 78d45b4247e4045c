package load_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
)

// A declaration is read from any file system, and every fault of it is reported.
func ExampleFile() {
	files := fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
`)}}
	ks, findings := load.File(files, "keyspace.yaml")
	for _, e := range ks.Entries {
		fmt.Println(e.Name, e.Type, e.Owner, len(findings))
	}
	// Output: product string shop 0
}
