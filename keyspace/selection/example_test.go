package selection_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/selection"
)

// A selection says which keys a command means.
func Example() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
  tasks: {doc: Work., key: "tasks", type: queue, value: text, ttl: none}
`)}}, "keyspace.yaml")
	chosen, err := selection.Compile(ks, selection.Request{
		Entries: []string{"product"},
		Where:   []selection.Condition{{Placeholder: "id", Value: "42"}},
	})
	if err != nil {
		panic(err)
	}
	for _, key := range []string{"cache:product:42", "cache:product:7", "tasks"} {
		_, ok := chosen.Of([]byte(key))
		fmt.Println(key, ok)
	}
	// Output:
	// cache:product:42 true
	// cache:product:7 false
	// tasks false
}
