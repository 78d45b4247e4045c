package server_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
)

// A server is scanned: facts of keys, no values.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	if err := client.Raw().Do(ctx, client.Raw().B().Set().Key("session:1").Value("x").ExSeconds(60).Build()).Error(); err != nil {
		panic(err)
	}
	config, err := connect.Parse(url)
	if err != nil {
		panic(err)
	}
	summary, err := server.New(config, server.Options{}).Scan(ctx, source.Request{}, func(keys []source.Key) error {
		for _, k := range keys {
			fmt.Printf("%s %s %v\n", k.Name, k.Kind, k.TTL != source.NoTTL)
		}
		return nil
	})
	fmt.Println(len(summary.Incomplete), err)
	// Output:
	// session:1 string true
	// 0 <nil>
}
