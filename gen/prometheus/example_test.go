package prometheus_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/gen/prometheus"
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
	files, err := prometheus.Generate(ks)
	for _, f := range files {
		fmt.Println(f.Name)
	}
	fmt.Println(err)
	// Output:
	// keyspace.rules.yaml
	// <nil>
}
