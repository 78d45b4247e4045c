package reseal_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server"
	"github.com/keywright/keywright/value/seal"
	"github.com/keywright/keywright/value/seal/reseal"
)

// What is sealed, and with which keys, is counted.
func Example() {
	ks, _ := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(`keywright: 1
package: userkeys
owner: app
keys: {phone: {doc: A phone number., key: "phone:{id}", type: string, value: text encrypted, ttl: none}}
`)}}, "keyspace.yaml")
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	text, _, err := seal.Generate()
	if err != nil {
		panic(err)
	}
	ring, err := seal.Parse(text)
	if err != nil {
		panic(err)
	}
	config, err := connect.Parse(url)
	if err != nil {
		panic(err)
	}
	walk := &reseal.Walk{Keyspace: ks, Client: client, Ring: ring, Source: server.New(config, server.Options{})}
	report, err := walk.Status(ctx)
	if err != nil {
		panic(err)
	}
	for _, part := range report.Parts {
		fmt.Println(part.Entry, part.Texts)
	}
	// Output: phone 0
}
