package keywrighttest_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// An example of a package has a server of its own. Tests call Start, which ends it with the test.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	health, err := client.Check(ctx)
	fmt.Println(health.OK(), len(health.Servers), err)
	// Output: true 1 <nil>
}
