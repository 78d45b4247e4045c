package keyspace_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
)

// A declaration says what each key is, and which one a misspelt name may be meant as.
func Example() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
  tasks: {doc: Work., key: "tasks", type: queue, value: text, ttl: none}
`)}}, "keyspace.yaml")
	entry, main := ks.Lookup("tasks")
	fmt.Println(entry.Construct, main.Kind, main.Pattern)
	for _, k := range keyspace.NewNear(ks).To([]byte("cache:porduct:7"), 1) {
		fmt.Println(k.Name, k.TTL.Text)
	}
	// Output:
	// queue list tasks
	// product 10m
}
