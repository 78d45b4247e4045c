package look_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server/look"
)

// One key is looked at: what the server knows of it, and its value but for what is hidden.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	set := client.Raw().B().Hset().Key("user:1").FieldValue().FieldValue("name", "Ann").FieldValue("mail", "a@b.c").Build()
	if err := client.Raw().Do(ctx, set).Error(); err != nil {
		panic(err)
	}
	config, err := connect.Parse(url)
	if err != nil {
		panic(err)
	}
	got, err := look.At(ctx, config, look.Request{Key: []byte("user:1"),
		Hides: func(field []byte) bool { return string(field) == "mail" }})
	if err != nil {
		panic(err)
	}
	fmt.Println(got.Type, got.Size)
	for _, e := range got.Elements {
		fmt.Printf("%s: %q, hidden %t\n", e.Name.Bytes, e.Value.Bytes, e.Value.Hidden)
	}
	// Unordered output:
	// hash 2
	// name: "Ann", hidden false
	// mail: "", hidden true
}
