package writelease_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/keywrighttest"
)

// One process at a time has the right to change keys.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	first, err := writelease.Acquire(ctx, client)
	if err != nil {
		panic(err)
	}
	_, err = writelease.Acquire(ctx, client)
	fmt.Println(errors.Is(err, writelease.ErrHeld))
	first.Release()
	second, err := writelease.Acquire(ctx, client)
	if err != nil {
		panic(err)
	}
	fmt.Println(second.Held())
	second.Release()
	// Output:
	// true
	// <nil>
}
