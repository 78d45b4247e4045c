package parts_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/parts"
)

// The handle of a construct uses several keys.
func Example() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
  issue: {doc: Held for an issue., key: "lock:{id}", type: lock, ttl: 30s}
`)}}, "keyspace.yaml")
	entry, _ := ks.Lookup("issue")
	for _, part := range parts.Of(entry).Parts {
		fmt.Println(part.Name, part.Pattern, part.Channel())
	}
	// Output:
	// Main lock:{id} false
	// Fence {#lock:{id}}:fence false
	// Waiters {#lock:{id}}:waiters false
	// Shared {#lock:{id}}:shared false
	// Channel {#lock:{id}}:released true
}
