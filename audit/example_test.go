package audit_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/source"
)

// An audit is a fold over facts of keys, from wherever they come.
func Example() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
`)}}, "keyspace.yaml")
	a, err := audit.New(ks, audit.Options{})
	if err != nil {
		panic(err)
	}
	a.Add([]source.Key{{Name: []byte("cache:product:42"), Kind: source.String, TTL: source.NoTTL, Bytes: 64}})
	for _, f := range a.Report(source.Summary{}, false).Findings {
		fmt.Println(f.Code, f.Entry, f.Count)
	}
	// Output: KW505 product 1
}
