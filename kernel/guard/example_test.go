package guard_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/load"
)

// A guard checks commands against a declaration, here without a server.
func Example() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
  tasks: {doc: Work., key: "tasks", type: queue, value: text, ttl: none}
`)}}, "keyspace.yaml")
	g, err := guard.New(ks, guard.Options{})
	if err != nil {
		panic(err)
	}
	for _, command := range [][]string{
		{"SET", "cache:product:42", "kettle", "EX", "600"},
		{"SET", "cache:product:42", "kettle"},
		{"GET", "cache:porduct:42"},
	} {
		for _, v := range g.Check(command...) {
			fmt.Println(v.Problem, v.Entry, v.Detail)
		}
	}
	// Output:
	// key without a TTL product the declaration says 10m
	// undeclared key  did you mean cache:product:{id} (product)?
}
