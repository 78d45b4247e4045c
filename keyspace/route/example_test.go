package route_test

import (
	"fmt"

	"github.com/keywright/keywright/keyspace/route"
)

// A path names places in a JSON document, and gives names to what it passes.
func Example() {
	p, err := route.ParsePath("/{guild_id}/stories/[]")
	if err != nil {
		panic(err)
	}
	fmt.Println(p, p.Captures())
	// Output: /{guild_id}/stories/[] [guild_id]
}
