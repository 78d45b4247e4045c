package lint_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
)

// Run says what is legal but unwise in a declaration.
func ExampleRun() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {key: "cache:product:{id}", type: string, ttl: 10m}
  other: {key: "cache:product:{name}", type: string, ttl: 10m}
`)}}, "keyspace.yaml")
	for _, f := range lint.Run(ks) {
		fmt.Println(f.Code, f.Entry)
	}
	// Output:
	// KW121 other
}
