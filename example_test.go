package keywright_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// A batch sends operations together: one round trip per server.
func ExampleBatch() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	day := 24 * time.Hour
	entry := keywright.Entry{Name: "name", Pattern: "user:{id}:name", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: day, Min: day, Max: day}}
	codec := value.Text(20)
	name := typed.NewString(keywright.Binding{Client: client, Entry: &entry, Key: "user:1:name"}, &codec)
	var batch keywright.Batch
	keywright.Queue(&batch, name.Set("Ann"))
	read := keywright.Queue(&batch, name.Get())
	fmt.Println(batch.Run(ctx))
	fmt.Println(read.Result())
	// Output:
	// <nil>
	// Ann <nil>
}

// The class of an error says what an operation has done and whether a retry can help.
func ExampleClassOf() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	day := 24 * time.Hour
	entry := keywright.Entry{Name: "name", Pattern: "user:{id}:name", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: day, Min: day, Max: day}}
	codec := value.Text(20)
	name := typed.NewString(keywright.Binding{Client: client, Entry: &entry, Key: "user:1:name"}, &codec)
	err = name.Set("Ann", keywright.ExpiresIn(time.Hour)).Do(ctx)
	class, ok := keywright.ClassOf(err)
	fmt.Println(class, ok)
	// Output: invalid true
}
