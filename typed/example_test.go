package typed_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// A handle is one key of an entry, with the operations of its type.
func Example() {
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
	_, err = name.Get().Do(ctx)
	fmt.Println(errors.Is(err, keywright.ErrNotFound))
	fmt.Println(name.Set("Ann").Do(ctx))
	fmt.Println(name.Get().Do(ctx))
	// Output:
	// true
	// <nil>
	// Ann <nil>
}
