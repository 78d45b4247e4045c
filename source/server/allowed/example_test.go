package allowed_test

import (
	"fmt"

	"github.com/keywright/keywright/source/server/allowed"
)

// The first commands of an audit, and why it sends them.
func Example() {
	for _, c := range allowed.Commands()[:2] {
		fmt.Printf("%s: %s\n", c.Name, c.Why)
	}
	// Output:
	// ping: is the server there, and how quickly does it answer
	// select: every database is scanned
}
