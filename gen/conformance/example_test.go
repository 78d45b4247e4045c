package conformance_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/gen/conformance"
	"github.com/keywright/keywright/keyspace/load"
)

// Generate returns the files; writing them is the caller's.
func ExampleGenerate() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
`)}}, "keyspace.yaml")
	files, err := conformance.Generate(ks)
	for _, f := range files {
		fmt.Println(f.Name)
	}
	fmt.Println(err)
	// Output:
	// shopkeys.vectors.json
	// <nil>
}
