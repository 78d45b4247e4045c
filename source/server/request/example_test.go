package request_test

import (
	"fmt"

	"github.com/keywright/keywright/source/server/request"
)

// The options of a scan that spares the primaries, and reads half of the shards of a cluster.
func Example() {
	options := request.Options{Role: request.Replica, Rate: 5000, OnlyDB: -1, Part: request.Part{Number: 1, Of: 2}}
	fmt.Printf("%s, part %d of %d\n", options.Role, options.Part.Number, options.Part.Of)
	// Output: replica, part 1 of 2
}
