package apply_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// The keys of an entry are deleted. The rule decides about each key again when it is found.
func ExampleKeys() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	for _, key := range []string{"cache:product:1", "cache:product:2", "else"} {
		if err := client.Raw().Do(ctx, client.Raw().B().Set().Key(key).Value("x").Build()).Error(); err != nil {
			panic(err)
		}
	}

	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`
keywright: 1
package: shopkeys
owner: shop
keys:
  product: {doc: One product., key: "cache:product:{id}", type: string, ttl: 10m}
`)}}, "keyspace.yaml")
	rule, err := plan.NewDelete(ks, selection.Request{Entries: []string{"product"}}, false)
	if err != nil {
		panic(err)
	}
	config, err := connect.Parse(url)
	if err != nil {
		panic(err)
	}
	scan := func(ctx context.Context, each func([]source.Key) error) (source.Summary, error) {
		return server.New(config, server.Options{}).Scan(ctx, source.Request{}, each)
	}
	report, err := apply.Keys(ctx, func(int) (*keywright.Client, error) { return client, nil }, scan, rule,
		apply.KeysOptions{})
	fmt.Println(report.Keys, report.Entries["product"].Changed, err)
	// Output:
	// 2 2 <nil>
}
