package plan_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// A rule decides about one key at a time: what is to be done, or why it is left alone.
func Example() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
  tasks: {doc: Work., key: "tasks", type: queue, value: text, ttl: none}
`)}}, "keyspace.yaml")
	rule, err := plan.NewDelete(ks, selection.Request{Entries: []string{"product"}}, false)
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"cache:product:42", "tasks"} {
		d := rule.Decide(&source.Key{Name: []byte(name), Kind: source.String})
		fmt.Println(name, d.Meant, d.Leave == "")
	}
	// Output:
	// cache:product:42 true true
	// tasks false true
}
